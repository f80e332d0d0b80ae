package taskgrain.spark

import java.io.File
import java.nio.file.{Files, Path}
import java.util.{Collections, Map}

import org.apache.commons.io.FileUtils
import org.apache.spark.{SparkConf, SparkContext, SparkEnv}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorRemoved}
import taskgrain.Run

/** Every core has an executor, a process of its own, and what tasks hand on goes over the network. */
final class Cluster(context: SparkContext) extends Spark(context) {
  import Cluster.{executor, places}
  import Spark.everywhere

  private var executors = Set.empty[String]
  private val missing = Cluster.missing

  override protected[spark] def isComplete = missing.isEmpty

  override def nodes = places.map(_.host).distinct.length
  override def cores = {
    if (!isComplete) throw new IllegalStateException(s"worker processes have not joined: ${missing.mkString(", ")}")
    places.length
  }
  override def binding = everywhere(context)(Cluster.mine -> Slot.binding(Slot.mine)).sortBy(_._1).map(_._2)

  override protected def memory = places.length * Cluster.megabytes * 1048576.0

  /** Gives all executors their part of the run, also those that are not the ones of the last. */
  override def prepare(run: Run): Unit = {
    super.prepare(run)
    executors = everywhere(context)(executor -> run.graphs).map(_._1).toSet
  }

  override def gather(run: Run): Unit = {
    val books = everywhere(context)(executor -> run.books).toMap
    if (books.keySet != executors) throw new IllegalStateException("an executor has ended, and what it did is not known")
    books.values.foreach(run.add)
  }
}

object Cluster {
  private val megabytes = 1024

  /** A processor of a node, which has a name for the user and one for itself, and the executor that it has. */
  final class Place(val name: String, val host: String, val processor: Int) {
    var executor = Option.empty[String]
  }
  private lazy val places = sys.env("TASKGRAIN_SPARK_PLACES").split(' ').map(_.split('/')).map {
    case Array(name, host, processor) => new Place(name, host, processor.toInt)
  }

  /** The place of this executor. */
  var mine = -1
  def executor: String = SparkEnv.get.executorId

  /** A place on a host, once there is one that no executor has, and which processor that is. */
  def take(executor: String, host: String): (Int, Int) = places.synchronized {
    def idle = places.indexWhere(place => place.host == host && place.executor.isEmpty)
    if (idle < 0) places.wait(10000)
    val own = idle
    places(own).executor = Some(executor)
    places.notifyAll()
    (own, places(own).processor)
  }

  def give(executor: String): Unit = places.synchronized {
    places.filter(_.executor.contains(executor)).foreach(_.executor = None)
    places.notifyAll()
  }

  /** Waits five minutes at most until all places have an executor, and tells how many have none, node by node. */
  private def missing: Seq[String] = places.synchronized {
    val end = System.nanoTime + 300_000_000_000L
    while (places.exists(_.executor.isEmpty) && System.nanoTime < end) places.wait(100)
    val alone = places.filter(_.executor.isEmpty).map(_.name)
    alone.distinct.toSeq.map(name => s"${alone.count(_ == name)} on $name")
  }

  def main(flags: Array[String]): Unit = {
    val conf = new SparkConf() // which has the master
      .set("spark.plugins", classOf[Joining].getName)
      .set("spark.executor.cores", "1")
      .set("spark.executor.memory", s"${megabytes}m")
      .set("spark.default.parallelism", places.length.toString)
      // How often, and how many times, it looks whether all executors have come.
      .set("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s")
      .set("spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", "300")
      .set("spark.worker.timeout", "2592000") // seconds, for the same reason as the others
    val code = Spark.start(conf, new Cluster(_), flags)
    FileUtils.deleteQuietly(new File(sys.env("SPARK_HOME"))) // where the executors worked
    System.exit(code)
  }
}

/** An executor asks the driver for a core that no other has, and binds all its threads to it. */
final class Joining extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(context: SparkContext, plugin: PluginContext): Map[String, String] = {
      context.addSparkListener(new SparkListener {
        override def onExecutorRemoved(one: SparkListenerExecutorRemoved): Unit = Cluster.give(one.executorId)
      })
      Collections.emptyMap
    }
    override def receive(from: Any): Object = {
      val (executor, host) = from.asInstanceOf[(String, String)]
      Cluster.take(executor, host)
    }
  }

  override def executorPlugin(): ExecutorPlugin = new TakesSlots {
    override def init(context: PluginContext, extra: Map[String, String]): Unit = {
      val host = Files.readString(Path.of("/proc/sys/kernel/hostname")).trim
      val (place, processor) = context.ask((context.executorID, host)).asInstanceOf[(Int, Int)]
      Cluster.mine = place
      Slot.keep(processor)
    }
  }
}
