package taskgrain;

import java.io.Serializable;
import java.util.UUID;

/** A run as it travels, to its own process or to another. */
record Copy(UUID process, int number, String request) implements Serializable {
  private static final UUID HERE = UUID.randomUUID();
  private static int last = 0;

  /** The present run of this process, and its copy. */
  private static Copy present;

  private static Run run;

  static synchronized Copy of(Run made) {
    run = made;
    present = new Copy(HERE, ++last, made.request());
    return present;
  }

  private static synchronized Run part(Copy copy) {
    if (present == null || present.number != copy.number || !present.process.equals(copy.process)) {
      run = new Run(copy);
      present = copy;
    }
    return run;
  }

  private Object readResolve() {
    return part(this);
  }
}
