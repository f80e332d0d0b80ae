package taskgrain.spark

import scala.collection.mutable

import org.apache.spark.TaskFailedReason
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, SparkPlugin}
import taskgrain.Driver

/** Spark runs tasks on whichever thread of a pool is free, as many at a time as there are cores: so a task takes a core, and binds
  * its thread to it, for as long as it runs.
  */
final class Binding extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = null
  override def executorPlugin(): ExecutorPlugin = new TakesSlots
}

class TakesSlots extends ExecutorPlugin {
  override def onTaskStart(): Unit = Slot.take()
  override def onTaskSucceeded(): Unit = Slot.give()
  override def onTaskFailed(why: TaskFailedReason): Unit = Slot.give()
}

/** The cores of this process, numbered. */
object Slot {
  private val processors = Driver.processors
  private val idle = mutable.SortedSet.from(processors.indices)
  private val seen = processors.map(_ => Array.empty[Int])
  private val last = ThreadLocal.withInitial[Int](() => -1)

  def number: Int = processors.length
  def binding: Array[Array[Int]] = synchronized(seen.clone())

  /** Leaves only one to this process, all threads of which are bound to it. */
  def keep(processor: Int): Unit = synchronized {
    idle.clear()
    idle += processors.indexOf(processor)
    Driver.pinThisProcess(processor)
  }

  /** Of the task that the calling thread executes. */
  def mine: Int = last.get

  /** The calling thread's former core if it can. */
  def take(): Unit = synchronized {
    while (idle.isEmpty) wait()
    val slot = if (idle(mine)) mine else idle.head
    idle -= slot
    if (slot != mine) {
      last.set(slot)
      Driver.pinThisThread(processors(slot))
      seen(slot) = Driver.bindingOfThisThread
    }
  }

  def give(): Unit = synchronized {
    idle += mine
    notify()
  }
}
