#pragma once

/// How the end of a run is found. Each worker says what it knows of itself, and worker 0 decides whether nothing is
/// left to do.
///
/// After Mattern's four counters: nobody has anything to do, and as much was received as sent, at two looks between
/// which nobody stirred. Whoever stirs says so in its epoch before it takes a message or a task of another. So if the
/// first look misses a message that was sent and received in its course, the second look sees an epoch that has changed.
///
/// With many workers, worker 0 must not look at all of them each time, nor be woken by each. The first look stops at a
/// worker that is busy, and goes on there the next time: the second look makes up for what has changed meanwhile. Only
/// that worker wakes worker 0 when it becomes idle. If n workers become idle in any order, ln n of them do.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// What a worker last said about itself. Written by it, only after a while without work and when that ends.
///   epoch is even  ⇔  it is idle: its queues are empty, and it keeps no message back
class alignas(apart) Standing {
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
  bool idle_ = true;  // as said; read by the worker alone
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<std::uint64_t> sent_{0}, received_{0};  // when it became idle
};

/// What threads outside do to a run. Written by them, by addition.
struct alignas(apart) OutsideCounts {
  std::atomic<std::uint64_t> sent{0};  // messages
  std::atomic<std::int64_t> holds{0};  // while there is one, the run goes on
};

/// Decides, for all workers of one process.
class Completion {
 public:
  /// Which workers are to tell worker 0 that they have become idle.
  enum class Hear : std::uint8_t { all, awaited };

  explicit Completion(std::size_t workers) : epochs_(workers) {}

  // -- by worker 0

  /// Whether nothing is left to do: no worker has work, no message is under way, and there is no hold.
  /// \param of  of(w) is the Standing of worker w
  template <typename Of>
  bool reached(const Of& of, const OutsideCounts& outside, Hear hear) noexcept {
    if (outside.holds.load(std::memory_order_acquire) != 0) return false;
    for (; seen_ < epochs_.size(); ++seen_) {
      const Standing& standing = of(seen_);
      epochs_[seen_] = standing.epoch();
      if (epochs_[seen_] % 2 != 0) {
        await(hear == Hear::awaited ? seen_ : anybody);
        return false;
      }
      balance_ += standing.balance();
    }
    seen_ = 0;
    await(anybody);
    const std::uint64_t sent = outside.sent.load(std::memory_order_acquire);
    if (std::exchange(balance_, 0) + sent != 0) return false;
    for (std::size_t w = 0; w < epochs_.size(); ++w)
      if (of(w).epoch() != epochs_[w]) return false;
    // A hold that a task took, and that ended since, has left what it fulfilled in the count after it.
    return outside.holds.load(std::memory_order_acquire) == 0 && outside.sent.load(std::memory_order_acquire) == sent;
  }

  /// The worker at which the first look has stopped, or `anybody`.
  std::size_t awaited() const noexcept { return awaited_.load(std::memory_order_relaxed); }

  // -- by the others

  /// Whether worker 0 sleeps until this one is idle, if it sleeps. Asked after the worker has published that it is, and
  /// has passed a light barrier.
  bool awaits(std::size_t worker) const noexcept { return awaited() == anybody || awaited() == worker; }

 private:
  static constexpr std::size_t anybody = SIZE_MAX;

  void await(std::size_t worker) noexcept {
    if (awaited() != worker) awaited_.store(worker, std::memory_order_relaxed);
  }

  // Of the first look, by worker 0: at workers 0 … seen_ - 1, their epochs, and what they have sent and not received.
  std::size_t seen_ = 0;
  std::vector<std::uint64_t> epochs_;
  std::uint64_t balance_ = 0;
  alignas(apart) std::atomic<std::size_t> awaited_{anybody};  // by worker 0
};

}  // namespace taskgrain::rt::detail
