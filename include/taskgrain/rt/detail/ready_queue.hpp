#pragma once

/// Tasks that are ready, of one worker and seen by nobody else, in the order that was chosen. Tasks of higher priority
/// come before, of lower priority after.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/options.hpp"

namespace taskgrain::rt::detail {

class ReadyQueue {
 public:
  explicit ReadyQueue(Order order = Order::newest) : oldest_first_(order == Order::oldest) {}

  bool empty() const noexcept { return size_ == 0 && heap_.empty(); }
  std::size_t size() const noexcept { return size_ + heap_.size(); }
  /// Priority of the task that pop would return; 0 if the queue is empty.
  int priority() const noexcept { return heap_first() ? heap_.front().priority : 0; }

  void push(const Entry& task) {
    if (size_ > mask_) [[unlikely]]
      grow();
    ring_[(first_ + size_++) & mask_] = task;
  }
  void push(const Entry& task, int priority) {
    if (priority == 0) return push(task);
    heap_.push_back({priority, order_++, task});
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Whether all tasks have priority 0.
  bool plain() const noexcept { return heap_.empty(); }
  /// The next task. \pre plain, not empty
  const Entry& pop_plain() noexcept { return oldest_first_ ? pop_first() : pop_last(); }

  /// The next task of the highest priority; of a priority other than 0: the oldest. The reference holds until the next
  /// push.
  /// \pre not empty
  const Entry& pop() {
    if (!heap_first()) return pop_plain();
    std::pop_heap(heap_.begin(), heap_.end());
    popped_ = heap_.back().task;
    heap_.pop_back();
    return popped_;
  }

  /// Removes the task to offer to thieves: with priority 0, the one that would run last. Like pop otherwise.
  const Entry& pop_to_share() {
    if (heap_first()) return pop();
    return oldest_first_ ? pop_last() : pop_first();
  }

 private:
  struct Ranked {
    int priority;
    std::uint64_t order;
    Entry task;
    bool operator<(const Ranked& other) const noexcept {
      return priority != other.priority ? priority < other.priority : order > other.order;
    }
  };

  using Ring = std::vector<Entry, ApartAllocator<Entry>>;

  const Entry& pop_first() noexcept {
    const Entry& first = ring_[first_];
    first_ = (first_ + 1) & mask_;
    --size_;
    return first;
  }
  const Entry& pop_last() noexcept { return ring_[(first_ + --size_) & mask_]; }
  bool heap_first() const noexcept { return !heap_.empty() && (size_ == 0 || heap_.front().priority > 0); }
  [[gnu::noinline]] void grow() {
    Ring larger(2 * (mask_ + 1));
    for (std::size_t k = 0; k < size_; ++k) larger[k] = ring_[(first_ + k) & mask_];
    ring_.swap(larger);
    mask_ = 2 * mask_ + 1;
    first_ = 0;
  }

  const bool oldest_first_;
  Ring ring_ = Ring(64);
  std::size_t mask_ = 63;  // a power of two less one
  std::size_t first_ = 0, size_ = 0;
  std::vector<Ranked> heap_;
  std::uint64_t order_ = 0;
  Entry popped_;
};

}  // namespace taskgrain::rt::detail
