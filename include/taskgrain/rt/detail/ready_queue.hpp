#pragma once

/// The ready tasks of one worker, by priority, and within a priority in the order that the options choose.
///
/// Tasks of priority 0 lie in a ring, others in a heap. The ring has up to three sections, oldest first:
///   front  [front_, front_end_)   the owner's next tasks with the oldest first; empty with the newest first
///   range                         what thieves may take (stealable_range.hpp)
///   back   [back_, back_end_)     what was pushed last
/// Slots before the range, and those that were stolen, are free. A slot is written again only when all older ones are
/// free. With one worker the range stays empty.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/stealable_range.hpp"
#include "taskgrain/rt/options.hpp"

namespace taskgrain::rt::detail {

class ReadyQueue {
 public:
  /// \param workers  that share the tasks: with 1, nothing is ever shared
  explicit ReadyQueue(Order order = Order::newest, int workers = 1)
      : oldest_first_(order == Order::oldest), thieves_(workers - 1),
        parts_(static_cast<int>(std::bit_width(static_cast<unsigned>(2 * workers - 1)))) {
    rings_.push_back(std::make_unique<Memory>(StealableRange::most_stolen));
    ring_ = rings_.back()->ring;
    range_.check_at(ring_.capacity());
  }

  bool empty() const noexcept {
    return back_ == back_end_ && front_ == front_end_ && range_.left() == 0 && (plain_ || heap_.empty());
  }
  /// The number of tasks, with those that are stealable.
  std::size_t size() const noexcept { return back_end_ - back_ + front_end_ - front_ + heap_.size() + range_.left(); }
  /// Priority of the task that pop would return, if no thief is quicker; 0 if the queue is empty.
  int priority() const noexcept {
    const bool heap = heap_first();
    const int own = heap ? heap_.front().priority : 0;
    if (!range_of_ranked()) [[likely]]
      return own;
    return heap || plain_left() ? std::max(own, range_priorities_.back()) : range_priorities_.back();
  }

  /// True if a push must be the slow one: there is no room, or a thief has requested tasks.
  bool must_check() const noexcept { return range_.must_check(back_end_); }
  /// \pre !must_check()
  void push(const Entry& task) noexcept { ring_.write(back_end_++, task); }
  /// Does push({handler, Payload::of(key)}), but stores only the words that the key fills.
  template <typename Key>
  void push(std::uint32_t handler, const Key& key) noexcept {
    ring_.write(back_end_++, handler, key);
  }
  /// \returns whether a thief has requested tasks
  bool push_slowly(const Entry& task, int priority = 0) {
    const bool requested = range_.requested();
    const std::size_t first = first_in_use();
    if (back_end_ - first == ring_.capacity()) grow(first);
    if (requested && answers_ == 0) answers_ = thieves_;  // every thief may have requested
    if (!requested || --answers_ == 0) range_.check_at(first + ring_.capacity());
    if (priority == 0) {
      push(task);
    } else {
      if (!ranked_ring_ && thieves_ > 0) {  // here, where it may fail
        range_priorities_.reserve(most_ranked);
        ranked_ring_ = std::make_unique<Memory>(most_ranked);
      }
      plain_ = false;
      heap_.push_back({priority, order_++, task});
      std::push_heap(heap_.begin(), heap_.end());
    }
    return requested;
  }

  /// Forgets that some task had a priority. \pre the queue is empty
  void forget_priorities() noexcept {
    plain_ = true;
    range_priorities_.clear();
  }

  /// The next task; null if there is none or a thief was quicker. The task is there until the next push.
  /// \pre all tasks have priority 0
  [[gnu::always_inline]] const Entry* pop_plain() noexcept {
    if (oldest_first_) return pop_oldest();
    if (back_ == back_end_) [[unlikely]] {
      back_ -= range_.take_back(true, parts_).number;
      if (back_ == back_end_) return nullptr;
    }
    return &ring_[--back_end_];
  }
  /// Takes out the last task that was pushed. \returns false if it is not this one, or not the owner's alone any more
  bool take_back(const Entry& task) noexcept {
    if (back_ == back_end_ || ring_[back_end_ - 1] != task) return false;
    --back_end_;
    return true;
  }
  /// The next task of the highest priority; of a priority other than 0, the oldest. Null if there is none or a thief
  /// was quicker. The task is there until the next push or pop.
  const Entry* pop() { return plain_ ? pop_plain() : pop_ranked(); }

  // -- sharing

  /// True if the tasks that are not stealable yet are enough to be worth a store. Fewer are no loss: while the owner
  /// runs a long task, thieves find many more than these. Tasks at the front are never shared.
  bool can_share() const noexcept {
    if (thieves_ == 0) return false;
    const std::size_t number = back_end_ - back_, left = range_.left();
    if (plain_) [[likely]]
      return number > 0 && 4 * number >= left;
    return left == 0 && (number > 0 || !heap_.empty());
  }
  /// True if there is any task to share beside the stealable ones, worth it or not.
  bool any_to_share() const noexcept { return plain_ ? thieves_ > 0 && back_ != back_end_ : can_share(); }
  /// Shares tasks: all of priority 0 if there are no others, else some of the highest priorities.
  /// \pre any_to_share
  void share() noexcept {
    if (plain_)
      share_plain();
    else
      share_ranked();
  }
  /// Takes tasks from another queue. A thief calls it of its own queue.
  /// \returns how many
  /// \pre this queue is empty
  std::size_t steal(ReadyQueue& victim) noexcept {
    const std::size_t number = victim.range_.steal(ring_, back_end_, parts_);
    back_end_ += number;
    return number;
  }
  /// The range that thieves steal from.
  StealableRange& range() noexcept { return range_; }
  const StealableRange& range() const noexcept { return range_; }

