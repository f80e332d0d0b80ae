#pragma once

/// GraphActors: the base of the executors of compiled graphs. A graph has an actor on each worker that has tasks of it.
/// The base runs the launches of the graph one after another, and ends them.
///
/// A launch runs the iterations begin … end − 1, counted over all launches. Each actor calls `finished` once in a
/// launch: when it has run all iterations, or has seen that the launch has failed. So after the last call nothing of
/// the launch runs. Late messages of a failed launch are recognised by their iteration, which is less than the next
/// begin.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "rank_edges.hpp"
#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/surely.hpp"
#include "taskgrain/rt/detail/traffic.hpp"

namespace taskgrain::rt::detail {

struct InOrderPrograms;
struct QueuedPrograms;

/// An owner of asynchronous tasks in flight.
class AsyncOwner {
 public:
  /// The device is done with an iteration of a device task. From any thread.
  virtual void device_done(std::uint32_t d, std::int64_t iteration) = 0;
  /// A task throws, with the exception that is being handled.
  /// \param iteration  over all launches
  virtual void fail(std::uint32_t node, std::int64_t iteration) noexcept = 0;

 protected:
  ~AsyncOwner() = default;
};

class GraphActors : public Handler, public AsyncOwner, public std::enable_shared_from_this<GraphActors> {
 public:
  GraphActors(Runtime& runtime, Outline outline, std::unique_ptr<RankEdges> rank_edges = nullptr);
  ~GraphActors() override;

  CompiledGraph::Launch launch(CompiledGraph::LaunchOptions options);
  /// Gives CompiledGraph::received.
  std::span<const std::byte> received(TaskGraph::Node node, const Turn& turn, int back) const;
  void cancel() noexcept {
    if (rank_edges_ != nullptr) cancelled_.store(true), rank_edges_->cancel();
    engine_.cancel(*this);
  }

  /// Lets arrivals from other ranks wake workers from now on. Called after Engine::add, whose number the wake-ups have;
  /// before it no launch runs, so no worker waits.
  void listen() {
    if (rank_edges_ != nullptr) rank_edges_->on_resume([this](int worker) { wake_actor(worker); });
  }

  // -- for the bodies of sequences

  /// Calls `each(node, action)` for each task of the host. \pre no launch runs
  virtual void each_action(const std::function<void(std::uint32_t node, Action& action)>& each) = 0;
  /// Lets `function(node, iteration of the launch)` know from now on of a task that throws, with the exception that is
  /// being handled, and not the waits of the runtime. It cancels the launch. \pre no launch runs
  void tell_failures(std::function<void(std::uint32_t, std::int64_t)> function) { on_failure_ = std::move(function); }

  std::uint64_t first_traced() const noexcept { return first_traced_; }

  // -- AsyncOwner
  void fail(std::uint32_t node, std::int64_t iteration) noexcept final;

  // -- Handler
  void lost(const Payload&) noexcept final { counts(*engine_.here()).end(); }
  bool idle() const noexcept final;
  bool done() const noexcept final;
  std::size_t waiting(int worker, std::vector<StuckTask>& tasks, std::size_t most) const final;
  bool across_ranks() const noexcept final { return across_ranks_; }
  void leave() noexcept final;
  bool broken() const noexcept final { return false; }  // a failed launch ends by itself
  void stop(const std::exception_ptr& why) noexcept final;
  void forget(int) noexcept final {}
  void reopen() noexcept final {}

 protected:
  // -- for executors

  /// A message to this worker has come. `deliver` calls it and counts the message as ended; so does `send` for a
  /// message to the same worker, which is not counted.
  virtual void receive(Worker& here, const Payload& message) noexcept = 0;
  /// The counts of what a worker has begun and ended of this graph: `deliver` and `run` end with counts(here).end().
  Counts& counts(Worker& here) const noexcept { return shares_[static_cast<std::size_t>(here.index())].counts; }
  // What is lost would let a launch wait for ever, so it is sent when there is memory. (The functions that each task
  // calls spell out `surely`, whose function the compiler would not inline.)
  /// Sends a message to a worker, from any thread.
  template <typename Message>
  void send(int worker, const Message& message) {
    Worker* here = engine_.here();
    if (here != nullptr) return send(*here, worker, message);
    outside_.begin_outside();
    surely([&] { engine_.worker(worker).inject({number(), Payload::of(message)}); });
  }
  /// Sends it from one worker to another.
  template <typename Message>
  [[gnu::always_inline]] void send(Worker& here, int worker, const Message& message) {
    if (here.index() == worker) return receive(here, Payload::of(message));
    for (;;) try {
        counts(here).begin();
        return here.send(worker, number(), message);
      } catch (const std::bad_alloc&) {
        wait_for_memory();
      }
  }
  /// While it lives, a thread outside is on its way to this graph. A thread needs it that first publishes what may end
  /// the launch, and then sends. A thread that wakes the waits after that holds the runtime.
  ///   done  ⇒  no thread is between its construction and its destruction
  class OnItsWay {
   public:
    explicit OnItsWay(GraphActors& graph) noexcept : counts_(graph.outside_) { counts_.begin_outside(); }
    ~OnItsWay() { counts_.end_outside(); }
    OnItsWay(const OnItsWay&) = delete;
    OnItsWay& operator=(const OnItsWay&) = delete;

