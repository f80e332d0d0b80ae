#pragma once

/// The fence of the ranks of one host: a word in their memory that counts who has come.
///
///   word = 4 · arrivals + slow(0) + 2 · slow(1), and R ranks have all come to fence n, from 0, when
///   arrivals ≥ (n + 1) · R; no rank comes to n + 1 before
///   slow(n mod 2) is set before all have come to n, and by then means: all ranks exchange before they leave n. It is
///   cleared by the last that comes to n + 1, when all have left n, so that n + 2 is not slow from its beginning
///
/// A rank that waits for long makes a fence slow, because only an exchange finds that another rank waits for something
/// else. models/fence.pml searches it.

#include <atomic>
#include <cstdint>

namespace taskgrain::rt::detail {

class FenceCounter {
 public:
  enum class State : std::uint8_t { waiting, complete, slow };

  FenceCounter(std::atomic<std::uint64_t>& word, int ranks) noexcept
      : word_(word), ranks_(static_cast<std::uint64_t>(ranks)) {}

  /// This rank comes to its next fence. What it wrote before, each rank that leaves the fence sees.
  void arrive() noexcept {
    ++fences_;
    std::uint64_t now = word_.load(std::memory_order_relaxed), next;
    do {
      next = now + 4;
      if (next / 4 == fences_ * ranks_) next &= ~slow(fences_ + 1);
    } while (!word_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_relaxed));
  }
  /// The state of the fence to which this rank has come.
  State state() const noexcept { return state_of(word_.load(std::memory_order_acquire)); }
  /// Makes the fence slow, if not all have come.
  void make_slow() noexcept {
    std::uint64_t now = word_.load(std::memory_order_acquire);
    while (
        state_of(now) == State::waiting &&
        !word_.compare_exchange_weak(now, now | slow(fences_), std::memory_order_acq_rel, std::memory_order_acquire)) {
    }
  }

 private:
  static constexpr std::uint64_t slow(std::uint64_t fence) noexcept { return std::uint64_t{1} << fence % 2; }
  State state_of(std::uint64_t word) const noexcept {
    if ((word & slow(fences_)) != 0) return State::slow;
    return word / 4 >= fences_ * ranks_ ? State::complete : State::waiting;
  }

  std::atomic<std::uint64_t>& word_;
  const std::uint64_t ranks_;
  std::uint64_t fences_ = 0;  // to which this rank has come
};

}  // namespace taskgrain::rt::detail
