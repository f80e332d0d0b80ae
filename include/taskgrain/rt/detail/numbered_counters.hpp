#pragma once

/// Counters for keys that have numbers. The numbers of the tasks that wait at a time are mostly consecutive. One thread
/// owns them.
///
/// The slot of a key is its number, modulo the slots: no hash, no search. A key whose slot is taken is in a table of
/// Counters instead. If that happens while an eighth of the slots are taken or more, their number is doubled.
///   key waits ⇔ (its slot holds it and has a count > 0) or the table holds it, never both

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/counters.hpp"
#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// \tparam Tasks  has the numbers of keys
template <typename K, typename Tasks>
class NumberedCounters {
  static_assert(std::is_trivially_destructible_v<K> && std::is_default_constructible_v<K>,
                "a key that has a number must be plain data");

 private:
  struct alignas(sizeof(K) <= 4 ? 8 : sizeof(K) <= 12 ? 16 : 8) Slot {
    K key{};
    std::int32_t count = 0;
  };

 public:
  /// The place of the slots, until the next key is inserted.
  struct Slots {
    Slot* first;
    std::size_t mask;

    Slot& at(std::size_t number) const noexcept { return first[number & mask]; }
  };
  Slots slots() noexcept { return {slots_.data(), mask_}; }

  // -- what is mostly so: a key with its own slot

  /// Counts down if the slot holds the key, and it waits for more than one fulfilment. \returns whether it did
  static bool count_down(Slot& slot, const K& key) noexcept {
    if (slot.count <= 1 || !same_key(slot.key, key)) return false;
    --slot.count;
    return true;
  }
  /// True if the slot holds the key, and it waits for one fulfilment. Then `take_out` may take it out.
  static bool waits_for_one(const Slot& slot, const K& key) noexcept {
    return slot.count == 1 && same_key(slot.key, key);
  }
  void take_out(Slot& slot) noexcept {
    slot.count = 0;
    resize(size_.load(std::memory_order_relaxed) - 1);
  }
  /// True if no key whose slot this is waits. Then `fill` may put one there.
  bool is_free(const Slot& slot) const noexcept { return slot.count == 0 && others_.size() == 0; }
  /// \pre count > 0
  void fill(Slot& slot, const K& key, std::int32_t count) noexcept {
    slot.key = key;
    slot.count = count;
    resize(size_.load(std::memory_order_relaxed) + 1);
  }

  // -- for any key

  /// Sets the tasks that number the keys. Called before all else.
  void number_by(const Tasks& tasks) noexcept { tasks_ = &tasks; }

  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  std::int32_t* find(const K& key) noexcept {
    Slot& slot = slot_of(key);
    if (slot.count != 0 && same_key(slot.key, key)) [[likely]]
      return &slot.count;
    return others_.size() == 0 ? nullptr : others_.find(key);
  }

  /// \param count  as found, and made 0
  void remove(std::int32_t* count) noexcept {
    resize(size_.load(std::memory_order_relaxed) - 1);
    if (!is_slot(count)) [[unlikely]]
      others_.remove(count);
  }

  /// \pre count > 0; the key is not there
  void insert(const K& key, std::int32_t count) {
    Slot& slot = slot_of(key);
    if (slot.count != 0) [[unlikely]]
      return insert_slowly(key, count);
    fill(slot, key, count);
  }

  /// Calls `body(key, count)` for each task that waits.
  template <typename Body>
  void for_each(const Body& body) const {
    for (const Slot& slot : slots_)
      if (slot.count != 0) body(slot.key, slot.count);
    others_.for_each(body);
  }

  void clear() noexcept {
    for (Slot& slot : slots_) slot.count = 0;
    others_.clear();
    resize(0);
  }

 private:
  Slot& slot_of(const K& key) noexcept { return slots_[static_cast<std::size_t>(tasks_->number(key)) & mask_]; }
  bool is_slot(const std::int32_t* count) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(slots_.data());
    return reinterpret_cast<std::uintptr_t>(count) - first < slots_.size() * sizeof(Slot);
  }
  void resize(std::size_t size) noexcept { size_.store(size, std::memory_order_release); }

  [[gnu::noinline]] void insert_slowly(const K& key, std::int32_t count) {
    if (constexpr std::size_t sparse = 8; slots_.size() < sparse * size_.load(std::memory_order_relaxed)) {
      grow();
      if (slot_of(key).count == 0) return insert(key, count);
    }
    others_.insert(key, count);
    resize(size_.load(std::memory_order_relaxed) + 1);
  }
  /// Doubles the slots. Keys that had a slot each still have one.
  void grow() {
    std::vector<Slot, ApartAllocator<Slot>> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.count != 0) slot_of(slot.key) = slot;
  }

  const Tasks* tasks_ = nullptr;
  std::vector<Slot, ApartAllocator<Slot>> slots_ = std::vector<Slot, ApartAllocator<Slot>>(64);
  std::size_t mask_ = slots_.size() - 1;
  Counters<K> others_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace taskgrain::rt::detail
