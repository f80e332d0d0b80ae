#pragma once

/// Ready tasks of a worker that it runs one after the other, without checking for messages between them. Owned by one
/// thread, and not to be stolen; so that is for short tasks, and for several. If the tasks of a batch took longer than
/// a microsecond on average, or if some batches had a single task, the next ones are queued one by one; then a batch is
/// tried again.
///
/// A batch begins with its first task, which is bound and in the queue of the worker; the others are here. After a
/// task, the worker runs what is here.
///   not empty ⇒ open ⇒ a first task is in the queue, or a task of the flow runs on this worker
/// A task that throws or that was queued by itself may close a batch whose first task is still in the queue: then there
/// are two.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

template <typename K>
class Batch {
 public:
  using Clock = std::chrono::steady_clock;

  /// True if the next task goes into the queue of the worker instead.
  bool one_by_one() noexcept {
    if (one_by_one_ == 0) [[likely]]
      return false;
    if (--one_by_one_ > 0) return true;
    trial_ = true;
    return false;
  }
  /// Opens the batch. \returns whether it was closed: then the task is its first, and is not pushed
  bool open() noexcept { return !std::exchange(open_, true); }
  void push(const K& key) {
    if (end_ - begin_ > mask_) [[unlikely]]
      grow();
    ring_[end_++ & mask_] = key;
  }
  /// Pushes a key if the batch is open, has room, and takes tasks. \returns whether it did
  bool push_if_open(const K& key) noexcept {
    if (!open_ || one_by_one_ != 0 || end_ - begin_ > mask_) return false;
    ring_[end_++ & mask_] = key;
    return true;
  }
  bool empty() const noexcept { return begin_ == end_; }
  const K& pop() noexcept { return ring_[begin_++ & mask_]; }

  /// Runs a task and, from the oldest on, what is here, up to so many in all.
  /// \param task  is called with each key
  /// \returns how many it has run
  template <typename Task>
  std::size_t run(const K& first, std::size_t most, const Task& task) noexcept {
    if (one_by_one_ > 0) {
      task(first);
      return 1;
    }
    const bool timed = trial_ || ++batches_ % between_looks == 0;  // the clock takes as long as half a task
    const auto begin = timed ? Clock::now() : Clock::time_point();
    if (trial_) [[unlikely]]
      most = 1;
    std::size_t number = 1;
    for (task(first); number < most && !empty(); ++number) task(pop());
    alone_ = number == 1 && !timed ? alone_ + 1 : 0;
    if (timed)
      judge(Clock::now() - begin, number);
    else if (alone_ == most_alone) [[unlikely]]
      one_by_one_ = before_trial;
    return number;
  }
  /// True after `run` if the tasks that are left are to be queued one by one.
  bool not_now() const noexcept { return one_by_one_ > 0; }
  /// Closes the batch if it is empty. \returns whether it is
  bool closes() noexcept { return !(open_ = !empty()); }

 private:
  static constexpr unsigned between_looks = 8, before_trial = 64, most_alone = 4;
  static constexpr std::chrono::nanoseconds long_task = std::chrono::microseconds(1);

  void judge(Clock::duration time, std::size_t number) noexcept {
    trial_ = false;
    if (time > static_cast<Clock::rep>(number) * long_task) one_by_one_ = before_trial;
  }
  [[gnu::noinline]] void grow() {
    std::vector<K, ApartAllocator<K>> larger(2 * ring_.size());
    for (std::size_t k = begin_; k != end_; ++k) larger[k & (larger.size() - 1)] = ring_[k & mask_];
    ring_.swap(larger);
    mask_ = ring_.size() - 1;
  }

  std::vector<K, ApartAllocator<K>> ring_ = std::vector<K, ApartAllocator<K>>(64);
  std::size_t mask_ = ring_.size() - 1;
  std::size_t begin_ = 0, end_ = 0;
  bool open_ = false;
  bool trial_ = true;        // the next batch runs by itself, and is timed
  unsigned one_by_one_ = 0;  // tasks that are queued until the next trial
  unsigned batches_ = 0;
  unsigned alone_ = 0;  // batches of one task, one after the other
};

/// The place of a batch in flows without batches.
struct NoBatch {};

}  // namespace taskgrain::rt::detail
