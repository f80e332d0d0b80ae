#pragma once

/// The tasks that one worker knows of and that are not ready yet, each with the number of fulfilments that it still
/// waits for. Owned by one thread.
///
/// A hash table with linear probing. A slot is empty ⇔ its count is 0, and
///   the key in slot s has its home in h ⇒ no slot from h to s is empty (going round),
/// so a search ends at the first empty slot; what is taken out is replaced by those behind it, and leaves no trace. At
/// most a quarter of the slots are full: which way a search goes is then easily predicted.
///
/// The home of a key is the product of its word and a factor. A product lays neighbouring keys apart, where a hash that
/// looks like chance lets one in eight meet another, and the end of its search be predicted wrongly. For each factor
/// some strides of keys clump: a table that walks past many slots takes another factor. But for that, nothing is
/// allocated while no more tasks wait than ever did.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

template <typename K>
class Counters {
 public:
  Counters() : Counters(64, odd) {}
  ~Counters() { clear(); }

  /// Tasks that wait. Any thread may ask; the owner writes it.
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  /// The count of a task, null if it does not wait. Whoever makes it 0 calls `remove` with it.
  std::int32_t* find(const K& key) noexcept {
    for (Slot* slot = &slots_[home(key)];; slot = after(slot)) {
      if (slot->count == 0) return nullptr;
      if (same_key(slot->key(), key)) [[likely]]
        return &slot->count;
    }
  }

  /// \param count  as found, and made 0
  void remove(std::int32_t* count) noexcept {
    Slot* slot = reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(count) - offsetof(Slot, count));
    std::destroy_at(&slot->key());
    resize(size_.load(std::memory_order_relaxed) - 1);
    if (after(slot)->count != 0) [[unlikely]]
      close(static_cast<std::size_t>(slot - slots_.data()));
  }

  /// \pre count > 0; the key is not there
  void insert(const K& key, std::int32_t count) {
    if (size_.load(std::memory_order_relaxed) >= room_) [[unlikely]]
      make_room();
    if (const std::size_t behind = place(K(key), count); behind > long_walk) [[unlikely]]
      walked(behind);
  }

  /// Calls `body(key, count)` for each task that waits.
  template <typename Body>
  void for_each(const Body& body) const {
    for (std::size_t s = 0; s <= mask_; ++s)
      if (slots_[s].count != 0) body(slots_[s].key(), slots_[s].count);
  }

  void clear() noexcept {
    for (std::size_t s = 0; s <= mask_; ++s)
      if (std::exchange(slots_[s].count, 0) != 0) std::destroy_at(&slots_[s].key());
    resize(0);
  }

 private:
  struct alignas(sizeof(K) <= 4 ? 8 : sizeof(K) <= 12 ? 16 : 8) Slot {
    alignas(K) std::byte bytes[sizeof(K)];
    std::int32_t count = 0;

    K& key() noexcept { return *std::launder(reinterpret_cast<K*>(bytes)); }
    const K& key() const noexcept { return *std::launder(reinterpret_cast<const K*>(bytes)); }
  };

  /// Slots. With a quarter of them full, and keys laid by chance, one walk in 4000 is longer.
  static constexpr std::size_t long_walk = 8;

  Counters(std::size_t slots, std::uint64_t factor)
      : slots_(slots), mask_(slots - 1), shift_(64 - std::countr_zero(slots)), factor_(factor) {}

  std::size_t home(const K& key) const noexcept { return (word_of(key) * factor_) >> shift_; }
  std::size_t after(std::size_t s) const noexcept { return (s + 1) & mask_; }
  Slot* after(Slot* slot) noexcept { return ++slot == std::to_address(slots_.end()) ? slots_.data() : slot; }

  /// A quarter of the slots.
  static std::size_t room(std::size_t mask) noexcept { return (mask + 1) / 4; }
  void resize(std::size_t size) noexcept { size_.store(size, std::memory_order_release); }

  /// \returns how many slots it lies behind its home
  std::size_t place(K&& key, std::int32_t count) noexcept {
    Slot* slot = &slots_[home(key)];
    std::size_t behind = 0;
    for (; slot->count != 0; ++behind) slot = after(slot);
    std::construct_at(&slot->key(), std::move(key));
    slot->count = count;
    resize(size_.load(std::memory_order_relaxed) + 1);
    return behind;
  }

  /// Moves up the entries behind an empty slot that may lie there. Not inlined: callers with nothing behind the slot
  /// then save no registers.
  [[gnu::noinline]] void close(std::size_t hole) noexcept {
    const std::size_t begin = hole;
    std::size_t s = after(hole);
    for (; slots_[s].count != 0; s = after(s)) {
      // It may lie at the hole if its home is not between: hole < home ≤ s, going round.
      if (((s - home(slots_[s].key())) & mask_) < ((s - hole) & mask_)) continue;
      std::construct_at(&slots_[hole].key(), std::move(slots_[s].key()));
      std::destroy_at(&slots_[s].key());
      slots_[hole].count = std::exchange(slots_[s].count, 0);
      hole = s;
    }
    if (const std::size_t slots = (s - begin) & mask_; slots > long_walk) [[unlikely]]
      walked(slots);
  }

  /// Counts slots of a long walk. At the limit, the next insert tries another factor before it does anything else. Each
  /// trial doubles the limit, because no factor helps where the words of keys are equal.
  void walked(std::size_t slots) noexcept {
    if ((walked_ += slots) >= walk_limit_) room_ = 0;
  }

  /// Always inlined: a call costs 15 ns a task, though it is hardly ever reached.
  [[gnu::always_inline]] void make_room() {
    if (walked_ >= walk_limit_) walk_limit_ = 2 * walked_;
    if (size_.load(std::memory_order_relaxed) >= room(mask_)) return rebuild(2 * (mask_ + 1), factor_);
    room_ = room(mask_);
    try {
      rebuild(mask_ + 1, factor_ * odd * odd);  // never odd², by which keys are spread over workers
    } catch (const std::bad_alloc&) {           // slow, but right
    }
  }

  void rebuild(std::size_t slots, std::uint64_t factor) {
    Counters other(slots, factor);
    for (std::size_t s = 0; s <= mask_; ++s)
      if (slots_[s].count != 0) other.place(std::move(slots_[s].key()), slots_[s].count);
    std::swap(slots_, other.slots_);
    std::swap(mask_, other.mask_);
    std::swap(shift_, other.shift_);
    std::swap(factor_, other.factor_);
    std::swap(room_, other.room_);
  }

  std::vector<Slot, ApartAllocator<Slot>> slots_;
  std::size_t mask_;
  int shift_;
  std::uint64_t factor_;                      // odd
  std::size_t room_ = room(mask_);            // keys from which on an insert makes room
  std::size_t walked_ = 0, walk_limit_ = 64;  // slots on long walks, and at how many the factor changes
  std::atomic<std::size_t> size_{0};
};

}  // namespace taskgrain::rt::detail
