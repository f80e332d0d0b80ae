#pragma once

/// Termination detection in one process. Each worker publishes its state when it becomes idle or busy, and worker 0
/// decides whether nothing is left to do.
///
/// After Mattern's four counters: in a first scan all workers are idle, and they have received as many messages as they
/// sent; in a second scan no epoch has changed. A worker changes its epoch before it takes a message or another
/// worker's task. So if a message was sent and received during the first scan, the second finds a new epoch.
///
/// With many workers, worker 0 must not scan all of them each time, nor be woken by each. The first scan stops at a
/// busy worker, and resumes there the next time. If the second scan then fails, because a worker that was scanned has
/// become busy again, a whole scan follows. While worker 0 sleeps in a wait for everything, only the worker at which
/// its scan has stopped wakes it. If n workers become idle in a random order, about ln n of them do so. Scans go from
/// the last worker to the first, so that one wake-up suffices if workers become idle in order of their numbers.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// The state that a worker has published. Only the worker writes it: after some spins without work, and when it gets
/// work again.
///   epoch is even  ⇔  it is idle: its queues are empty, and it has no overflow
class alignas(apart) IdleState {
 public:
  // -- by the worker

  bool is_idle() const noexcept { return idle_; }
  /// \param sent, received  messages so far
  void idle(std::uint64_t sent, std::uint64_t received) noexcept {
    idle_ = true;
    sent_.store(sent, std::memory_order_release);
    received_.store(received, std::memory_order_release);
    epoch_.store(epoch_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void busy() noexcept {
    idle_ = false;
    epoch_.store(epoch_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // -- by worker 0

  std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  /// Sent minus received; summed over all workers, the messages in flight.
  std::uint64_t balance() const noexcept {
    return sent_.load(std::memory_order_acquire) - received_.load(std::memory_order_acquire);
  }

 private:
  bool idle_ = true;  // what it has published; read by the worker alone
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> sent_{0}, received_{0};  // when it became idle
};

/// Counts of threads outside, which add to them atomically.
struct alignas(apart) OutsideCounts {
  std::atomic<std::uint64_t> sent{0};           // messages
  std::atomic<std::int64_t> holds{0};           // of the runtime: the run does not end while there is one
  std::atomic<std::int64_t> holds_of_flows{0};  // the sum over all flows
};

/// Decides, for all workers of one process.
class Completion {
 public:
  static constexpr std::size_t anybody = SIZE_MAX;

  explicit Completion(std::size_t workers) : epochs_(workers) {}

  // -- by worker 0

  /// True if nothing is left to do: no worker has work, no message is in flight, and there is no hold.
  /// \param of    of(w) is the IdleState of worker w
  /// \param held  held() is whether a hold exists that counts for this wait
  template <typename Of, typename Held>
  bool reached(const Of& of, const OutsideCounts& outside, const Held& held) noexcept {
    if (held()) return false;
    const bool resumed = left_ != epochs_.size();
    for (; left_ > 0; --left_) {
      const IdleState& state = of(left_ - 1);
      epochs_[left_ - 1] = state.epoch();
      if (epochs_[left_ - 1] % 2 != 0) {
        busy_ = left_ - 1;
        return false;
      }
      balance_ += state.balance();
    }
    left_ = epochs_.size();
    busy_ = anybody;
    return confirmed(of, outside, held) || (resumed && reached(of, outside, held));
  }

  /// The busy worker at which the scan has stopped; `anybody` if it came to the end.
  std::size_t busy() const noexcept { return busy_; }
  /// Awaits a worker, which must wake worker 0 on becoming idle. Worker 0 calls it before it sleeps.
  void await(std::size_t worker) noexcept { awaited_.store(worker, std::memory_order_relaxed); }

  // -- by the others

  /// True if this worker must wake worker 0. Called after it has published that it is idle and has passed a light
  /// barrier: either it sees that it is awaited, or worker 0 sees it idle in the scan before its sleep (Dekker).
  bool awaits(std::size_t worker) const noexcept {
    const std::size_t awaited = awaited_.load(std::memory_order_relaxed);
    return awaited == worker || awaited == anybody;
  }

 private:
  /// The second scan: whether no epoch has changed since the first, and all messages counted then were received.
  template <typename Of, typename Held>
  bool confirmed(const Of& of, const OutsideCounts& outside, const Held& held) noexcept {
    const std::uint64_t sent = outside.sent.load(std::memory_order_acquire);
    if (std::exchange(balance_, 0) + sent != 0) return false;
    for (std::size_t w = 0; w < epochs_.size(); ++w)
      if (of(w).epoch() != epochs_[w]) return false;
    // A hold may have ended since the check at the beginning: then the messages sent under it are in this second count.
    return !held() && outside.sent.load(std::memory_order_acquire) == sent;
  }

  // By worker 0, of the first scan:
  std::vector<std::uint64_t> epochs_;  // of workers left_ … n - 1
  std::uint64_t balance_ = 0;          // what these have sent and not received, modulo 2^64
  std::size_t left_ = epochs_.size();  // workers 0 … left_ − 1 are not scanned yet
  std::size_t busy_ = anybody;
  alignas(apart) std::atomic<std::size_t> awaited_{anybody};  // by worker 0
};

}  // namespace taskgrain::rt::detail
