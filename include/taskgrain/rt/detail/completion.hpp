#pragma once

/// How the end of a run is found. Each worker says what it knows of itself, and worker 0 decides whether nothing is
/// left to do.
///
/// After Mattern's four counters: nobody has anything to do, and as much was received as sent, at two looks between
/// which nobody stirred. Whoever stirs says so in its epoch before it takes a message or a task of another. So if a
/// look misses a message that was sent and received in its course, the second look sees an epoch that has changed.

#include <atomic>
#include <cstddef>
#include <cstdint>
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
  explicit Completion(std::size_t workers) : epochs_(workers) {}

  /// Whether nothing is left to do: no worker has work, no message is under way, and there is no hold.
  /// \param of  of(w) is the Standing of worker w
  template <typename Of>
  bool reached(const Of& of, const OutsideCounts& outside) noexcept {
    if (outside.holds.load(std::memory_order_acquire) != 0) return false;
    const std::uint64_t sent = outside.sent.load(std::memory_order_acquire);
    std::uint64_t under_way = sent;
    for (std::size_t w = 0; w < epochs_.size(); ++w) {
      const Standing& standing = of(w);
      epochs_[w] = standing.epoch();
      if (epochs_[w] % 2 != 0) return false;
      under_way += standing.balance();
    }
    if (under_way != 0) return false;
    for (std::size_t w = 0; w < epochs_.size(); ++w)
      if (of(w).epoch() != epochs_[w]) return false;
    // A hold that a task took, and that ended since, has left what it fulfilled in the count after it.
    return outside.holds.load(std::memory_order_acquire) == 0 && outside.sent.load(std::memory_order_acquire) == sent;
  }

 private:
  std::vector<std::uint64_t> epochs_;  // at the first look
};

}  // namespace taskgrain::rt::detail
