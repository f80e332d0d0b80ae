#pragma once

/// The branches that a worker has put beside what it runs, the newest last. It takes them back from the end; others
/// steal from the front, where the largest are. A split deque (van Dijk and van de Pol, Lace, Euro-Par 2014 workshops).
///
/// Branches at places tail, …, split − 1 are stealable, those at split, …, head − 1 are the owner's alone:
///   0 ≤ tail ≤ split ≤ head ≤ capacity; what lies below tail was stolen
/// To push and to pop takes the owner no atomic operation on shared memory: it moves the split only when a thief has
/// asked for that, or when it has nothing left beyond it. Tail, split and an era are one word, which both sides change
/// by one atomic operation. While tail < split both may; while tail = split the owner alone, as a thief's
/// compare-and-swap expects tail < split. A thief reads a branch after it has taken it, and the owner does not use the
/// place again before that branch has ended; so it does no harm if the word has had the same value before (ABA).
///
/// An era ends when its owner has run a branch that it had stolen: what is stealable in one era is part of one branch.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class Worker;

/// A call that may run on another worker, on the stack of the one that forked it.
class Branch {
 public:
  /// Runs it; keeps what it returns or throws.
  using Run = void (*)(Branch&) noexcept;

  explicit Branch(Run how) noexcept : run_(how) {}

  void run() noexcept { run_(*this); }

  // -- by its thief

  void begin(Worker& thief) noexcept {
    state_.store(reinterpret_cast<std::uintptr_t>(&thief), std::memory_order_release);
  }
  /// It may be gone afterwards. \returns whether its owner sleeps until this
  bool end() noexcept { return (state_.exchange(ended_word, std::memory_order_acq_rel) & awaited) != 0; }

  // -- by its owner

  /// It ran here.
  void end_here() noexcept { state_.store(ended_word, std::memory_order_relaxed); }
  bool ended() const noexcept { return state_.load(std::memory_order_acquire) == ended_word; }
  /// Whoever runs it; null if that is not known yet, or it has ended.
  Worker* thief() const noexcept {
    const std::uintptr_t state = state_.load(std::memory_order_acquire);
    return state == ended_word ? nullptr : reinterpret_cast<Worker*>(state & ~awaited);
  }
  /// Asks to be woken at its end. \returns whether that is still to come
  bool await() noexcept {
    std::uintptr_t state = state_.load(std::memory_order_relaxed);
    return state > awaited && ((state & awaited) != 0 ||
                               state_.compare_exchange_strong(state, state | awaited, std::memory_order_relaxed));
  }

  static constexpr std::uint32_t nowhere = UINT32_MAX - 1;  // nothing has this size, or one less
  /// The place in the deque of its owner, while it is there. The owner writes it, and not while others can see the
  /// branch.
  std::uint32_t place_ = nowhere;

 private:
  static constexpr std::uintptr_t ended_word = 1, awaited = 2;

  const Run run_;
  // 0; then the thief stores its address, and the owner may add the bit `awaited`; the worker that has run it stores
  // ended_word.
  std::atomic<std::uintptr_t> state_{0};
};

class alignas(apart) SplitDeque {
 public:
  static constexpr std::uint32_t capacity = 1 << 15;

  // -- by the owner

