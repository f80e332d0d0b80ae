package taskgrain;

/** A system under the ruler, the twin of {@code taskgrain/driver.hpp}: derive from it, and call {@link #drive} in main. */
public abstract class Driver {
  static {
    Native.load();
  }

  public abstract String name();

  /** Of the runtime that the system stands on. */
  public abstract String version();

  /** Nodes that the system runs on. */
  public int nodes() {
    return 1;
  }

  /** Cores of all nodes that the system occupies, those it keeps for itself included. */
  public abstract int cores();

  /** For each worker the processors it may run on, observed by the worker itself. */
  public abstract int[][] binding();

  /**
   * What is done ahead of a run, once for all its repeats; reported apart.
   *
   * @throws UnsupportedOperationException for what the system cannot run
   */
  public void prepare(Run run) {}

  /** Executes every task of every graph once; timed. */
  public abstract void execute(Run run) throws Exception;

  /**
   * Adds what other processes executed, each by {@link Run#add}; after each {@code execute}, not timed. A run with a fault has no need of
   * it.
   */
  public void gather(Run run) throws Exception {}

  /**
   * Serves the harness on standard input and output, or does what the flags say, and returns the exit code. Protocol, timing and
   * verification are those of the drivers in C++.
   */
  public final native int drive(String[] flags);

  /** The processors that the workers shall be bound to, in order. */
  public static native int[] processors();

  public static native void pinThisThread(int processor);

  /** Binds all threads of this process, and with them those that they will start. */
  public static native void pinThisProcess(int processor);

  /** The processors that the calling thread may run on, as the operating system reports them. */
  public static native int[] bindingOfThisThread();
}
