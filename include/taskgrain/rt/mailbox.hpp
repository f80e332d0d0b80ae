#pragma once

/// A ring of entries from one worker to one other.
///
/// The entry with number n, counted from 0, lies in slot n mod capacity, and is there ⇔ the lowest bit of the slot's word is that of
/// n's lap: 1 in the first, 0 in the second, 1 in the third, … (the word is the address of a handler, whose lowest bit is free).
///   received ≤ sent ≤ received + capacity
/// The sender alone writes slots, and never reads them; it looks at `received` only when, as far as it knows, the ring is full. So an
/// entry crosses the cores in the one cache line that holds it, and nothing comes back.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "taskgrain/rt/entry.hpp"
#include "taskgrain/rt/pause.hpp"

namespace taskgrain::rt {

class Mailbox {
 public:
  /// \param capacity  entries, a power of two
  explicit Mailbox(std::size_t capacity) : mask_(capacity - 1), slots_(new Slot[capacity]) {}

  /// By the sender. False if the ring is full.
  bool push(const Entry& entry) noexcept {
    if (sent_ - seen_received_ > mask_) [[unlikely]] {
      seen_received_ = received_.load(std::memory_order_acquire);  // acquire: the receiver has read those payloads
      if (sent_ - seen_received_ > mask_) return false;
    }
    Slot& slot = slots_[sent_ & mask_];
    for (int k = 0; k < 3; ++k) slot.payload.words[k] = entry.payload.words[k];
    slot.word.store(reinterpret_cast<std::uintptr_t>(entry.handler) | lap(sent_), std::memory_order_release);
    ++sent_;
    return true;
  }

  /// By the receiver. False if the ring is empty.
  bool pop(Entry& entry) noexcept {
    const std::size_t number = received_.load(std::memory_order_relaxed);
    const Slot& slot = slots_[number & mask_];
    const std::uintptr_t word = slot.word.load(std::memory_order_acquire);
    if ((word & 1) != lap(number)) return false;
    entry = {reinterpret_cast<Handler*>(word & ~std::uintptr_t{1}), slot.payload};
    received_.store(number + 1, std::memory_order_release);
    return true;
  }

  /// By the receiver.
  bool empty() const noexcept {
    const std::size_t number = received_.load(std::memory_order_relaxed);
    return (slots_[number & mask_].word.load(std::memory_order_acquire) & 1) != lap(number);
  }

 private:
  static_assert(alignof(Handler) > 1);
  struct alignas(32) Slot {
    std::atomic<std::uintptr_t> word{0};
    Payload payload;
  };

  /// The bit of an entry's lap.
  std::uintptr_t lap(std::size_t number) const noexcept { return (number & (mask_ + 1)) == 0 ? 1 : 0; }

  const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;  // written by the sender
  alignas(apart) std::size_t sent_ = 0;  // by the sender
  std::size_t seen_received_ = 0;        // by the sender; ≤ received
  alignas(apart) std::atomic<std::size_t> received_{0};  // by the receiver
};

}  // namespace taskgrain::rt
