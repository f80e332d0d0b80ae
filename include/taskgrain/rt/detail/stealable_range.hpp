#pragma once

/// The part of a worker's ring of ready tasks that others may steal. The tasks stay in the ring, so sharing a thousand
/// takes one store, as sharing one does.
///
/// One word describes the range: its generation, `taken` and `left`. The entries at positions first + taken, …,
/// first + taken + left − 1 are stealable. While left is 0 only the owner writes the word, and begins a range by a
/// plain store. While left is not 0, thieves and the owner change it by compare-and-swap. Taking makes `left`
/// smaller; adding entries and beginning a range make the generation larger. So no value of the word occurs twice (no
/// ABA).
///
/// A thief copies entries before its compare-and-swap, perhaps while the owner overwrites the same slots. The owner
/// does so only when they are no longer stealable. Then the word has changed since the thief read it, the
/// compare-and-swap fails, and the thief forgets its copy. The two accesses race, so slots are written and read word by
/// word, atomically.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// A view of slots for entries. A position is any number; it stands for the slot of its remainder.
class Ring {
 public:
  Ring() = default;
  /// \param slots  a power of two
  explicit Ring(std::span<Entry> slots) : slots_(slots.data()), mask_(slots.size() - 1) {}

  std::size_t capacity() const noexcept { return mask_ + 1; }

  /// Writes a slot. Only the owner writes.
  void write(std::size_t position, const Entry& entry) const noexcept {
    Entry& slot = slots_[position & mask_];
    std::atomic_ref(slot.handler).store(entry.handler, std::memory_order_relaxed);
    for (int k = 0; k < 3; ++k)
      std::atomic_ref(slot.payload.words[k]).store(entry.payload.words[k], std::memory_order_relaxed);
  }
  /// Does write(position, {handler, Payload::of(key)}), but stores only the words that the key fills.
  template <typename Key>
  void write(std::size_t position, std::uint32_t handler, const Key& key) const noexcept {
    constexpr std::size_t words = (sizeof(Key) + 7) / 8;
    std::uint64_t payload[words] = {};
    std::memcpy(payload, &key, sizeof(Key));
    Entry& slot = slots_[position & mask_];
    std::atomic_ref(slot.handler).store(handler, std::memory_order_relaxed);
    for (std::size_t k = 0; k < words; ++k)
      std::atomic_ref(slot.payload.words[k]).store(payload[k], std::memory_order_relaxed);
  }
  /// The entry at a position. The owner reads it.
  const Entry& operator[](std::size_t position) const noexcept { return slots_[position & mask_]; }
  /// A copy of the entry for a thief. It is torn if the owner writes the slot meanwhile.
  Entry copy(std::size_t position) const noexcept {
    Entry& slot = slots_[position & mask_];
    Entry entry;
    entry.handler = std::atomic_ref(slot.handler).load(std::memory_order_relaxed);
    for (int k = 0; k < 3; ++k)
      entry.payload.words[k] = std::atomic_ref(slot.payload.words[k]).load(std::memory_order_relaxed);
    return entry;
  }

 private:
  Entry* slots_ = nullptr;
  std::size_t mask_ = 0;
};

class alignas(apart) StealableRange {
 public:
  static constexpr std::size_t most = (1 << 12) - 1;  ///< entries of one range
  static constexpr std::size_t most_stolen = 64;      ///< at once
  /// Entries that the owner has taken back: those at positions begin, …, begin + number − 1.
  struct Section {
    std::size_t begin, number;
  };

  // -- by the owner

