#pragma once

/// A thread that waits works as worker 0 meanwhile: the guard that makes it worker 0, and the waits.

#include <algorithm>
#include <cfenv>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/work.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/engine.hpp"

namespace taskgrain::rt::detail {

/// A lock: while it lives, the calling thread is worker 0, and no other thread is.
class Engine::MainWorkerGuard {
 public:
  /// Blocks until this thread is worker 0, or done().
  template <typename Done>
  MainWorkerGuard(Engine& engine, const Done& done) : engine_(engine) {
    engine.check_may_wait();
    std::unique_lock lock(engine_.main_mutex_);
    const Waiting waiting(engine_);
    for (auto park_time = shortest_park; engine_.main_taken_; park_time = std::min(2 * park_time, longest_park)) {
      lock.unlock();
      const bool is_done = done();
      lock.lock();
      if (is_done) return;
      // There may be no notification when done() becomes true, or it came before this wait: check again after a
      // timeout.
      if (engine_.main_taken_) engine_.main_left_.wait_for(lock, park_time);
    }
    is_main_ = true;
    engine_.main_thread_ = std::this_thread::get_id();
    // Dekker: a worker adds itself to starved_ and then loads main_taken_; here the store comes first, then the load.
    engine_.main_taken_.store(true);
    if (engine_.starved_.load() == 0) return;
    for (const auto& worker : engine_.workers_) worker->wake();
  }
  ~MainWorkerGuard() {
    if (!is_main_) return;
    const std::lock_guard lock(engine_.main_mutex_);
    engine_.main_taken_.store(false);
    engine_.main_left_.notify_all();
  }
  MainWorkerGuard(const MainWorkerGuard&) = delete;
  MainWorkerGuard& operator=(const MainWorkerGuard&) = delete;

  explicit operator bool() const noexcept { return is_main_; }

 private:
  struct Waiting {
    explicit Waiting(Engine& of) noexcept : engine(of) { engine.others_.fetch_add(1); }
    ~Waiting() { engine.others_.fetch_sub(1); }
    Engine& engine;
  };

  Engine& engine_;
  bool is_main_ = false;
};

/// Restores the floating-point environment of the thread that waits: a task may have changed the rounding mode or
/// flags.
class KeepsFloatingPoint {
 public:
  KeepsFloatingPoint() { std::fegetenv(&before_); }
  ~KeepsFloatingPoint() { std::fesetenv(&before_); }
  KeepsFloatingPoint(const KeepsFloatingPoint&) = delete;
  KeepsFloatingPoint& operator=(const KeepsFloatingPoint&) = delete;

 private:
  std::fenv_t before_;
};

template <bool often, typename Done, typename Over>
  requires std::is_invocable_v<const Over&>
bool Engine::wait_until(const Done& done, const Over& over) {
  const MainWorkerGuard guard(*this, done);
  if (!guard) return true;
  Worker& main = *workers_[0];
  const CurrentWorkerScope scope(Worker::current_, &main);
  const KeepsFloatingPoint keeps_floating_point;
  const auto leave = [](Worker* worker) { worker->leave(); };
  const std::unique_ptr<Worker, decltype(leave)> leaves(&main, leave);
  std::optional<Pinned> pinned;
  bool is_done = false;
  // After `join` the other workers have no threads. The first message or task starts them again. Until then this thread
  // does not sleep, because a message to another worker would not wake it.
  const auto joined = [this] { return !running_ && workers() > 1; };
  do {
    if (joined() && (progress_ != nullptr || !quiescent())) {
      pinned.reset();  // else all threads would inherit the pin to this core
      start_threads();
    }
    if (options_.pin && !pinned) pinned.emplace(options_.cores[0]);
    main.work<often>([&] {
      settle_awaited();
      return (is_done = done()) || (over() && !settle_awaited()) || joined();
    });
  } while (!is_done && joined() && !quiescent());
  return is_done;
}

inline void Engine::check_may_wait() {
  check_process();
  check_no_task();
  if (progress_ != nullptr && progress_->runs_here())
    throw UsageError("the function of a message cannot wait for the runtime that its communicator belongs to");
  const std::lock_guard lock(main_mutex_);
  if (main_taken_ && main_thread_ == std::this_thread::get_id())
    throw UsageError("what work_until asks cannot wait for the same runtime");
}

template <typename Done>
bool Engine::wait_for_ranks(const Done& done, const Handler* alone) {
  if (progress_ == nullptr) return wait_until(done, alone);
  progress_->open();
  // When all other ranks have departed, only messages in flight can still arrive.
  const auto over = [this, alone] {
    const ProgressEngine::Counts before = progress_->counts();
    return quiescent(alone) && progress_->alone() && progress_->counts() == before;
  };
  const bool is_done = wait_until<true>([&] { return progress_->failed() || done(); }, over);
  if (progress_->failed()) end_with_ranks();
  // Under MPI_THREAD_FUNNELED only this thread sends what other workers queued, and the caller may not poll for long.
  if (progress_->only_polls_show() && progress_->may_poll()) progress_->poll();
  return is_done;
}

}  // namespace taskgrain::rt::detail
