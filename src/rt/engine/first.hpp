#pragma once

/// Which thread is worker 0, and what it does while it waits.

#include <algorithm>
#include <cfenv>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/role.hpp"
#include "engine/work.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/engine.hpp"

namespace taskgrain::rt::detail {

/// The thread that is worker 0, while it lives.
class Engine::First {
 public:
  /// Returns when this thread is worker 0, or when done().
  template <typename Done>
  First(Engine& engine, const Done& done) : engine_(engine) {
    engine.check_may_wait();
    std::unique_lock lock(engine_.first_mutex_);
    const Waiting waiting(engine_);
    for (auto park_time = shortest_park; engine_.first_taken_; park_time = std::min(2 * park_time, longest_park)) {
      lock.unlock();
      const bool is_done = done();
      lock.lock();
      if (is_done) return;
      // Whoever makes it true need not know of this thread, or may do so just now: it looks again after a while.
      if (engine_.first_taken_) engine_.first_left_.wait_for(lock, park_time);
    }
    is_first_ = true;
    engine_.first_ = std::this_thread::get_id();
    // A worker says that it is starved and then looks for worker 0: one of the two sees the other.
    engine_.first_taken_.store(true);
    if (engine_.starved_.load() == 0) return;
    for (const auto& worker : engine_.workers_) worker->wake();
  }
  ~First() {
    if (!is_first_) return;
    const std::lock_guard lock(engine_.first_mutex_);
    engine_.first_taken_.store(false);
    engine_.first_left_.notify_all();
  }
  First(const First&) = delete;
  First& operator=(const First&) = delete;

  explicit operator bool() const noexcept { return is_first_; }

 private:
  struct Waiting {
    explicit Waiting(Engine& of) noexcept : engine(of) { engine.others_.fetch_add(1); }
    ~Waiting() { engine.others_.fetch_sub(1); }
    Engine& engine;
  };

  Engine& engine_;
  bool is_first_ = false;
};

/// What a task has left in the floating-point environment ends with the wait that ran it: a rounding mode, and flags.
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
  const First is_first(*this, done);
  if (!is_first) return true;
  Worker& first = *workers_[0];
  const Role role(Worker::current_, &first);
  const KeepsFloatingPoint keeps_floating_point;
  const auto leave = [](Worker* worker) { worker->leave(); };
  const std::unique_ptr<Worker, decltype(leave)> leaves(&first, leave);
  std::optional<Pinned> pinned;
  bool is_done = false;
  // After `join` the others have no threads. It starts them for the first thing that comes, and does not sleep before:
  // what comes for another worker would not wake it.
  const auto joined = [this] { return !running_ && workers() > 1; };
  do {
    if (joined() && (peers_ != nullptr || !quiescent())) {
      pinned.reset();  // or they would all begin on this core
      start_threads();
    }
    if (options_.pin && !pinned) pinned.emplace(options_.cores[0]);
    first.work<often>([&] { return (is_done = done()) || over() || joined(); });
  } while (!is_done && joined() && !quiescent());
  return is_done;
}

inline void Engine::check_may_wait() {
  check_process();
  check_no_task();
  if (peers_ != nullptr && peers_->runs_here())
    throw UsageError("the function of a message cannot wait for the runtime that its communicator belongs to");
  const std::lock_guard lock(first_mutex_);
  if (first_taken_ && first_ == std::this_thread::get_id())
    throw UsageError("what work_until asks cannot wait for the same runtime");
}

template <typename Done>
bool Engine::wait_for_ranks(const Done& done, const Handler* alone) {
  if (peers_ == nullptr) return wait_until(done, alone);
  peers_->open();
  // Once no other rank is there, nothing comes that is not on its way.
  const auto over = [this, alone] {
    const Peers::Counts before = peers_->counts();
    return quiescent(alone) && peers_->alone() && peers_->counts() == before;
  };
  const bool is_done = wait_until<true>([&] { return peers_->failed() || done(); }, over);
  if (peers_->failed()) end_with_ranks();
  // What other workers have sent may wait for this thread, which may call something now that does not poll.
  if (peers_->only_polls_show() && peers_->may_poll()) peers_->poll();
  return is_done;
}

}  // namespace taskgrain::rt::detail