 private:
  struct Ranked {
    int priority;
    std::uint64_t order;
    Entry task;
    bool operator<(const Ranked& other) const noexcept {
      return priority != other.priority ? priority < other.priority : order > other.order;
    }
  };
  struct Memory {
    explicit Memory(std::size_t capacity) : slots(capacity), ring(slots) {}
    std::vector<Entry, ApartAllocator<Entry>> slots;
    const Ring ring;
  };
  static constexpr std::size_t most_ranked = 32;  // of one range

  bool range_of_ranked() const noexcept { return !range_priorities_.empty() && range_.left() > 0; }
  /// True if there is a task of priority 0.
  bool plain_left() const noexcept {
    return back_ != back_end_ || front_ != front_end_ || (range_priorities_.empty() && range_.left() > 0);
  }
  bool heap_first() const noexcept { return !heap_.empty() && (heap_.front().priority > 0 || !plain_left()); }
  [[gnu::noinline]] const Entry* pop_ranked() {
    if (range_of_ranked()) {
      const bool own = heap_first() || plain_left();
      if (!own || range_priorities_.back() > (heap_first() ? heap_.front().priority : 0))
        if (const auto [at, number] = range_.take_back(true, parts_); number > 0) {
          range_priorities_.pop_back();
          popped_ = ranked_ring_->ring[at];
          return &popped_;
        }
    }
    if (range_.left() == 0) range_priorities_.clear();
    if (!heap_first() && plain_left())
      if (const Entry* task = pop_plain()) return task;
    if (heap_.empty()) {
      plain_ = range_priorities_.empty();
      return nullptr;
    }
    popped_ = pop_heap();
    return &popped_;
  }
  Entry pop_heap() noexcept {
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry task = heap_.back().task;
    heap_.pop_back();
    return task;
  }
  const Entry* pop_oldest() noexcept {
    if (front_ == front_end_ && !refill()) [[unlikely]]
      return nullptr;
    return &ring_[front_++];
  }
  [[gnu::noinline]] bool refill() noexcept {
    std::size_t number = back_end_ - back_;
    if (thieves_ > 0) {
      if (range_priorities_.empty()) {
        if (number > 1 && range_.left() == 0) share_plain();
        if (const auto [begin, taken] = range_.take_back(false, parts_); taken > 0) {
          front_ = begin;
          front_end_ = begin + taken;
          return true;
        }
      }
      number = std::min<std::size_t>(1, back_end_ - back_);
    }
    front_ = back_;
    front_end_ = back_ += number;
    return number > 0;
  }
  void share_plain() noexcept {
    const std::size_t number = std::min(back_end_ - back_, StealableRange::most);
    if (!range_.add(number)) {
      if (range_.left() > 0) return;  // enough
      range_.use(rings_.back()->ring);
      range_.make(back_, number);
    }
    back_ += number;
  }
  [[gnu::noinline]] void share_ranked() noexcept {
    range_priorities_.clear();
    const std::size_t number = std::min((size() + 1) / 2, most_ranked);
    // The owner takes back the newest first, so they go in from the lowest priority to the highest.
    for (std::size_t at = number; at-- > 0;) {
      const bool heap = heap_first();
      range_priorities_.push_back(heap ? heap_.front().priority : 0);
      ranked_ring_->ring.write(at, heap ? pop_heap() : take_last());
    }
    std::ranges::reverse(range_priorities_);
    range_.use(ranked_ring_->ring);
    range_.make(0, number, true);
  }
  /// The task of priority 0 that would run last. \pre there is one, and nothing is stealable
  const Entry& take_last() noexcept {
    if (back_ == back_end_) return ring_[--front_end_];
    return oldest_first_ ? ring_[--back_end_] : ring_[back_++];
  }

  /// The oldest position whose slot is not free.
  std::size_t first_in_use() const noexcept {
    if (front_ != front_end_) return front_;
    return range_priorities_.empty() && range_.left() > 0 ? range_.begin() : back_;
  }
  [[gnu::noinline]] void grow(std::size_t first) {
    rings_.push_back(std::make_unique<Memory>(2 * ring_.capacity()));
    const Ring larger = rings_.back()->ring;
    for (std::size_t at = first; at != back_end_; ++at) larger.write(at, ring_[at]);
    ring_ = larger;
    if (range_priorities_.empty()) range_.use(rings_.back()->ring);
  }

  // Written and read by the owner alone.
  const bool oldest_first_;
  const int thieves_;  // how many there may be
  const int parts_;    // one takes 1 / 2^parts of the range at once
  Ring ring_;          // the last of rings_
  std::size_t front_ = 0, front_end_ = 0, back_ = 0, back_end_ = 0;
  int answers_ = 0;    // pushes that take the slow path from now on, because thieves have requested tasks
  bool plain_ = true;  // true ⇒ the heap is empty, and no stealable task came from it
  std::vector<Ranked> heap_;
  std::uint64_t order_ = 0;
  Entry popped_;
  std::vector<int> range_priorities_;           // priorities of the last range that came from the heap, lowest first
  std::unique_ptr<Memory> ranked_ring_;         // its tasks, from position 0 on
  std::vector<std::unique_ptr<Memory>> rings_;  // with former ones, which thieves may still read
  // Thieves write here.
  StealableRange range_;
};

}  // namespace taskgrain::rt::detail