   private:
    Counts& counts_;
  };
  /// Queues an entry on the calling worker.
  template <typename Task>
  [[gnu::always_inline]] void ready(Worker& here, const Task& task) {
    for (;;) try {
        counts(here).begin();
        return here.ready(number(), task);
      } catch (const std::bad_alloc&) {
        wait_for_memory();
      }
  }
  template <typename Task>
  [[gnu::always_inline]] void ready(Worker& here, const Task& task, Ready how) {
    for (;;) try {
        counts(here).begin();
        return here.ready({number(), Payload::of(task)}, how);
      } catch (const std::bad_alloc&) {
        wait_for_memory();
      }
  }
  /// Sends the actors a message to run iterations begin … end − 1.
  virtual void start(std::int64_t begin, std::int64_t end) = 0;
  /// Precondition k of the running launch is satisfied.
  virtual void satisfy(std::size_t k, std::int64_t begin, std::int64_t end) = 0;
  /// The launch has failed: sends a message to an actor, which may be parked. From any thread.
  virtual void wake_actor(int worker) = 0;
  /// Sets shared state as if the launch had run to its end. Called after a failed launch, when all actors have
  /// finished. It may destroy events of devices, whose destructors may call anything.
  virtual void reset(std::int64_t end) noexcept = 0;
  /// Appends the tasks of a worker's actor that wait.
  virtual std::size_t waiting_tasks(int worker, std::vector<StuckTask>& tasks, std::size_t most) const = 0;
  /// The name of a task of the running launch, for errors, with its iteration if there are several.
  /// \param iteration  over all launches
  std::string task_text(std::uint32_t node, std::int64_t iteration) const;
  /// A task in the trace that there is. \param begin  of the launch
  TracedTask traced_task(std::uint32_t node, std::int64_t iteration, std::int64_t begin) const noexcept {
    return {first_traced_ + static_cast<std::uint64_t>(iteration) * outline_.nodes + node, begin};
  }
  /// Each actor calls it once in each launch.
  void finished();
  void set_postcondition(std::size_t k) { running_->postconditions_[k].second.set(); }

  Runtime& runtime_;
  Engine& engine_;
  const Outline outline_;
  const std::vector<int>& members_ = outline_.members;
  const std::uint64_t first_traced_ = engine_.trace() ? engine_.trace()->add(outline_.nodes, outline_.edges) : 0;
  std::unique_ptr<RankEdges> rank_edges_;  // null if no edge crosses ranks, and once it has left
  const bool across_ranks_ = rank_edges_ != nullptr;

 private:
  struct Queued {
    std::int64_t iterations;
    std::vector<Event> after, preconditions;
    CompiledGraph::Launch launch;
  };
  struct alignas(apart) Share {
    Counts counts;
  };

  template <typename Between>
  bool nothing_on_its_way(const Between& between) const noexcept;
  void drop_queue() noexcept;
  void stop_running(const std::exception_ptr& why) noexcept;
  void notify_ranks(const std::exception_ptr& why) noexcept;
  std::vector<Event> ordered(std::vector<std::pair<TaskGraph::Node, Event>> events) const;
  bool start_next(std::uint64_t last) noexcept;
  void complete() noexcept;
  std::uint64_t end_running() noexcept;
  void satisfy_if_running(std::uint64_t number, std::size_t k);
  void end(const CompiledGraph::Launch& launch, const std::exception_ptr& failure) noexcept;

  std::atomic<bool> cancelled_{
      false};  // across ranks: they have stopped at different iterations, so it cannot be launched again
  std::function<void(std::uint32_t, std::int64_t)> on_failure_;  // null: the engine has the failures
  const std::int64_t most_;                // iterations of all launches: counters of actors reach iterations · nodes
  const std::unique_ptr<Share[]> shares_;  // by worker
  Counts outside_;

  std::shared_ptr<GraphActors> ends_next_;  // in the list of the thread that will end its launch

  mutable std::mutex mutex_;           // protects the members below
  std::list<Queued> queue_, dropped_;  // dropped_: will fail with the running launch
  std::uint64_t number_ = 0;           // of the launch that starts or runs, counted up
  bool busy_ = false;                  // a launch runs, or waits for its events
  bool is_running_ = false;            // it runs
  std::int64_t begin_ = 0,
               end_ = 0;      // of the running or last launch; constant while one runs, and then read without the mutex
  std::int64_t planned_ = 0;  // end_, and what is in the queue
  std::exception_ptr why_;    // why the running launch was stopped, if not by a task of its own
  std::vector<Event>
      events_;  // of its preconditions; their callbacks hold an index instead, or an event would own itself
  std::optional<CompiledGraph::Launch> running_;  // written when no actor runs

  alignas(apart) std::atomic<int> left_{0};  // actors that have not finished, + 1 while the launch starts
};

/// The base of an executor E (CRTP, so that its functions are inlined). E has `receive(here, message)`, and
/// `go_on(here, task)` to run an entry of `ready`.
template <typename E>
class Executor : public GraphActors {
 public:
  using GraphActors::GraphActors;
  void deliver(Worker& here, const Payload& message) noexcept final {
    static_cast<E&>(*this).receive(here, message);
    counts(here).end();
  }
  void run(Worker& here, const Payload& task) noexcept final {
    static_cast<E&>(*this).go_on(here, task);
    counts(here).end();
  }
};

std::shared_ptr<GraphActors> in_order_actors(Runtime& runtime, Outline outline, InOrderPrograms programs,
                                             std::unique_ptr<RankEdges> rank_edges);
std::shared_ptr<GraphActors> queued_actors(Runtime& runtime, Outline outline, QueuedPrograms programs, bool stealing);

}  // namespace taskgrain::rt::detail
