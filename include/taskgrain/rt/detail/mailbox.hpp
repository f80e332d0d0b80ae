#pragma once

/// A ring of entries from one worker to one other.
///
/// An entry takes as many slots as its payload has used words. Slot n, counted from 0 without end, lies at n mod
/// capacity, and is written ⇔ the lowest bit of its head is that of n's lap: 1 in the first, 0 in the second, 1 in the
/// third, … The head of an entry's first slot, which is written last, holds the number of its handler and that of
/// the slots that follow.
///   received ≤ sent ≤ received + capacity
/// Only the sender writes slots, and it never reads them. It caches `received`, and loads it only when the ring is full
/// by the cached value. So the cache lines that move between cores are those of the entries.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class alignas(apart) Mailbox {
 public:
  struct Release {
    void operator()(Mailbox* box) const noexcept {
      box->~Mailbox();
      ::operator delete(box, std::align_val_t(apart));
    }
  };
  using Owner = std::unique_ptr<Mailbox, Release>;

  /// Memory for `make`, untouched: its pages will be on the NUMA node of the thread that makes the mailbox.
  /// \param capacity  words of payload: a power of two of at least 4; or 0, for a mailbox that takes nothing
  /// \throws std::bad_alloc
  static void* memory(std::size_t capacity) {
    return ::operator new(sizeof(Mailbox) + capacity * sizeof(Slot), std::align_val_t(apart));
  }
  static Owner make(void* memory, std::size_t capacity, int number) noexcept {
    return Owner(new (memory) Mailbox(capacity, number));
  }

  /// The number among the receiver's mailboxes, counted from 0.
  int number() const noexcept { return number_; }

  /// Appends an entry. The sender calls it. \returns false if there is no room
  /// \param what  the payload; the receiver gets the words that it fills, and no others
  template <typename What>
    requires Payload::fits<What>
  bool push(std::uint32_t handler, const What& what) noexcept {
    constexpr std::size_t words = (sizeof(What) + 7) / 8;
    if (sent_ + words - cached_received_ > mask_ + 1) [[unlikely]] {
      cached_received_ = received_.load(std::memory_order_acquire);  // acquire: the receiver has read those payloads
      if (sent_ + words - cached_received_ > mask_ + 1) return false;
    }
    std::uint64_t payload[words] = {};
    std::memcpy(payload, &what, sizeof(What));
    for (std::size_t k = words - 1; k > 0; --k) {
      Slot& slot = slots_[(sent_ + k) & mask_];
      slot.payload = payload[k];
      slot.head.store(lap(sent_ + k), std::memory_order_relaxed);
    }
    Slot& slot = slots_[sent_ & mask_];
    slot.payload = payload[0];
    slot.head.store(std::uint64_t{handler} << 3 | (words - 1) << 1 | lap(sent_), std::memory_order_release);
    sent_ += words;
    return true;
  }

  /// Takes the oldest entry. The receiver calls it. \returns false if the ring is empty
  bool pop(Entry& entry) noexcept {
    const std::size_t number = received_.load(std::memory_order_relaxed);
    const std::uint64_t head = slots_[number & mask_].head.load(std::memory_order_acquire);
    if ((head & 1) != lap(number)) return false;
    if (number % slots_in_line == 0) __builtin_prefetch(&slots_[(number + slots_in_line) & mask_]);
    const std::size_t more = head >> 1 & 3;
    entry.handler = static_cast<std::uint32_t>(head >> 3);
    entry.payload.words[0] = slots_[number & mask_].payload;
    for (std::size_t k = 1; k <= more; ++k) entry.payload.words[k] = slots_[(number + k) & mask_].payload;
    received_.store(number + 1 + more, std::memory_order_release);
    return true;
  }

  /// True if there is no entry. The receiver calls it.
  bool empty() const noexcept {
    const std::size_t number = received_.load(std::memory_order_relaxed);
    return (slots_[number & mask_].head.load(std::memory_order_acquire) & 1) != lap(number);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> head{0};
    std::uint64_t payload = 0;
  };
  /// The slots of a cache line. With the first entry of a line the receiver prefetches the next line, where further
  /// entries may lie already.
  static constexpr std::size_t slots_in_line = 64 / sizeof(Slot);

  Mailbox(std::size_t capacity, int number) noexcept
      : mask_(capacity - 1), slots_(reinterpret_cast<Slot*>(this + 1)), number_(number) {
    std::uninitialized_default_construct_n(slots_, capacity);
  }
  ~Mailbox() = default;

  /// The bit of a slot's lap.
  std::uint64_t lap(std::size_t number) const noexcept { return (number & (mask_ + 1)) == 0 ? 1 : 0; }

  const std::size_t mask_;
  Slot* const slots_;  // behind this object; written by the sender
  const int number_;
  alignas(apart) std::size_t sent_ = 0;                  // slots, by the sender
  std::size_t cached_received_ = 0;                      // the sender's last load of received_
  alignas(apart) std::atomic<std::size_t> received_{0};  // slots, by the receiver
};

}  // namespace taskgrain::rt::detail
