#pragma once

/// The tasks of a worker that others may steal: the bounded deque of Chase and Lev (SPAA'05), with the memory orders of
/// C++20.
///
/// The entries are those at top, …, bottom - 1 (modulo the capacity); 0 ≤ bottom - top ≤ capacity but for a moment in
/// pop, where bottom - top = -1. bottom is written by the owner alone; top only grows, by compare-and-swap of whoever
/// takes the oldest entry.
///
/// A thief may read a slot while the owner writes it anew. Then top has moved on since the thief read it, its
/// compare-and-swap fails, and it forgets what it read: that is why a slot is made of atomic words.
///
/// pop writes bottom and then reads top; steal reads top and then bottom; both in the one order of all seq_cst
/// operations. So of an owner and a thief that want the last entry at least one sees the other, and the
/// compare-and-swap decides.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class Deque {
 public:
  static constexpr std::int64_t capacity = 64;

  /// By the owner. False if the deque is full.
  bool push(const Entry& entry) noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom - top_.load(std::memory_order_acquire) >= capacity) return false;
    slots_[bottom % capacity].write(entry);
    bottom_.store(bottom + 1, std::memory_order_release);
    return true;
  }

  /// By the owner: the newest entry. False if there is none.
  bool pop(Entry& entry) noexcept {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top < bottom) {
      entry = slots_[bottom % capacity].read();
      return true;
    }
    bool taken = false;
    if (top == bottom) {  // the last: as a thief would
      entry = slots_[bottom % capacity].read();
      taken = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    bottom_.store(bottom + 1, std::memory_order_relaxed);
    return taken;
  }

  /// By anyone: the oldest entry. False if there is none or another was quicker.
  bool steal(Entry& entry) noexcept {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top >= bottom_.load(std::memory_order_seq_cst)) return false;
    entry = slots_[top % capacity].read();
    return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
  }

  /// Number of entries. It is exact for the owner while nobody steals, and an estimate otherwise.
  std::int64_t size() const noexcept {
    return bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
  }

 private:
  class Slot {
   public:
    void write(const Entry& entry) noexcept {
      words_[0].store(std::bit_cast<std::uint64_t>(entry.handler), std::memory_order_relaxed);
      for (int k = 0; k < 3; ++k) words_[k + 1].store(entry.payload.words[k], std::memory_order_relaxed);
    }
    Entry read() const noexcept {
      Entry entry{std::bit_cast<Handler*>(words_[0].load(std::memory_order_relaxed)), {}};
      for (int k = 0; k < 3; ++k) entry.payload.words[k] = words_[k + 1].load(std::memory_order_relaxed);
      return entry;
    }

   private:
    std::atomic<std::uint64_t> words_[4] = {};
  };

  alignas(apart) std::atomic<std::int64_t> bottom_{0};
  alignas(apart) std::atomic<std::int64_t> top_{0};
  alignas(apart) Slot slots_[capacity];
};

}  // namespace taskgrain::rt::detail
