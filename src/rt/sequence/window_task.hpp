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

/// A task. The thread that gives tasks writes it up to `Window::end`; from then on the worker that runs it. To move a
/// cache line from core to core takes as long as a small task: a plain one with a small function needs only the first,
/// and its function a worker only reads, if that needs no destruction.
class alignas(apart) WindowTask {
 public:
  std::uint64_t number = 0;  // from 1
  int priority = 0;
  enum class Kind : std::uint8_t {
    plain,
    special,   // with locks or an event
    launches,  // a graph, with which it ends
    over,      // its graph or operation has ended
  } kind = Kind::plain;
  bool more = false;        // what a plain task without a name does not have; else the second half is as it was made
  std::uint16_t again = 0;  // how often it was queued again
  TaskFunction function;

  alignas(apart) std::string name;   // empty: its number
  std::vector<CommuteLock*> locks;   // at data where it commutes with others, by address
  unsigned locked = 0;               // so many of `locks`
  std::atomic<int> left = 0;         // of an asynchronous task: its start and its operation
  const EventType* event = nullptr;  // of an asynchronous task, which ends with its operation; else null
  std::exception_ptr failure;        // of the graph or the operation; null if it did not fail

  /// Lets the cache lines of its first half come from the core that has written them last.
  void prefetch() noexcept {
    constexpr std::size_t line = 64;
    for (std::size_t at = 0; at < apart; at += line) prefetch_to_write(reinterpret_cast<std::byte*>(this) + at);
  }
  void prefetch_to_run() const noexcept { __builtin_prefetch(this); }
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
      if (WindowTask* const other = lock->unlock()) {
        ++other->locked;
        ++other->again;
        ready(*other);
      }
  }
  void begin_more(std::string&& of_task, const EventType* of_device) noexcept {
    name = std::move(of_task);
    locks.clear();
    locked = 0;
    event = of_device;
    more = !name.empty() || event != nullptr;
  }
  void drop() noexcept {
    function.reset();
    failure = nullptr;
    locks.clear();
  }
};
static_assert(sizeof(WindowTask) == 2 * apart);

}  // namespace taskgrain::rt::detail
