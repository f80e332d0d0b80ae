package taskgrain;

import java.io.Serializable;

/**
 * The graphs of one {@code run} request, and one execution of them; valid until the request is answered.
 *
 * <p>Safe from any thread. A copy that was serialised within this process is as good as the original.
 */
public final class Run implements Serializable {
  static {
    Native.load();
  }

  private static final long serialVersionUID = 1;

  /** Address of the {@code taskgrain::Execution}. */
  private final long execution;

  Run(long execution) {
    this.execution = execution;
  }

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
}
