#pragma once

/// How far apart the cores are: the time a cache line takes from one to the next.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

namespace taskgrain {

/// Passes a token round a ring of threads, as a chain of dependences across all cores would.
class Ring {
 public:
  explicit Ring(std::size_t size) : places_(size) {}

  /// Each thread of the ring calls this once, with its own place; place 0 keeps the time.
  void pass(std::size_t place) {
    const std::size_t next = (place + 1) % places_.size();
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const auto start = Clock::now();
      for (std::size_t k = batch * rounds; k < (batch + 1) * rounds; ++k) {
        // places_[p] = number of times the token has come to p; it starts at place 0.
        if (place == 0) places_[next].token.store(k + 1, std::memory_order_release);
        while (places_[place].token.load(std::memory_order_acquire) != k + 1) {
        }
        if (place != 0) places_[next].token.store(k + 1, std::memory_order_release);
      }
      if (place == 0) seconds_[batch] = std::chrono::duration<double>(Clock::now() - start).count();
    }
  }

  /// Seconds from one core to the next: the median of the batches. \pre all threads have passed
  double hop_seconds() {
    std::ranges::nth_element(seconds_, seconds_.begin() + batches / 2);
    return seconds_[batches / 2] / static_cast<double>(rounds * places_.size());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t batches = 9, rounds = 50;

  struct alignas(128) Place {
    std::atomic<std::size_t> token{0};  ///< written by the place before
  };
  std::vector<Place> places_;
  std::array<double, batches> seconds_{};  ///< written by place 0
};

}  // namespace taskgrain
