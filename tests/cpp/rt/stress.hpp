#pragma once

/// What tests of races share: how long they race, entries that show whether they are whole, and threads that tarry.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ranges>
#include <thread>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt {

/// `number`, times the factor in TASKGRAIN_TEST_ROUNDS if that is set; one at least.
inline std::int64_t rounds(std::int64_t number) {
  const char* factor = std::getenv("TASKGRAIN_TEST_ROUNDS");
  return std::max<std::int64_t>(
      1, factor == nullptr ? number : static_cast<std::int64_t>(static_cast<double>(number) * std::atof(factor)));
}

/// So many, as `rounds` has them, from TASKGRAIN_TEST_SEED on, or 0.
inline auto seeds(std::int64_t number) {
  const char* first = std::getenv("TASKGRAIN_TEST_SEED");
  const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
  return std::views::iota(begin, begin + static_cast<std::uint64_t>(rounds(number)));
}

/// 256, or fewer if there are fewer rounds; always more than the 64 that have a bit of their own.
inline int many_workers() { return static_cast<int>(std::clamp<std::int64_t>(rounds(256), 80, 256)); }

/// The rounds of a race between threads that wait for one another. Where other programs want the processors, each wait
/// may take milliseconds; so a race ends after some seconds, however many rounds that were.
class Race {
 public:
  /// \param between  rounds between two looks at the clock
  explicit Race(std::int64_t most, std::int64_t between = 16) : most_(rounds(most)), between_(between) {}
  /// Whether there is a round n, counted from 0. One thread asks, and tells the others.
  bool has(std::int64_t n) const {
    return n < most_ && (n % between_ != 0 || n == 0 || std::chrono::steady_clock::now() < end_);
  }

 private:
  const std::int64_t most_, between_;
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(10);
};

/// The finaliser of SplitMix64: a bijection that leaves no trace of its argument's bits.
inline std::uint64_t mixed(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/// The entry of a number: all of its words follow from that. Its handler is nobody's number.
inline detail::Entry entry_of(std::uint64_t number) noexcept {
  return {static_cast<std::uint32_t>(mixed(number)),
          {{number, mixed(~number), mixed(number + (std::uint64_t{1} << 63))}}};
}
inline std::uint64_t number_of(const detail::Entry& entry) noexcept { return entry.payload.words[0]; }
inline bool whole(const detail::Entry& entry) noexcept {
  const detail::Entry expected = entry_of(number_of(entry));
  return entry.handler == expected.handler && std::ranges::equal(entry.payload.words, expected.payload.words);
}

/// Random numbers of one thread (SplitMix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(mixed(seed + 1)) {}
  std::uint64_t below(std::uint64_t end) noexcept { return mixed(state_ += 0x9e3779b97f4a7c15u) % end; }
  /// Tarries for up to `most` steps of a nanosecond or less.
  void tarry(std::uint64_t most) noexcept {
    for (std::uint64_t k = below(most + 1); k > 0; --k) std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  std::uint64_t state_;
};

/// Waits for another thread: spins, and gives the core away when that takes long.
class Backoff {
 public:
  void wait() noexcept {
    if (++waits_ < 256)
      detail::pause();
    else
      std::this_thread::yield();
  }

 private:
  int waits_ = 0;
};

}  // namespace taskgrain::rt
