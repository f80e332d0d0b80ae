package taskgrain.spark

import scala.reflect.ClassTag

import org.apache.spark.{BarrierTaskContext, HashPartitioner, SparkConf, SparkContext}
import org.apache.spark.rdd.RDD
import taskgrain.{Driver, Run}

/** One graph of a run as a dataset that each step makes anew: (point, output). What a step hands on is shuffled, each output once to
  * each partition that reads it; grouped by the points that do, as the paper has it, it would go there more often.
  */
final class Dataset(run: Run, graph: Int, parallelism: Int) extends Serializable {
  import Dataset.Output

  val steps: Long = run.steps(graph)
  private val width = run.width(graph)
  private val bytes = run.outputBytes(graph).toInt
  private val partitions = math.min(width, parallelism).toInt

  def step(before: RDD[Output], step: Long): RDD[Output] =
    before
      .flatMap(output => readers(step - 1, output._1).map(_ -> output))
      .partitionBy(new HashPartitioner(partitions))
      .mapPartitionsWithIndex((partition, inputs) => execute(step, partition, inputs.map(_._2).toMap))

  private def execute(step: Long, partition: Int, inputs: Map[Long, Array[Byte]]): Iterator[Output] =
    points(step, partition).map { point =>
      val output = new Array[Byte](bytes)
      run.executePoint(Slot.mine, graph, step, point, output, run.deps(graph, step, point).map(inputs))
      (point, output)
    }

  /** The partitions with points that depend on a task. */
  private def readers(step: Long, point: Long): Array[Int] =
    run.reverseDeps(graph, step, point).map(reader => (reader * partitions / width).toInt).distinct

  private def points(step: Long, partition: Int): Iterator[Long] =
    (math.max(begin(partition), run.firstPoint(graph, step)) to
      math.min(begin(partition + 1) - 1, run.lastPoint(graph, step))).iterator

  private def begin(partition: Int): Long = (partition * width + partitions - 1) / partitions
}

object Dataset {
  type Output = (Long, Array[Byte])
}

class Spark(context: SparkContext) extends Driver {
  /** Steps between two actions. A lineage must be cut before it gets too long. */
  private val interval = 100L

  def name = "spark"
  def version = context.version
  def cores = Slot.number
  def binding: Array[Array[Int]] = Slot.binding

  /** Whether there is all that it runs on; else `cores` says what is missing. */
  protected[spark] def isComplete = true

  /** Bytes that tasks may keep. */
  protected def memory: Double = Runtime.getRuntime.maxMemory.toDouble

  override def prepare(run: Run): Unit =
    for (graph <- 0 until run.graphs) {
      val kept = 2.0 * run.width(graph) * run.outputBytes(graph)
      if (kept > memory || run.outputBytes(graph) > Int.MaxValue)
        throw new UnsupportedOperationException("not enough memory for these graphs")
    }

  def execute(run: Run): Unit = {
    val graphs = (0 until run.graphs).map(new Dataset(run, _, context.defaultParallelism))
    var outputs = graphs.map(_ => context.emptyRDD[Dataset.Output]: RDD[Dataset.Output])
    for (begin <- 0L until graphs.map(_.steps).max by interval) {
      val before = outputs
      outputs = for ((graph, from) <- graphs.zip(before)) yield {
        val end = math.min(begin + interval, graph.steps)
        if (begin >= end) context.emptyRDD[Dataset.Output] else (begin until end).foldLeft(from)(graph.step)
      }
      val shuffled = outputs.flatMap(_.dependencies.map(_.rdd))
      if (begin + interval < graphs.map(_.steps).max) outputs.foreach(_.localCheckpoint())
      context.union(outputs).foreach(_ => ())
      before.foreach(_.unpersist())
      shuffled.foreach(_.cleanShuffleDependencies())
    }
  }
}

object Spark {
  /** Starts a task on each core at once. */
  def everywhere[A: ClassTag](context: SparkContext)(action: => A): Array[A] =
    context.parallelize(0 until context.defaultParallelism).barrier().mapPartitions(_ => Iterator(action)).collect()

  /** Runs stages of no tasks until the JVM has compiled the most of what they run: part of the start, as they all pay for it. */
  private def warmUp(context: SparkContext): Unit = {
    val end = System.nanoTime + 3_000_000_000L
    val keys = context.parallelize((0 until context.defaultParallelism).map(_ -> Array.empty[Byte]))
    while (System.nanoTime < end)
      (1 to 20).foldLeft(keys: RDD[(Int, Array[Byte])]) { (before, step) =>
        before.partitionBy(new HashPartitioner(context.defaultParallelism)).mapPartitions(_.map(identity))
      }.foreach(_ => ())
  }

  /** Drives a system that is made of a context with these settings, and returns the exit code. */
  def start(conf: SparkConf, make: SparkContext => Spark, flags: Array[String]): Int = {
    System.setOut(System.err)
    conf.setAppName("taskgrain")
      .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
      .set("spark.ui.enabled", "false")
      .set("spark.log.level", "WARN")
      // Heartbeats of a driver that was stopped for a while come late.
      .set("spark.network.timeout", "30d")
      .set("spark.executor.heartbeatInterval", "1d")
    val context = new SparkContext(conf)
    val system = make(context)
    if (system.isComplete) {
      everywhere(context)(BarrierTaskContext.get().barrier()) // none ends before all have taken a core
      warmUp(context)
    }
    val code = system.drive(flags)
    context.stop()
    code
  }

  def main(flags: Array[String]): Unit = {
    val conf = new SparkConf()
      .setMaster(s"local[${Slot.number},4]") // a task may fail three times, as on a cluster
      .set("spark.plugins", classOf[Binding].getName)
    System.exit(start(conf, new Spark(_), flags))
  }
}
