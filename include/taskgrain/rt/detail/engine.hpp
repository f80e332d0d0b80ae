#pragma once

/// The engine: workers that run tasks and send one another messages, their threads, and the waits of other threads. A
/// Runtime owns one. Flows (FlowHandler) and graphs (GraphActors) are handlers of the engine.

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/completion.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/forks.hpp"
#include "taskgrain/rt/detail/handlers.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/progress_engine.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/event.hpp"
#include "taskgrain/rt/options.hpp"

namespace taskgrain::rt {
class Runtime;
}

namespace taskgrain::rt::detail {

class Trace;

class Engine {
 public:
  /// Starts the threads.
  /// \throws UsageError, std::system_error
  explicit Engine(RuntimeOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// As given, with defaults filled in.
  const RuntimeOptions& options() const noexcept { return options_; }
  int workers() const noexcept { return static_cast<int>(workers_.size()); }
  Worker& worker(int index) noexcept { return *workers_[static_cast<std::size_t>(index)]; }
  /// Whether the calling thread runs functions of messages, one at a time on this rank.
  bool takes_messages() const noexcept { return progress_ != nullptr && progress_->runs_here(); }
  /// The worker whose thread calls; null in threads that are no workers of this engine.
  Worker* here() const noexcept {
    Worker* worker = Worker::current();
    return worker != nullptr && &worker->engine() == this ? worker : nullptr;
  }
  /// Whether a task of this engine calls, or a task of an engine that was made in such a task. As when it calls `exit`.
  bool in_task() const noexcept;

  /// Whether this process is a child that was forked after the engine was made.
  bool of_parent() const noexcept { return forks_ != forks.load(std::memory_order_relaxed); }
  /// \throws UsageError  it is one
  void check_process() const {
    if (of_parent()) [[unlikely]]
      refuse_child();
  }

  /// \throws UsageError  a task of this engine calls: it would wait for itself
  void check_no_task() const;

  // -- for handlers

  /// The engine keeps a handler from `add` until after `remove`, when nothing of it is left.
  void add(const std::shared_ptr<Handler>& handler);
  /// Waits for what the handler has begun, unless a worker calls. Prints failures that no wait has thrown. Nothing is
  /// left to do if the engine has ended before.
  static void remove(Engine& engine, const std::shared_ptr<Handler>& handler) noexcept {
    if (!handler->engine_ended()) engine.remove(handler);
  }
  /// Fails the handler with the exception that is being handled.
  void fail(Handler& handler, const std::string& task) noexcept;
  /// What the handler has failed with.
  std::exception_ptr failure_of(const Handler& handler) const noexcept;
  /// Lets the next wait throw the exception that is being handled. The handler does not fail: it drops nothing.
  void report(Handler& handler, const std::string& task) noexcept;
  /// Waits for one handler. \throws as Taskflow::wait
  /// \param on_this_rank  for no longer than there is something to do here
  void wait_for(Handler& handler, bool on_this_rank = false);
  void cancel(Handler& handler) noexcept;
  /// Sets the event when a wait finds that nothing of the handler is left; fails it as soon as the handler fails or is
  /// stopped, or if it has and no wait has said so. \pre the handler is a flow's, whose `done` takes no lock
  void set_when_done(Handler& handler, const Event& event);
  /// For error messages: the tasks that wait on the calling worker; empty if there are none, or no worker calls.
  std::string waiting_here() const noexcept;
  /// While it lives, this thread runs callbacks of events. They may remove the handler that runs them, which is in use
  /// until they return: such a handler is retired, and dropped later.
  class Callback {
   public:
    Callback() noexcept { ++depth_; }
    ~Callback() { --depth_; }
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    friend class Engine;
    static inline constinit thread_local int depth_ = 0;
  };

  // -- for Runtime, which documents them

  void wait();
  /// Waits, and prints what it cannot throw.
  void finish() noexcept;
  void wait(const Event& event);
  void work_until(const std::function<bool()>& done);
  void notify() noexcept;
  void wake_all() noexcept {
    for (const auto& worker : workers_) worker->wake();
  }
  /// Wakes the threads that wait and are not worker 0.
  void notify_others() noexcept;
  void join();
  void start();
  /// Calls `call(worker)` as a task of that worker, and waits. \throws as on_workers
  void on_worker(int worker, const std::function<void(int worker)>& call);
  /// Counts a thread outside while it uses the engine. What the thread sends may let another one destroy the engine, so
  /// the destructor waits until the count is 0, and the count is the last that such a thread touches.
  class ExternalThread {
   public:
    explicit ExternalThread(Engine& engine) noexcept : engine_(engine) {
      engine_.inside_.fetch_add(1, std::memory_order_relaxed);
    }
    ~ExternalThread() { engine_.inside_.fetch_sub(1, std::memory_order_release); }
    ExternalThread(const ExternalThread&) = delete;
    ExternalThread& operator=(const ExternalThread&) = delete;

   private:
    Engine& engine_;
  };
  void hold() noexcept { outside_.holds.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  void hold(Handler& one) noexcept;
  void release(Handler& one) noexcept;
  /// For failures that no wait will throw.
  static void print(const char* message) noexcept;
  /// Calls what waits where nobody is who could catch: prints what it throws, unless somebody was told.
  template <typename Call>
  void quietly(const Call& call) noexcept {
    const bool outer = std::exchange(prints_, true);
    try {
      call();
    } catch (const RankFailed&) {  // an earlier wait has thrown it, or this rank has ended before it
    } catch (...) {
      print(std::current_exception());
    }
    prints_ = outer;
  }

 private:
  friend class Worker;
  class MainWorkerGuard;
  struct Round;
  class Rounds;
  class Calls;

  [[noreturn]] static void refuse_child();
  static std::unique_ptr<Handler> make_rounds();
  static std::unique_ptr<Handler> make_calls();
  /// \throws UsageError  the calling thread may not wait
  void check_may_wait();
  void start_threads();
  void stop_threads() noexcept;
  void start_below(int worker) noexcept;
  void wake_below(int worker) noexcept;
  void run_worker(int k) noexcept;
  static void* begin(void* worker) noexcept;
  /// A thread has started those below it in the tree, or could not be started itself.
  void started() noexcept;
  /// Keeps the exception that is being handled: why a thread could not start.
  void note_failed_start() noexcept;
  /// Whether everything is done: no worker has work, no message is on its way, and neither the runtime nor a flow is
  /// held. Only worker 0 calls it.
  /// \param alone  if given, holds of other flows do not count
  bool quiescent(const Handler* alone = nullptr) noexcept;
  bool held(const Handler* alone) const noexcept {
    return outside_.holds.load(std::memory_order_acquire) != 0 ||
           (alone != nullptr ? alone->held() : outside_.holds_of_flows.load(std::memory_order_acquire) != 0);
  }
  /// Works as worker 0, or sleeps while another thread does, until `done()` or until nothing is left to do.
  /// \tparam often  check `done` between tasks, too
  /// \returns whether `done()`
  template <bool often = true, typename Done>
  bool wait_until(const Done& done, const Handler* alone = nullptr) {
    return wait_until<often>(done, [this, alone] { return quiescent(alone); });
  }
  /// \param over  over() ends the wait although `done()` is false
  template <bool often, typename Done, typename Over>
    requires std::is_invocable_v<const Over&>
  bool wait_until(const Done& done, const Over& over);
  /// With other ranks a wait goes on when nothing is left to do here, because they may still send what it waits for.
  /// \param alone  as above
  template <typename Done>
  bool wait_for_ranks(const Done& done, const Handler* alone = nullptr);
  /// Whether nothing is left to do on any rank, or one has failed. Called by worker 0.
  bool all_ranks_done();
  void wait_with_ranks();
  /// Ends all ranks with a failure of this one.
  void notify_ranks(const std::exception_ptr& failure) noexcept;
  /// Another rank has failed: stops everything here, and throws its failure.
  [[noreturn]] void end_with_ranks();
  /// Calls `call(worker)` in the thread of each worker, between tasks, and waits. Not for workers.
  void on_workers(const std::function<void(int worker)>& call);
  /// Of so many workers, by a handler that delivers such calls.
  void on_workers(const std::function<void(int worker)>& call, int first, int number, const Handler& by);
  /// The tasks of these handlers that wait for ever. Called when nothing is left to do.
  struct Found {
    std::vector<StuckTask> tasks;
    std::size_t total = 0;
    std::vector<Handler*> handlers;
    bool sure = true;  // false: threads outside kept sending, so no look was valid
  };
  /// \param alone  as above
  Found find_stuck(const std::vector<Handler*>& handlers, const Handler* alone = nullptr);
  /// \throws std::bad_alloc
  Found look_for_stuck(const std::vector<Handler*>& handlers, const Handler* alone);
  /// Stops a handler, and fails the events that wait for its end.
  void stop(Handler& handler, const std::exception_ptr& why) noexcept;
  /// Fails the events that wait for the end of a handler that is broken, and those that will be asked for until it is
  /// settled.
  void fail_awaited(Handler& handler, const std::exception_ptr& why) noexcept;
  /// Settles events that wait for the end of handlers: those of handlers that are done, or all of one that is broken.
  /// \returns whether there were any
  bool settle_awaited(const Handler* broken = nullptr, const std::exception_ptr& why = nullptr) noexcept;
  /// Stops what is stuck. \returns the exception that says so
  std::exception_ptr give_up(const Found& found);
  /// Waits until a handler that was stopped has nothing on its way, forgets the rest, and opens it again.
  void settle(Handler& handler);
  /// After a run: settles what has failed or is stuck, and throws it.
  void end_run();
  /// Of an exception of a task; else null.
  static std::shared_ptr<std::atomic<Told>> told_of(const std::exception_ptr& failure) noexcept;
  /// A wait is about to throw it.
  static void note_thrown(const std::exception_ptr& failure) noexcept;
  /// What no wait will throw. Where it was told, or is still to be told with what has passed it on, this does nothing.
  void print(const std::exception_ptr& failure) noexcept;
  void print_unreported(const Handler* handler) noexcept;
  void remove(const std::shared_ptr<Handler>& handler) noexcept;
  void drop_retired() noexcept;
  /// Keeps a handler that was removed while it is in use.
  void retire(const std::shared_ptr<Handler>& handler) noexcept;
  /// Ends a handler that was removed.
  void leave(const std::shared_ptr<Handler>& handler) noexcept;
  /// \pre the mutex is held
  void forget(const std::shared_ptr<Handler>& handler) noexcept;
  /// Handlers that no thread waits for alone.
  std::vector<std::shared_ptr<Handler>> unwaited();
  /// Whether a failure here only repeats that another rank has failed.
  static bool comes_from_ranks(const Failure& failure) noexcept;

  static inline constinit thread_local bool prints_ = false;  // what this thread's waits throw

  /// Numbers of the engines whose tasks the calling thread is in.
  static std::vector<std::uint64_t> around_here();

  const unsigned forks_ = forks.load();
  const std::uint64_t number_;                // no other engine has it, also after this one has ended
  const std::vector<std::uint64_t> made_in_;  // around_here() then
  RuntimeOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Handlers numbered_;                              // added and removed under mutex_
  std::vector<std::optional<pthread_t>> threads_;  // [k]: of worker k, made by the thread above it in their tree
  std::atomic<int> starting_{0};                   // threads that have not said that they have started; by them
  std::atomic<bool> running_{false};               // all workers but worker 0 have threads; written by worker 0
  std::unique_ptr<Trace> trace_;
  const std::unique_ptr<Handler> rounds_ = make_rounds(), calls_ = make_calls();
  const std::unique_ptr<Handler> overflow_batches_ = Worker::make_overflow_batches(),
                                 mailbox_requests_ = Worker::make_mailbox_requests();
  Completion completion_;           // asked by worker 0
  ProgressEngine* const progress_;  // null if this process is alone

  std::mutex main_mutex_;  // protects the three below
  std::condition_variable main_left_;
  std::atomic<bool> main_taken_{false};  // a thread is worker 0; workers that keep messages for it read it
  std::thread::id main_thread_;          // the last that was
  std::atomic<int> others_{0};           // threads that wait and are not worker 0
  std::mutex settling_;                  // held while a thread settles a handler
  std::mutex waiting_with_ranks_;        // held by the thread that waits for all ranks
  // By that thread: the counts that it last reported to the other ranks, and whether it reported stuck tasks.
  ProgressEngine::Counts reported_{};
  bool has_reported_ = false, reported_stuck_ = false;

  mutable std::mutex mutex_;  // protects the members below, and what handlers say it protects
  std::vector<std::shared_ptr<Handler>> handlers_, retired_;  // retired: removed while in use
  std::vector<std::shared_ptr<Failure>> failures_;            // that no wait has thrown yet
  std::vector<std::pair<Handler*, Event>> awaited_;           // set_when_done; each of a handler that is not forgotten
  std::exception_ptr why_not_started_;                        // a thread, or where it is to run

  std::atomic<bool> any_awaited_{false};  // awaited_ is not empty; written under mutex_
  std::atomic<int> starved_{0};           // workers that sleep until worker 0 is there

  // Written seldom.
  alignas(apart) std::atomic<bool> stop_{false};
  // One of the parked workers waits at the doorbell of this rank, and one more polls with a timeout.
  std::atomic<bool> waits_at_doorbell_{false}, parks_with_timeout_{false};
  std::atomic<int> asleep_{0};  // workers that sleep or are about to; written by each of them
  OutsideCounts outside_;
  alignas(apart) std::atomic<int> inside_{0};  // threads outside that touch the engine: it lives until they have left
};

template <typename What>
void Worker::send(int to, std::uint32_t handler, const What& what) {
  ++sent_;
  Mailbox& box = *outboxes_[static_cast<std::size_t>(to)].load(std::memory_order_acquire);
  if (!box.push(handler, what)) [[unlikely]]
    return push_overflow(to, {handler, Payload::of(what)});
  Worker& receiver = engine_.worker(to);
  if (!receiver.sleeper_.attentive()) [[unlikely]]
    notify(receiver, box);
}

/// The engine of a runtime: for its faces, when they are made.
Engine& engine_of(Runtime& runtime) noexcept;

}  // namespace taskgrain::rt::detail
