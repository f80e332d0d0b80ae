package taskgrain;

import java.net.URISyntaxException;
import java.nio.file.Path;

/** Loads the library beside the jar. */
final class Native {
  static {
    try {
      Path jar = Path.of(Native.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      System.load(jar.resolveSibling("libtaskgrain_jni.so").toString());
    } catch (URISyntaxException error) {
      throw new ExceptionInInitializerError(error);
    }
  }

  static void load() {}

  private Native() {}
}
