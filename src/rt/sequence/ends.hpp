#pragma once

/// The tasks of a window that have ended, and the tasks that wait for those that have not.
///
/// A task waits at one of those that it comes after: the last one that has not ended. The worker that ends that one
/// looks at the others for it, and lets it wait at the next, or finds that it is ready. So nothing is counted, and most
/// tasks are put into a list once, however many they come after.
///
/// Each place of the window has a word, of task n that was given there last:
///   {n, open, w}  n has not ended; w, its `next`, the `next` of that, … wait for it
///   {n, ended}    n has ended
/// A place is given again only after that, so n has ended ⇔ the word of its place is not {n, open, …}. The word has n
/// mod 2^31, which is enough: a thread that asks about k for a task keeps that task's place, so k's place is at k or at
/// k + size, and size is less than 2^31.
///
/// These write the word: the thread that gives tasks (`open`), a thread that lets a task wait (`wait`), and the one
/// that ends the task (`end`). The word names its task, so nobody waits at one that has got the place meanwhile. Each
/// of them passes on what it has seen, so all that a task comes after happens before it.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class Ends {
 public:
  static constexpr std::size_t most = std::size_t{1} << 30;

  /// The tasks that a task comes after, and the place where it is queued then. The thread that gives the task writes
  /// it; then the thread that has taken the task from the list it waits in. A cache line has four, and a thread that
  /// ends a task needs nothing else of those that wait for it.
  struct Before {
    std::uint64_t near = 0;    // bit k: the task given k tasks before it, if it may not have ended
    std::uint32_t next = 0;    // the place, from 1, of another task that waits where it does; 0: there is none
    std::uint16_t worker = 0;  // its own
    bool ranked = false;       // whether it has a priority
    bool any_far = false;      // there may be tasks further back
  };
  static_assert(sizeof(Before) == 16);

  /// \param size  of the window, a power of two of at most `most`
  explicit Ends(std::size_t size) : mask_(size - 1), words_(size), before_(size), far_(size) {
    for (auto& word : words_) word.store(tag_ended, std::memory_order_relaxed);
  }

  Before& before(std::uint64_t number) noexcept { return before_[number & mask_]; }
  /// Numbers of tasks further back than `near` reaches. It keeps its memory for the next task.
  std::vector<std::uint64_t>& far(std::uint64_t number) noexcept { return far_[number & mask_]; }

  // -- by the thread that gives tasks

  /// A task is given. \pre the one that had its place has ended
  void open(std::uint64_t number) noexcept { at(number).store(tag(number), std::memory_order_release); }
  /// \pre no task waits, and none is given after it, or all are dropped
  void drop(std::uint64_t number) noexcept { at(number).store(tag(number) | tag_ended, std::memory_order_release); }

  // -- by any thread

  /// \pre it was given, and less than two windows ago
  bool ended(std::uint64_t number) const noexcept {
    return (words_[number & mask_].load(std::memory_order_acquire) & tag_mask) != tag(number);
  }
  /// True if all that a task comes after has ended. If not, it waits, and belongs to the thread that ends what it waits
  /// for. It is always inlined: a call costs each task about 10 instructions, and the compiler's own choice depends on
  /// the rest of the unit.
  [[gnu::always_inline]] bool all_ended(std::uint64_t number) noexcept {
    Before& task = before(number);
    std::atomic<std::uint64_t>* const words = words_.data();  // in a register: an acquiring load would read it again
    const std::uint64_t mask = mask_;
    for (std::uint64_t near = task.near; near != 0;) {
      const std::uint64_t other = number - static_cast<unsigned>(std::countr_zero(near));
      near &= near - 1;
      if (wait(words[other & mask], other, task, near, number)) return false;
    }
    while (task.any_far) {
      auto& far = this->far(number);
      const std::uint64_t other = far.back();
      far.pop_back();
      task.any_far = !far.empty();
      if (wait(at(other), other, task, 0, number)) return false;
    }
    return true;
  }
  /// Ends a task, whose place may then be given again. Calls `ready(number)` for each task that waits no more.
  /// \param newest_first  in which order
  template <typename Ready>
  void end(std::uint64_t number, const Ready& ready, bool newest_first) {
    const auto number_of = [&](std::uint32_t place) { return number + ((place - 1 - number) & mask_); };
    auto last = static_cast<std::uint32_t>(at(number).exchange(tag(number) | tag_ended, std::memory_order_acq_rel));
    // Those that came first go first. Where they wait next, they are in the same order again; else each task that ends
    // would turn it round, and tasks run in the order in which those after them wait longest.
    std::uint32_t next = 0, all_ready = 0;
    while (last != 0) last = std::exchange(before_[last - 1].next, std::exchange(next, last));
    while (next != 0) {
      const std::uint32_t place = next;
      next = before_[place - 1].next;  // before it can wait elsewhere, or run and end
      if (!all_ended(number_of(place))) continue;
      if (newest_first)
        before_[place - 1].next = std::exchange(all_ready, place);
      else
        ready(number_of(place));
    }
    while (all_ready != 0) {
      const std::uint32_t place = all_ready;
      all_ready = before_[place - 1].next;
      ready(number_of(place));
    }
  }

 private:
  // A word: the number, a bit that is set if it has ended, and a place from 1 that waits.
  static constexpr std::uint64_t tag_ended = std::uint64_t{1} << 32, tag_mask = ~(tag_ended - 1);
  static constexpr std::uint64_t tag(std::uint64_t number) noexcept { return number << 33; }

  std::atomic<std::uint64_t>& at(std::uint64_t number) noexcept { return words_[number & mask_]; }
  /// \pre as of `ended`
  /// \param number  of the task to wait for, which has this word
  /// \param near    what is left to look at when that has ended
  bool wait(std::atomic<std::uint64_t>& word, std::uint64_t number, Before& task, std::uint64_t near,
            std::uint64_t own) noexcept {
    std::uint64_t now = word.load(std::memory_order_acquire);
    while ((now & tag_mask) == tag(number)) {
      task.near = near;
      task.next = static_cast<std::uint32_t>(now);
      const std::uint64_t waits = tag(number) | ((own & mask_) + 1);
      if (word.compare_exchange_weak(now, waits, std::memory_order_release, std::memory_order_acquire)) return true;
    }
    return false;
  }

  const std::size_t mask_;
  // By place:
  std::vector<std::atomic<std::uint64_t>, ApartAllocator<std::atomic<std::uint64_t>>> words_;
  std::vector<Before, ApartAllocator<Before>> before_;
  std::vector<std::vector<std::uint64_t>> far_;
};

}  // namespace taskgrain::rt::detail
