package taskgrain.spark

import java.io.File
import java.util.{Map, Optional}

import org.apache.commons.io.FileUtils
import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import taskgrain.Run

/** Every core has an executor, a process of its own, and what tasks hand on goes over the network. */
final class Cluster(context: SparkContext) extends Spark(context) {
  import Cluster.process
  import Spark.everywhere

  private var executors = Set.empty[Long]

  override def binding = everywhere(context)(Slot.mine -> Slot.binding(Slot.mine)).sortBy(_._1).map(_._2)

  override protected def memory = Slot.number * Cluster.megabytes * 1048576.0

  /** Gives all executors their part of the run, also those that are not the ones of the last. */
  override def prepare(run: Run): Unit = {
    super.prepare(run)
    executors = everywhere(context)(process -> run.graphs).map(_._1).toSet
  }

  override def gather(run: Run): Unit = {
    val books = everywhere(context)(process -> run.books).toMap
    if (books.keySet != executors) throw new IllegalStateException("an executor has ended, and what it did is not known")
    books.values.foreach(run.add)
  }
}

object Cluster {
  private val megabytes = 1024

  def process: Long = ProcessHandle.current.pid

  def main(flags: Array[String]): Unit = {
    val conf = new SparkConf()
      .setMaster(s"local-cluster[${Slot.number},1,$megabytes]")
      .set("spark.plugins", classOf[Joining].getName)
      .set("spark.executor.memory", s"${megabytes}m")
      .set("spark.default.parallelism", Slot.number.toString)
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
    private val owners = Array.fill(Slot.number)(Optional.empty[ProcessHandle])

    override def receive(process: Any): Object = synchronized {
      val slot = owners.indexWhere(!_.filter(_.isAlive).isPresent)
      owners(slot) = ProcessHandle.of(process.asInstanceOf[Long])
      Int.box(slot)
    }
  }

  override def executorPlugin(): ExecutorPlugin = new TakesSlots {
    override def init(context: PluginContext, extra: Map[String, String]): Unit =
      Slot.keep(context.ask(Long.box(Cluster.process)).asInstanceOf[Int])
  }
}
