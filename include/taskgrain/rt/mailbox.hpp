#pragma once

/// A ring of entries from one worker to one other.
///
/// Slot s is full ⇔ s.handler ≠ null. The sender alone turns empty slots into full ones, the receiver alone full ones into empty
/// ones, both in the order of the ring; so neither reads an index of the other, and an entry crosses the cores in the one cache
/// line that holds it.

#include <atomic>
#include <cstddef>
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
    Slot& slot = slots_[sent_ & mask_];
    if (slot.handler.load(std::memory_order_acquire) != nullptr) return false;  // acquire: the receiver has read the payload
    for (int k = 0; k < 3; ++k) slot.payload.words[k] = entry.payload.words[k];
    slot.handler.store(entry.handler, std::memory_order_release);
    ++sent_;
    return true;
  }

  /// By the receiver. False if the ring is empty.
  bool pop(Entry& entry) noexcept {
    Slot& slot = slots_[received_ & mask_];
    Handler* handler = slot.handler.load(std::memory_order_acquire);
    if (handler == nullptr) return false;
    entry = {handler, slot.payload};
    slot.handler.store(nullptr, std::memory_order_release);
    ++received_;
    return true;
  }

  /// By the receiver.
  bool empty() const noexcept { return slots_[received_ & mask_].handler.load(std::memory_order_acquire) == nullptr; }

 private:
  struct alignas(32) Slot {
    std::atomic<Handler*> handler{nullptr};
    Payload payload;  // of whoever may change handler
  };

  const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  alignas(apart) std::size_t sent_ = 0;      // written by the sender
  alignas(apart) std::size_t received_ = 0;  // written by the receiver
};

}  // namespace taskgrain::rt
