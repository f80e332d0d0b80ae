#pragma once

/// Termination detection in one process. Each worker publishes its state when it becomes idle or busy, and worker 0
/// decides whether nothing is left to do.
///
/// After Mattern's four counters: in a first look all workers are idle, and they have received as many messages as they
/// sent; in a second look no epoch has changed. A worker changes its epoch before it takes a message or another
/// worker's task. So if the first look misses a message that was sent and received during it, the second sees the new
/// epoch.
///
/// With many workers, worker 0 must not look at all of them each time, nor be woken by each. The first look stops at a
/// worker that is busy, and goes on there the next time. If the second look then fails, because a worker behind it
/// has become busy since, a whole look follows. While worker 0 waits for everything and sleeps, only the worker at
/// which its look has stopped wakes it. If n workers become idle in a random order, about ln n of them do so. Looks
/// begin with the last worker, so that one wake-up is enough if they become idle from the first to the last.

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
  /// Sent and not received; of all together, what is under way.
  std::uint64_t balance() const noexcept {
    return sent_.load(std::memory_order_acquire) - received_.load(std::memory_order_acquire);
  }

 private:
  bool idle_ = true;  // what it has published; read by the worker alone
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> sent_{0}, received_{0};  // when it became idle
};

/// What threads outside do to a run. They write it by atomic additions.
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

  /// Whether nothing is left to do: no worker has work, no message is on its way, and nothing is held.
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

  /// The worker at which the look has stopped, because it was busy; `anybody` if the look came to the end.
  std::size_t busy() const noexcept { return busy_; }
  /// Before worker 0 sleeps: the worker that must wake it on becoming idle.
  void await(std::size_t worker) noexcept { awaited_.store(worker, std::memory_order_relaxed); }

  // -- by the others

  /// Whether this worker must wake worker 0. Called after it has published that it is idle and has passed a light
  /// barrier: either it sees that it is awaited, or worker 0 sees it idle in the look before its sleep (Dekker).
  bool awaits(std::size_t worker) const noexcept {
    const std::size_t awaited = awaited_.load(std::memory_order_relaxed);
    return awaited == worker || awaited == anybody;
  }

 private:
  /// Whether all epochs are those of the first look, and what was sent then was received.
  template <typename Of, typename Held>
  bool confirmed(const Of& of, const OutsideCounts& outside, const Held& held) noexcept {
    const std::uint64_t sent = outside.sent.load(std::memory_order_acquire);
    if (std::exchange(balance_, 0) + sent != 0) return false;
    for (std::size_t w = 0; w < epochs_.size(); ++w)
      if (of(w).epoch() != epochs_[w]) return false;
    // If a hold has ended since the check at the beginning, what was fulfilled under it is in this second count.
    return !held() && outside.sent.load(std::memory_order_acquire) == sent;
  }

  // By worker 0, of the first look:
  std::vector<std::uint64_t> epochs_;  // of workers left_ … n - 1
  std::uint64_t balance_ = 0;          // what these have sent and not received, modulo 2^64
  std::size_t left_ = epochs_.size();  // workers at which it has not looked
  std::size_t busy_ = anybody;
  alignas(apart) std::atomic<std::size_t> awaited_{anybody};  // by worker 0
};

}  // namespace taskgrain::rt::detail
