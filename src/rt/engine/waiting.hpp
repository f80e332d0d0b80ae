#pragma once

/// The wait of a thread: the guard that makes it worker 0, and the loop in which it works meanwhile.

#include <algorithm>
#include <cfenv>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/work.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/scope_exit.hpp"

namespace taskgrain::rt::detail {

/// A lock: while it lives, the calling thread is worker 0, and no other thread is.
class MainWorker::Guard {
 public:
  /// Blocks until this thread is worker 0, or done().
  template <typename Done>
  Guard(Engine& engine, const Done& done) : main_(engine.main_) {
    std::unique_lock lock(main_.mutex_);
    main_.others_.fetch_add(1);
    const ScopeExit waits_no_more([this] { main_.others_.fetch_sub(1); });
    for (auto park_time = shortest_park; main_.taken; park_time = std::min(2 * park_time, longest_park)) {
      lock.unlock();
      const bool is_done = done();
      lock.lock();
      if (is_done) return;
      // There may be no notification when done() becomes true, or it came before this wait: check again after a
      // timeout.
      if (main_.taken) main_.left_.wait_for(lock, park_time);
    }
    is_main_ = true;
    main_.thread_ = std::this_thread::get_id();
    main_.taken.store(true);
    if (main_.starved.load() == 0) return;
    engine.wake_all();
  }
  ~Guard() {
    if (!is_main_) return;
    const std::lock_guard lock(main_.mutex_);
    main_.taken.store(false);
    main_.left_.notify_all();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  explicit operator bool() const noexcept { return is_main_; }

 private:
  MainWorker& main_;
  bool is_main_ = false;
};

template <bool often, typename Done>
bool WaitingThreads::wait_until(const Done& done, const Handler* alone) {
  return wait_until<often>(done, [this, alone] { return engine_.quiescent(alone); });
}

template <bool often, typename Done, typename Over>
  requires std::is_invocable_v<const Over&>
bool WaitingThreads::wait_until(const Done& done, const Over& over) {
  check_may_wait();
  const MainWorker::Guard guard(engine_, done);
  if (!guard) return true;
  Worker& main = engine_.worker(0);
  const CurrentWorkerScope scope(&main);
  std::fenv_t before;
  std::fegetenv(&before);  // a task may change the rounding mode or flags of this thread
  const ScopeExit leaves([&] {
    main.leave();
    std::fesetenv(&before);
  });
  std::optional<Pinned> pinned;
  bool is_done = false;
  // After `join` the other workers have no threads. The first message or task starts them again. Until then this thread
  // does not sleep, because a message to another worker would not wake it.
  const auto joined = [this] { return !engine_.threads_.running() && engine_.workers() > 1; };
  do {
    if (joined() && (engine_.progress_ != nullptr || !engine_.quiescent())) {
      pinned.reset();  // else all threads would inherit the pin to this core
      engine_.threads_.start();
    }
    if (engine_.options_.pin && !pinned) pinned.emplace(engine_.options_.cores[0]);
    main.work<often>([&] {
      engine_.awaited_.settle();
      return (is_done = done()) || (over() && !engine_.awaited_.settle()) || joined();
    });
  } while (!is_done && joined() && !engine_.quiescent());
  return is_done;
}

inline void WaitingThreads::check_may_wait() {
  engine_.made_in().check_process();
  engine_.made_in().check_no_task();
  if (engine_.progress_ != nullptr && engine_.progress_->runs_here())
    throw UsageError("the function of a message cannot wait for the runtime that its communicator belongs to");
  if (engine_.main_.is_here()) throw UsageError("what work_until asks cannot wait for the same runtime");
}

template <typename Done>
bool WaitingThreads::wait_for_ranks(const Done& done, const Handler* alone) {
  if (engine_.progress_ == nullptr) return wait_until(done, alone);
  engine_.progress_->open();
  // When all other ranks have departed, only messages in flight can still arrive.
  const auto over = [this, alone] {
    const ProgressEngine::Counts before = engine_.progress_->counts();
    return engine_.quiescent(alone) && engine_.progress_->alone() && engine_.progress_->counts() == before;
  };
  const bool is_done = wait_until<true>([&] { return engine_.progress_->failed() || done(); }, over);
  if (engine_.progress_->failed()) end_with_ranks();
  // Under MPI_THREAD_FUNNELED only this thread sends what other workers queued, and the caller may not poll for long.
  if (engine_.progress_->only_polls_show() && engine_.progress_->may_poll()) engine_.progress_->poll();
  return is_done;
}

}  // namespace taskgrain::rt::detail
