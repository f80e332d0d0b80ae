#pragma once

/// A ring of entries from one worker to one other.
///
/// An entry takes as many slots as its payload has used words. Slot n, counted from 0 without end, lies at n mod
/// capacity, and is written ⇔ the lowest bit of its head is that of n's lap: 1 in the first, 0 in the second, 1 in the
/// third, … The head of an entry's first slot, which is written last, holds the address of its handler (whose lowest
/// bits are free) and the number of slots that follow.
///   received ≤ sent ≤ received + capacity
/// The sender alone writes slots, and never reads them; it looks at `received` only when, as far as it knows, the ring
/// is full. So Only the cache lines with the entries move between the cores; nothing moves back.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class Mailbox {
 public:
  /// \param capacity  words of payload, a power of two of at least 4
  explicit Mailbox(std::size_t capacity) : mask_(capacity - 1), slots_(capacity) {}

  /// By the sender. False if there is no room.
  /// \param words  of the payload, 1 to 3; the receiver gets no others
  bool push(const Entry& entry, std::size_t words = 3) noexcept {
    if (sent_ + words - seen_received_ > mask_ + 1) [[unlikely]] {
      seen_received_ = received_.load(std::memory_order_acquire);  // acquire: the receiver has read those payloads
      if (sent_ + words - seen_received_ > mask_ + 1) return false;
    }
    for (std::size_t k = words - 1; k > 0; --k) {
      Slot& slot = slots_[(sent_ + k) & mask_];
      slot.payload = entry.payload.words[k];
      slot.head.store(lap(sent_ + k), std::memory_order_relaxed);
    }
    Slot& slot = slots_[sent_ & mask_];
    slot.payload = entry.payload.words[0];
    slot.head.store(reinterpret_cast<std::uintptr_t>(entry.handler) | (words - 1) << 1 | lap(sent_),
                    std::memory_order_release);
    sent_ += words;
    return true;
  }

  /// By the receiver. False if the ring is empty.
  bool pop(Entry& entry) noexcept {
    const std::size_t number = received_.load(std::memory_order_relaxed);
    const std::uintptr_t head = slots_[number & mask_].head.load(std::memory_order_acquire);
    if ((head & 1) != lap(number)) return false;
    const std::size_t more = head >> 1 & 3;
    entry.handler = reinterpret_cast<Handler*>(head & ~std::uintptr_t{7});
    entry.payload.words[0] = slots_[number & mask_].payload;
    for (std::size_t k = 1; k <= more; ++k) entry.payload.words[k] = slots_[(number + k) & mask_].payload;
    received_.store(number + 1 + more, std::memory_order_release);
    return true;
  }

  /// By the receiver.
  bool empty() const noexcept {
    const std::size_t number = received_.load(std::memory_order_relaxed);
    return (slots_[number & mask_].head.load(std::memory_order_acquire) & 1) != lap(number);
  }

 private:
  static_assert(alignof(Handler) >= 8);
  struct Slot {
    std::atomic<std::uintptr_t> head{0};
    std::uint64_t payload = 0;
  };

  /// The bit of a slot's lap.
  std::uintptr_t lap(std::size_t number) const noexcept { return (number & (mask_ + 1)) == 0 ? 1 : 0; }

  const std::size_t mask_;
  std::vector<Slot, ApartAllocator<Slot>> slots_;        // written by the sender
  alignas(apart) std::size_t sent_ = 0;                  // slots, by the sender
  std::size_t seen_received_ = 0;                        // by the sender; ≤ received
  alignas(apart) std::atomic<std::size_t> received_{0};  // slots, by the receiver
};

}  // namespace taskgrain::rt::detail
