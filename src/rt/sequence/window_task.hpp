#pragma once

/// A task of a sequence that was given and has not ended.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/task_function.hpp"

namespace taskgrain::rt::detail {

class WindowTask;

/// A task that comes after another one. It lies with the task that comes after.
struct Successor {
  WindowTask* node;
  Successor* next;
};

/// Excludes tasks that commute from one another, at one piece of data. A task that is ready and does not get it is
/// queued; who unlocks it hands it to the first of the queue.
class CommuteLock {
 public:
  /// \returns whether the task has it; if not, it is queued
  bool lock(WindowTask& node) {
    const std::lock_guard guard(mutex_);
    if (!taken_) return taken_ = true;
    waiting_.push_back(&node);
    return false;
  }
  /// \returns the task that has it now; null if there is none
  WindowTask* unlock() {
    const std::lock_guard guard(mutex_);
    if (waiting_.empty()) {
      taken_ = false;
      return nullptr;
    }
    WindowTask* const next = waiting_.front();
    waiting_.pop_front();
    return next;
  }
  void clear() noexcept {
    taken_ = false;
    waiting_.clear();
  }

 private:
  std::mutex mutex_;  // protects the members
  bool taken_ = false;
  std::deque<WindowTask*> waiting_;
};

/// A task. The thread that gives tasks writes it up to `give`; from then on the worker that runs it.
///   pending = tasks before it that have not ended, and 1 while it is being given
///   successors == ended  ⇔  it has ended, and its place is free
/// To move a cache line from core to core takes as long as a small task, and a plain task needs three:
///   its function, which a worker only reads if that needs no destruction;
///   what is written by those that end the tasks before it, who also read its first links there;
///   from `successors`, what the thread that gives tasks writes until the task ends.
class alignas(apart) WindowTask {
 public:
  TaskFunction function;
  std::uint64_t number = 0;  // of the task, from 1
  int worker = 0, priority = 0;
  enum class Kind : std::uint8_t {
    plain,
    special,   // with locks or an event
    launches,  // a graph, with which it ends
    over,      // its graph or operation has ended
  } kind = Kind::plain;
  std::uint16_t again = 0;  // how often it was queued again

 private:
  static constexpr std::size_t close = 2;
  std::atomic<int> pending_{0};  // by workers that end tasks before it, and the thread that gives tasks
  Successor close_links_[close];
  std::atomic<Successor*> successors_{&end_};  // by the thread that gives tasks, and the worker that ends it
  std::vector<Successor, ApartAllocator<Successor>> links_;  // beyond those; it keeps its memory for the next task

 public:
  std::string name;                  // empty: its number
  std::vector<CommuteLock*> locks;   // at data where it commutes with others, by address
  unsigned locked = 0;               // so many of `locks`
  std::atomic<int> left = 0;         // of an asynchronous task: its start and its operation
  const EventType* event = nullptr;  // of an asynchronous task, which ends with its operation; else null
  std::exception_ptr failure;        // of the graph or the operation; null if it did not fail

  bool ended() const noexcept { return successors_.load(std::memory_order_acquire) == &end_; }

  // -- by the thread that gives tasks

  /// Lets its cache lines come from the core that has written them last.
  void prefetch() noexcept {
    constexpr std::size_t line = 64, lines = 3;
    for (std::size_t k = 0; k < lines; ++k) prefetch_to_write(reinterpret_cast<std::byte*>(this) + line * k);
    if (!links_.empty()) prefetch_to_write(reinterpret_cast<std::byte*>(links_.data()));
  }
  /// Makes room, so that `give` needs no memory.
  void expect(std::size_t before) {
    if (links_.size() + close < before) links_.resize(before - close);
  }
  /// \param before   tasks that may have ended; as many were expected
  /// \param task_of  the task of a number
  /// \returns whether all have
  template <typename TaskOf>
  bool give(const std::vector<std::uint64_t>& before, const TaskOf& task_of) noexcept {
    successors_.store(nullptr, std::memory_order_relaxed);
    pending_.store(static_cast<int>(before.size()) + 1, std::memory_order_relaxed);
    int ended = 1;
    for (std::size_t k = 0; k < before.size(); ++k) {
      Successor& link = k < close ? close_links_[k] : links_[k - close];
      link.node = this;
      if (!task_of(before[k]).add(link)) ++ended;
    }
    return before_ended(ended);
  }

  // -- by the worker that runs it, or after all have stopped

  /// \returns whether it has all its locks; if not, who unlocks the next will queue it again
  bool lock() {
    while (locked < locks.size()) {
      if (!locks[locked]->lock(*this)) return false;
      ++locked;
    }
    return true;
  }
  /// Calls `ready(node)` for each task that gets one of its locks.
  template <typename Ready>
  void unlock(const Ready& ready) {
    for (CommuteLock* const lock : locks)
      if (WindowTask* const next = lock->unlock()) {
        ++next->locked;
        ++next->again;
        ready(*next);
      }
  }
  /// Ends the task: its place may be used again. Calls `ready(node)` for each task that waited for this one alone.
  template <typename Ready>
  void end(const Ready& ready) {
    function.reset();
    for (Successor* one = successors_.exchange(&end_, std::memory_order_acq_rel); one != nullptr;) {
      WindowTask& next = *one->node;
      one = one->next;  // before `next` can run, end, and be used for another task
      if (next.before_ended(1)) ready(next);
    }
  }
  void drop() noexcept {
    function.reset();
    failure = nullptr;
    locks.clear();
    successors_.store(&end_, std::memory_order_relaxed);
  }

 private:
  bool before_ended(int tasks) noexcept { return pending_.fetch_sub(tasks, std::memory_order_acq_rel) == tasks; }
  /// \returns false if this task has ended
  bool add(Successor& link) noexcept {
    Successor* first = successors_.load(std::memory_order_acquire);
    do {
      if (first == &end_) return false;
      link.next = first;
    } while (!successors_.compare_exchange_weak(first, &link, std::memory_order_release, std::memory_order_acquire));
    return true;
  }

  static inline constinit Successor end_{};  // by its address
};
static_assert(sizeof(WindowTask) == 2 * apart);

}  // namespace taskgrain::rt::detail
