#pragma once

/// The workers that are awake. One that is about to sleep looks for work at those alone, and one that wakes is told
/// whether others sleep.
///   bit k is clear  ⇒  worker k is parked, and has no task, no fork and no loop
///
/// Worker s parks: it adds itself to the number of those asleep, and then loads the bits. Worker k wakes: it sets its
/// bit, and then takes itself from that number. One of the two is the first to change the number: either s sees the bit
/// of k, or k is told that others sleep. Only workers that park or wake write here.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class alignas(apart) AwakeWorkers {
 public:
  explicit AwakeWorkers(std::size_t workers) : words_((workers + bits - 1) / bits) {
    for (std::size_t k = 0; k < workers; ++k) word(k).fetch_or(bit(k), std::memory_order_relaxed);
  }

  /// Workers that sleep or are about to.
  int asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }
  /// Calls `call(worker)` for each that is awake.
  template <typename Call>
  void each(const Call& call) const {
    for (std::size_t n = 0; n < words_.size(); ++n)
      for (std::uint64_t left = words_[n].load(std::memory_order_acquire); left != 0; left &= left - 1)
        call(static_cast<int>(n * bits) + std::countr_zero(left));
  }

  // -- by the worker

  void park(std::size_t worker) noexcept {
    asleep_.fetch_add(1, std::memory_order_acq_rel);
    word(worker).fetch_and(~bit(worker), std::memory_order_release);
  }
  /// \returns whether others sleep
  bool wake(std::size_t worker) noexcept {
    word(worker).fetch_or(bit(worker), std::memory_order_relaxed);
    return asleep_.fetch_sub(1, std::memory_order_acq_rel) > 1;
  }

 private:
  static constexpr std::size_t bits = 64;
  static constexpr std::uint64_t bit(std::size_t worker) noexcept { return std::uint64_t{1} << (worker % bits); }
  std::atomic<std::uint64_t>& word(std::size_t worker) noexcept { return words_[worker / bits]; }

  std::atomic<int> asleep_{0};
  std::vector<std::atomic<std::uint64_t>, ApartAllocator<std::atomic<std::uint64_t>>> words_;
};

}  // namespace taskgrain::rt::detail