  /// \returns false where there is no room
  bool push(Branch& branch) noexcept {
    if (head_ == room_) [[unlikely]]
      if (!make_room()) return false;
    branch.place_ = head_;
    branches_[head_++] = &branch;
    return true;
  }
  /// Takes the newest branch out; null where it was stolen. \pre size() > 0
  Branch* pop() noexcept {
    if (head_ == split_ && !take_back()) [[unlikely]]
      return nullptr;
    return branches_[--head_];
  }
  std::uint32_t size() const noexcept { return head_; }
  /// True if thieves have asked, and there is something for them.
  bool must_share() const noexcept { return wanted() && head_ > split_; }
  /// True if thieves have asked, and not as many have been answered as there may be.
  bool wanted() const noexcept { return requested() || answers_ > 0; }
  /// Lets others steal half of what they cannot yet.
  /// \param more_answers  how often it will do so again without being asked: all who have asked look at one flag
  void share(std::uint32_t more_answers) noexcept {
    answers_ = requested() ? more_answers : answers_ > 0 ? answers_ - 1 : 0;
    requested_.store(false, std::memory_order_relaxed);
    shared_ = true;
    const std::uint32_t more = (head_ - split_ + 1) / 2;
    split_ += more;
    range_.fetch_add(more, std::memory_order_release);
  }
  /// Forgets requests: the thieves that have asked got something else.
  void answer() noexcept {
    answers_ = 0;
    if (requested()) requested_.store(false, std::memory_order_relaxed);
  }
  /// The newest, which was stolen.
  Branch& newest() noexcept { return *branches_[head_ - 1]; }
  /// Forgets the newest. \pre it was stolen, and has ended
  void drop() noexcept {
    split_ = --head_;
    range_.store((range_.load(std::memory_order_relaxed) & ~std::uint64_t{UINT32_MAX}) | head_ << tail_at | head_,
                 std::memory_order_relaxed);
  }
  /// It has run a branch of another, and is about to say so. \pre tail = split
  void end_era() noexcept {
    if (!std::exchange(shared_, false)) return;  // nobody has seen anything in this era that a later one could repeat
    range_.fetch_add(std::uint64_t{1} << era_at, std::memory_order_release);
  }

  // -- by thieves

  bool any() const noexcept {
    const std::uint64_t range = range_.load(std::memory_order_relaxed);
    return tail(range) != split(range);
  }
  /// Takes the oldest; null if there is none, or somebody was quicker.
  /// \param may  asked after a look at the range: whether it may take a branch of that era
  template <typename May>
  Branch* steal(const May& may) noexcept {
    std::uint64_t range = range_.load(std::memory_order_acquire);
    if (tail(range) == split(range) || !may() ||
        !range_.compare_exchange_strong(range, range + (std::uint64_t{1} << tail_at), std::memory_order_acquire,
                                        std::memory_order_relaxed))
      return nullptr;
    return branches_[tail(range)];
  }
  Branch* steal() noexcept {
    return steal([] { return true; });
  }
  /// Asks for something to steal. The owner's answer to another thief may overwrite it, so repeat it.
  void request() noexcept {
    if (!requested()) requested_.store(true, std::memory_order_relaxed);
  }

 private:
  // The word: split in 16 bits, tail in 16, the era in 32.
  static constexpr int tail_at = 16, era_at = 32;
  static_assert(capacity < 1 << tail_at);
  static std::uint32_t tail(std::uint64_t range) noexcept { return static_cast<std::uint16_t>(range >> tail_at); }
  static std::uint32_t split(std::uint64_t range) noexcept { return static_cast<std::uint16_t>(range); }

  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

  [[gnu::noinline]] bool make_room() noexcept {
    if (room_ != 0) return false;
    branches_.reset(new (std::nothrow) Branch*[capacity]);
    if (branches_) room_ = capacity;
    return branches_ != nullptr;
  }
  /// Takes back half of what is stealable. \returns false if there is nothing
  [[gnu::noinline]] bool take_back() noexcept {
    for (std::uint64_t range = range_.load(std::memory_order_relaxed); tail(range) != split_;) {
      const std::uint32_t kept = (split_ - tail(range)) / 2, back = split_ - tail(range) - kept;
      if (!range_.compare_exchange_weak(range, range - back, std::memory_order_relaxed)) continue;
      split_ -= back;
      return true;
    }
    return false;
  }

  // The owner writes these; thieves read the pointer, once something is shared.
  std::unique_ptr<Branch*[]> branches_;
  std::uint32_t head_ = 0, split_ = 0, room_ = 0;
  std::uint32_t answers_ = 0;                           // how often it shares without being asked
  bool shared_ = false;                                 // something, in this era
  alignas(apart) std::atomic<std::uint64_t> range_{0};  // the owner and thieves change it, as above
  std::atomic<bool> requested_{false};                  // thieves set it, the owner clears it
};

}  // namespace taskgrain::rt::detail
