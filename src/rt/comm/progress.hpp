#pragma once

/// The progress of a rank: who polls when, and the engine's side of the waits for all ranks.
///
///   open_ is set once, by the first wait or Messages::progress: before it, no thread of this rank polls
///   one thread at a time polls, under lock(): the progress thread alone, if there is one

#include <atomic>
#include <functional>
#include <thread>

#include "delivery.hpp"
#include "joined_engine.hpp"
#include "outbox.hpp"
#include "polling_lock.hpp"
#include "rank_failure.hpp"
#include "taskgrain/rt/detail/progress_engine.hpp"
#include "taskgrain/rt/detail/sleep.hpp"
#include "waits.hpp"

namespace taskgrain::rt::detail {

class Progress final : public ProgressEngine {
 public:
  Progress(Outbox& outbox, JoinedEngine& engine, RankFailure& failure, Waits& waits, Delivery& delivery) noexcept
      : transport_(outbox.transport()), outbox_(outbox), engine_(engine), failure_(failure), waits_(waits),
        delivery_(delivery) {}

  PollingLock& lock() noexcept { return lock_; }
  void start_thread();
  void stop_thread();
  /// \throws UsageError  no thread would poll while this one waits for all ranks
  void check_may_wait() const;
  /// True if messages go on while this thread polls and waits for room. Waiting could deadlock in the function of a
  /// message, which holds the polling lock; before this rank has begun to poll, because the other rank may be in the
  /// same state; and in a thread of the program that may not poll, because the thread that may could wait for this one.
  bool may_wait_for_room() const noexcept;
  /// Polls until `done()`, at longer and longer intervals. \throws RankFailed
  void poll_until(const std::function<bool()>& done);
  /// Polls until all that this rank has sent has left its memory, or the run has failed.
  void send_all() noexcept;

  // -- ProgressEngine
  bool anything() const noexcept override;
  bool only_polls_show() const noexcept override { return transport_ != nullptr && transport_->doorbell() == nullptr; }
  void poll() noexcept override;
  void open() noexcept override;
  bool may_poll() const noexcept override;
  std::atomic<std::uint32_t>* doorbell() noexcept override { return outbox_.doorbell(); }
  bool oversubscribed() const noexcept override { return transport_ != nullptr && transport_->oversubscribed(); }
  bool failed() const noexcept override { return failure_.exists(); }
  [[noreturn]] void raise() override { failure_.raise(); }
  void settle() noexcept override { const PollingLock::Guard guard(lock_, PollingLock::Wait::yes); }
  bool runs_here() const noexcept override { return lock_.is_held_here(); }
  bool failed_here() const noexcept override { return failure_.is_own(); }
  void fail(const char* what) noexcept override { failure_.fail(what); }
  void join(Engine& engine) override { engine_.join(engine); }
  void leave() noexcept override;
  void begin() override;
  void end() noexcept override;
  Counts counts() const noexcept override { return engine_.counts(waits_.control_received()); }
  void idle(const Counts& counts, bool stuck) noexcept override { waits_.idle(counts, stuck); }
  bool done() const noexcept override { return waits_.done(); }
  bool stuck() const noexcept override { return waits_.stuck(); }
  bool alone() noexcept override;

 private:
  Transport* const transport_;
  Outbox& outbox_;
  JoinedEngine& engine_;
  RankFailure& failure_;
  Waits& waits_;
  Delivery& delivery_;
  PollingLock lock_;
  // The first wait sets it (ProgressEngine::open says why), and nothing clears it.
  std::atomic<bool> open_{false};
  Sleeper sleeper_;  // of a thread that exchanges while no engine has joined
  bool has_thread_ = false;
  std::atomic<bool> stop_{false};  // set by `stop_thread`, so that the thread ends
  std::thread thread_;
};

}  // namespace taskgrain::rt::detail
