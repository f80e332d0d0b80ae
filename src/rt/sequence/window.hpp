#pragma once

/// The window of a sequence: the tasks from the oldest that has not ended to the one given last, as tasks of a flow.
///
/// Task n lies in place n mod size, from `begin` until the place is needed for task n + size.
///   has_ended(n)  ⇔  it has ended, or another task has its place
///   all tasks before `oldest_` have ended; oldest_ ≤ submitted_ + 1
///   launched_ = graphs and operations that run: each ends with its task, and until then uses its place
///   failed  ⇒  no task starts. `wait_for_flow` waits until none runs, drops all, and resets it

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "graph/issue.hpp"
#include "sequence/dependences.hpp"
#include "sequence/ends.hpp"
#include "sequence/window_task.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt::detail {

/// The owner of what tasks use. The thread that gives tasks calls it after a failure.
class WindowOwner {
 public:
  /// Ends the graphs that still run.
  virtual void stop_graphs() noexcept = 0;
  /// All tasks are dropped, and no graph runs.
  virtual void forget() noexcept = 0;

 protected:
  ~WindowOwner() = default;
};

class Window final : AsyncOwner {
 public:
  /// \param size  tasks, a power of two
  Window(Runtime& runtime, const std::string& name, std::size_t size, const DataRegistry& registry, WindowOwner& owner);

  // -- by the thread that gives tasks

  std::size_t size() const noexcept { return tasks_.size(); }
  /// The last task that was given.
  std::uint64_t submitted() const noexcept { return submitted_; }
  /// The place for a task, perhaps after a wait for one. It is given when `end` returns.
  /// \throws as Sequence::wait
  WindowTask& begin(int worker, TaskOptions&& options, const EventType* event = nullptr);
  /// Tells the trace, if there is one, what the task that is given next comes after, whether that has ended or not. Of
  /// tasks that commute, which a graph cannot say, each comes after the one given before it.
  void note_order(std::span<const Access> accesses);
  /// \param accesses  each piece of data once
  void end(WindowTask& node, std::span<const Access> accesses);
  /// True if a task that has not ended used this data last.
  bool uses(std::uint32_t index) noexcept;
  /// \pre no task uses the data
  void forget(std::uint32_t index) noexcept { dependences_.forget(index), locks_.erase(index); }

  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  /// The number of times that all was dropped.
  std::uint64_t drops() const noexcept { return drops_; }
  /// The runtime has ended, and has waited for all that was given to it.
  bool has_outlived_engine() const noexcept { return flow_.handler_->engine_ended(); }
  /// Waits until `done()`. \throws as Sequence::wait
  void wait_until(const std::function<bool()>& done);
  /// Waits until all tasks have ended. \throws as Sequence::wait
  void wait_for_tasks();
  /// Waits until the tasks that use the data have ended. \throws as Sequence::wait
  void wait_for(std::uint32_t index);
  /// Waits for the flow, which does not know of tasks that wait for a graph or an operation.
  void wait_for_flow();
  /// Drops what was given and has not started. \throws what is being handled
  [[noreturn]] void drop_all_and_throw();
  /// Waits until all tasks have ended, or one has failed and no graph runs any more.
  void close() noexcept;

  // -- from any thread

  /// The runtime's, if there is one.
  Trace* trace() const noexcept { return engine_.trace(); }
  void note_wait() const {
    if (trace() != nullptr) trace()->waited();
  }
  TracedTask traced(const WindowTask& node) const noexcept { return {first_traced_ + node.number}; }
  void add_launch() noexcept { launched_.fetch_add(1, std::memory_order_relaxed); }
  /// The graph or the operation of a task that was added is over.
  void end_launch(WindowTask& node);
  /// Queues a task again, which has only to end.
  void queue_end(WindowTask& node);

 private:
  /// A task of the flow: the node, and which of its tasks, each time that it is queued. A thread that queues it need
  /// not read the node, which the thread that gives tasks has written.
  struct Key {
    WindowTask* node;
    std::uint32_t number;  // the last bits
    std::uint16_t worker;
    std::uint16_t again;  // twice as often as it was queued again, and one more if it has a priority

    bool operator==(const Key&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Key& key) {
      return key.node->name.empty() ? out << "task " << key.node->number : out << key.node->name;
    }
  };
  struct Tasks {
    Window* window;

    int indegree(Key key) const noexcept {
      key.node->prefetch_to_run();  // by its worker, which may run others before
      return 1;
    }
    int worker(Key key) const noexcept { return key.worker; }
    int priority(Key key) const noexcept { return key.again % 2 == 0 ? 0 : key.node->priority; }
    void run(Key key) const { window->run(*key.node); }
    TracedTask traced(Key key) const noexcept { return window->traced(*key.node); }
  };

  WindowTask& task_of(std::uint64_t number) noexcept { return tasks_[number & mask_]; }
  bool has_ended(std::uint64_t number) const noexcept { return submitted_ - number >= size() || ends_.ended(number); }
  bool all_ended() noexcept;
  std::uint64_t find_before(std::span<const Access> accesses);
  void find_far(std::vector<std::uint64_t>& far, const WholeGroup& group);
  void wait_for_room();
  void stop_graphs() noexcept;

  void ready(std::uint64_t number, unsigned again = 0) {
    const Ends::Before& task = ends_.before(number);
    flow_.fulfill(Key{&task_of(number), static_cast<std::uint32_t>(number), task.worker,
                      static_cast<std::uint16_t>(2 * again + task.ranked)});
  }
  void ready_again(const WindowTask& node) { ready(node.number, node.again); }
  void run(WindowTask& node);
  void issue(WindowTask& node);
  void started_or_done(WindowTask& node);
  void device_done(std::uint32_t place, std::int64_t number) override;
  void fail(std::uint32_t place, std::int64_t number) noexcept override;

  Runtime& runtime_;
  Engine& engine_;
  WindowOwner& owner_;
  std::vector<WindowTask> tasks_;
  const std::size_t mask_;
  const bool newest_first_;  // a worker runs them: so what was given first is queued last
  Ends ends_;
  const std::uint64_t first_traced_ = trace() == nullptr ? 0 : trace()->add();
  // By the thread that gives tasks:
  std::uint64_t submitted_ = 0, oldest_ = 1, drops_ = 0;
  std::vector<std::uint64_t> seen_;  // by place: the last task that comes after the task there, which is far before
  const std::uint64_t reach_;        // bit k: the task given k tasks before another is in the window with it
  Dependences dependences_;
  std::map<std::uint32_t, CommuteLock> locks_;  // by the index of the data

  std::atomic<int> launched_{0};              // added by tasks, and subtracted by what ends these
  std::atomic<bool> waits_{false};            // the thread that gives tasks, for some of them to end; by that thread
  std::vector<InFlightPool::Pointer> pools_;  // by worker, which makes its own
  Taskflow<Key, Tasks> flow_;                 // last: it ends first
  /// The flow has dropped tasks, because one has thrown or for another reason.
  std::atomic<bool>& failed_ = flow_.handler_->has_dropped;
};

}  // namespace taskgrain::rt::detail
