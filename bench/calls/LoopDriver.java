import taskgrain.Driver;
import taskgrain.Run;

/** A driver that calls one task after the other: what is left of a run is what the calls cost. */
public final class LoopDriver extends Driver {
  private byte[][][] outputs;
  private byte[][][][] inputs;

  public static void main(String[] flags) {
    pinThisThread(processors()[0]);
    System.exit(new LoopDriver().drive(flags));
  }

  @Override
  public String name() {
    return "loop";
  }

  @Override
  public String version() {
    return "1";
  }

  @Override
  public int cores() {
    return 1;
  }

  @Override
  public int[][] binding() {
    return new int[][] {bindingOfThisThread()};
  }

  @Override
  public void prepare(Run run) {
    int width = (int) run.width(0), steps = (int) run.steps(0);
    outputs = new byte[2][width][(int) run.outputBytes(0)];
    inputs = new byte[steps][width][][];
    for (int step = 0; step < steps; ++step) {
      for (int point = (int) run.firstPoint(0, step); point <= run.lastPoint(0, step); ++point) {
        long[] deps = run.deps(0, step, point);
        inputs[step][point] = new byte[deps.length][];
        for (int k = 0; k < deps.length; ++k) inputs[step][point][k] = outputs[1 - step % 2][(int) deps[k]];
      }
    }
  }

  @Override
  public void execute(Run run) {
    for (int step = 0; step < inputs.length; ++step) {
      for (int point = 0; point < inputs[step].length; ++point) {
        if (inputs[step][point] == null) continue;  // no such point at this step
        run.executePoint(0, 0, step, point, outputs[step % 2][point], inputs[step][point]);
      }
    }
  }
}
