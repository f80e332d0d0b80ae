#pragma once

/// The engine: workers that run tasks and send one another messages. A Runtime owns one. Flows (FlowHandler) and graphs
/// (GraphActors) are handlers of the engine.
///
/// Its parts: WorkerThreads start and stop, a thread that waits is worker 0 (MainWorker) and does what WaitingThreads
/// says, KeptHandlers live until nothing of them is left, what goes wrong is in Failures and AwaitedEnds, and
/// who may not call it is in MadeIn.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "taskgrain/rt/detail/awaited_ends.hpp"
#include "taskgrain/rt/detail/awake_workers.hpp"
#include "taskgrain/rt/detail/completion.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/failures.hpp"
#include "taskgrain/rt/detail/kept_handlers.hpp"
#include "taskgrain/rt/detail/made_in.hpp"
#include "taskgrain/rt/detail/main_worker.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/progress_engine.hpp"
#include "taskgrain/rt/detail/wait_cycles.hpp"
#include "taskgrain/rt/detail/waiting_threads.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/detail/worker_threads.hpp"
#include "taskgrain/rt/event.hpp"
#include "taskgrain/rt/options.hpp"

namespace taskgrain::rt {
class Runtime;
}

namespace taskgrain::rt::detail {

class Trace;
std::unique_ptr<Handler> make_future_tasks();

class Engine {
 public:
  /// Starts the threads.
  /// \throws UsageError, std::system_error
  explicit Engine(RuntimeOptions options);
  ~Engine();

  /// The options as given, with defaults filled in.
  const RuntimeOptions& options() const noexcept { return options_; }
  int workers() const noexcept { return static_cast<int>(workers_.size()); }
  Worker& worker(int index) noexcept { return *workers_[static_cast<std::size_t>(index)]; }
  /// True if the calling thread runs functions of messages, one at a time on this rank.
  bool takes_messages() const noexcept { return progress_ != nullptr && progress_->runs_here(); }
  /// The worker whose thread calls; null in threads that are no workers of this engine.
  Worker* here() const noexcept { return here(this); }
  static Worker* here(const Engine* engine) noexcept {
    Worker* worker = Worker::current();
    return worker != nullptr && &worker->engine() == engine ? worker : nullptr;
  }
  const MadeIn& made_in() const noexcept { return made_in_; }
  WaitingThreads& waiting() noexcept { return waiting_; }
  Failures& failures() noexcept { return failures_; }
  /// The number of the handler of futures.
  std::uint32_t future_tasks() const noexcept { return future_tasks_->number(); }

  // -- for handlers

  /// The engine keeps a handler from `add` until after `remove`, when nothing of it is left.
  void add(const std::shared_ptr<Handler>& handler) { handlers_.add(handler); }
  /// Nothing is left to do if the engine has ended before.
  static void remove(Engine& engine, const std::shared_ptr<Handler>& handler) noexcept {
    if (!handler->engine_ended()) engine.waiting_.remove(handler);
  }
  /// Fails the handler with the exception that is being handled.
  void fail(Handler& handler, const std::string& task) noexcept;
  void cancel(Handler& handler) noexcept;
  /// Sets the event when a wait finds that nothing of the handler is left; fails it as soon as the handler fails or is
  /// stopped, or if it has and no wait has said so. \pre the handler is a flow's, whose `done` takes no lock
  void set_when_done(Handler& handler, const Event& event);
  /// The tasks that wait on the calling worker, for error messages; empty if there are none, or no worker calls.
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
    friend class WaitingThreads;
    static inline constinit thread_local int depth_ = 0;
  };

  // -- for Runtime, which documents them

  void notify() noexcept;
  /// The trace of this engine; null if there is none.
  Trace* trace() const noexcept { return trace_.get(); }
  void wake_all() noexcept {
    for (const auto& worker : workers_) worker->wake();
  }
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

 private:
  friend class Worker;
  friend class WaitingThreads;
  friend class WorkerThreads;
  friend class MainWorker;

  /// True if everything is done: no worker has work, no message is on its way, and neither the runtime nor a flow is
  /// held. Only worker 0 calls it.
  /// \param alone  if given, holds of other flows do not count
  bool quiescent(const Handler* alone = nullptr) noexcept;
  bool held(const Handler* alone) const noexcept {
    return outside_.holds.load(std::memory_order_acquire) != 0 ||
           (alone != nullptr ? alone->held() : outside_.holds_of_flows.load(std::memory_order_acquire) != 0);
  }
  /// Ends all ranks with a failure of this one.
  void notify_ranks(const std::exception_ptr& failure) noexcept;
  /// Stops a handler, and fails the events that wait for its end.
  void stop(Handler& handler, const std::exception_ptr& why) noexcept;

  const MadeIn made_in_;
  RuntimeOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  KeptHandlers handlers_;
  std::unique_ptr<Trace> trace_;
  const std::unique_ptr<Handler> overflow_batches_ = Worker::make_overflow_batches(),
                                 mailbox_requests_ = Worker::make_mailbox_requests(),
                                 future_tasks_ = make_future_tasks();
  Completion completion_;           // asked by worker 0
  ProgressEngine* const progress_;  // null if this process is alone

  Failures failures_;
  AwaitedEnds awaited_{failures_};
  MainWorker main_;
  WaitingThreads waiting_{*this};
  WaitCycles wait_cycles_{options_.cores.size()};
  WorkerThreads threads_;

  // Written seldom. One of the parked workers waits at the doorbell of this rank, and one more polls with a timeout.
  alignas(apart) std::atomic<bool> waits_at_doorbell_{false}, parks_with_timeout_{false};
  AwakeWorkers awake_;
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