  /// \param ring     from which thieves read from now on; a former one may go when no thief can be reading any more
  void use(const Ring& ring) noexcept { ring_.store(&ring, std::memory_order_release); }
  /// Begins a new range.
  /// \param each_alone  whether they are to be taken one by one
  /// \pre nothing is left of the last range; 1 ≤ number ≤ most
  void make(std::size_t first, std::size_t number, bool each_alone = false) noexcept {
    first_.store(first, std::memory_order_relaxed);
    const std::uint64_t last = word_.load(std::memory_order_relaxed);
    word_.store(((last >> generation_at) + 1) << generation_at | std::uint64_t{each_alone} << alone_at | number,
                std::memory_order_release);
  }
  /// Adds the next `number` entries to the range. False if nothing is left of it, or it would be too long.
  bool add(std::size_t number) noexcept {
    for (std::uint64_t word = word_.load(std::memory_order_acquire);
         left_of(word) > 0 && taken_of(word) + left_of(word) + number <= most;)
      if (word_.compare_exchange_weak(word, word + (std::uint64_t{1} << generation_at) + number,
                                      std::memory_order_acq_rel, std::memory_order_acquire))
        return true;
    return false;
  }
  /// Takes some of the newest entries, or of the oldest. None if nothing is left.
  Section take_back(bool newest, int parts) noexcept {
    for (std::uint64_t word = word_.load(std::memory_order_acquire); left_of(word) > 0;) {
      const std::size_t number = portion(word, parts, most);
      const std::uint64_t rest = newest ? word - number : without_oldest(word, number);
      if (word_.compare_exchange_weak(word, rest, std::memory_order_acq_rel, std::memory_order_acquire))
        return {first_.load(std::memory_order_relaxed) + taken_of(word) + (newest ? left_of(rest) : 0), number};
    }
    return {0, 0};
  }
  /// The first position that thieves may still read.
  std::size_t begin() const noexcept {
    return first_.load(std::memory_order_relaxed) + taken_of(word_.load(std::memory_order_acquire));
  }
  /// True if a push to this position must take the slow path: there is no room, or a thief has requested tasks.
  bool must_check(std::size_t position) const noexcept { return position >= check_at_.load(std::memory_order_relaxed); }
  bool requested() const noexcept { return check_at_.load(std::memory_order_relaxed) == 0; }
  /// Sets the position at which the ring is full, and answers the requests so far.
  void check_at(std::size_t position) noexcept { check_at_.store(position, std::memory_order_relaxed); }

  // -- by anyone

  /// The number of entries that are stealable. For the owner, 0 is final until it shares again.
  std::size_t left() const noexcept { return left_of(word_.load(std::memory_order_acquire)); }
  /// Makes the owner share what it has with its next push. The owner's store may overwrite a request, so repeat it.
  void request() noexcept {
    if (!requested()) check_at_.store(0, std::memory_order_relaxed);
  }
  /// Copies some of the oldest entries to `into`, from `position` on, which has room for most_stolen.
  /// \returns how many; 0 if nothing is left or somebody was quicker
  std::size_t steal(const Ring& into, std::size_t position, int parts) noexcept {
    std::uint64_t word = word_.load(std::memory_order_acquire);
    if (left_of(word) == 0) return 0;
    const Ring& ring = *ring_.load(std::memory_order_acquire);
    const std::size_t number = portion(word, parts, most_stolen);
    const std::size_t begin = first_.load(std::memory_order_relaxed) + taken_of(word);
    for (std::size_t k = 0; k < number; ++k) into.write(position + k, ring.copy(begin + k));
    // Release: the owner overwrites these slots after it has seen this store, and our copies must come before that. No
    // acquire: the first load was one.
    return word_.compare_exchange_strong(word, without_oldest(word, number), std::memory_order_release,
                                         std::memory_order_relaxed)
               ? number
               : 0;
  }

 private:
  // The word: left in 12 bits, taken in 12, whether each is taken alone in 1, and the generation in 39.
  static constexpr int taken_at = 12, alone_at = 24, generation_at = 25;
  static std::size_t left_of(std::uint64_t word) noexcept { return word & most; }
  static std::size_t taken_of(std::uint64_t word) noexcept { return word >> taken_at & most; }
  static std::uint64_t without_oldest(std::uint64_t word, std::size_t number) noexcept {
    return word + (std::uint64_t{number} << taken_at) - number;
  }
  /// The number of entries that one takes at once: 1 / 2^parts of all, so many that few come back for more, and so few
  /// that all get something (guided self-scheduling: Polychronopoulos and Kuck 1987).
  static std::size_t portion(std::uint64_t word, int parts, std::size_t at_most) noexcept {
    if ((word >> alone_at & 1) != 0) return 1;
    return std::min((left_of(word) + (std::size_t{1} << parts) - 1) >> parts, at_most);
  }

  // One cache line. The owner reads it with every task; thieves read it and seldom write the first and the last.
  std::atomic<std::uint64_t> word_{0};  // the owner and thieves change it, as above
  std::atomic<std::size_t> first_{0};   // the owner writes it while nothing is left
  std::atomic<const Ring*> ring_{
      nullptr};  // the owner writes it; a new ring holds all entries that were stealable when it was made
  std::atomic<std::size_t> check_at_{0};  // the owner writes it, thieves 0; a push at or after this position checks
};

}  // namespace taskgrain::rt::detail
