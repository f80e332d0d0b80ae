package taskgrain;

import java.io.Serializable;
import java.lang.ref.Cleaner;

/**
 * The graphs of one {@code run} request, and one execution of them; valid until the request is answered.
 *
 * <p>Safe from any thread. It may be serialised: in the process that it came from, a copy is the run itself; in another, all copies are
 * that process's part of the run.
 */
public final class Run implements Serializable {
  static {
    Native.load();
  }

  private static final long serialVersionUID = 1;
  private static final Cleaner CLEANER = Cleaner.create();

  /** Of what it stands for in C++. */
  private final transient long address;

  private final transient Copy copy;

  /** Of the process that serves the request. */
  Run(long address) {
    this.address = address;
    copy = Copy.of(this);
  }

  /** Of another process: its part. */
  Run(Copy copy) {
    long made = create(copy.request());
    CLEANER.register(this, () -> destroy(made));
    address = made;
    this.copy = copy;
  }

  private Object writeReplace() {
    return copy;
  }

  private static native long create(String request);

  private static native void destroy(long address);

  /** For {@link #create}. */
  native String request();

  public native int graphs();

  public native long steps(int graph);

  public native long width(int graph);

  public native long outputBytes(int graph);

  /** The first of the points that exist at a step. */
  public native long firstPoint(int graph, long step);

  /** The last of them; less than the first if there is none. */
  public native long lastPoint(int graph, long step);

  /** The points of {@code step - 1} that a task depends on, in increasing order. */
  public native long[] deps(int graph, long step, long point);

  /** The points of {@code step + 1} that depend on a task, in increasing order. */
  public native long[] reverseDeps(int graph, long step, long point);

  /**
   * Executes one task: checks {@code inputs} (one for each dependence, in increasing order of points), fills {@code output}, runs the
   * kernel. What the kernel throws is the request's answer; nothing is thrown here.
   *
   * @param worker a small number, one for each of the threads that execute tasks at the same time
   */
  public native void executePoint(int worker, int graph, long step, long point, byte[] output, byte[][] inputs);

  /** What this process has executed since it was last asked, for {@link #add}. */
  public native byte[] books();

  /** Adds the books of another process; to be called by {@link Driver#gather}. */
  public native void add(byte[] books);
}
