#pragma once

/// What is not destroyed. A process that was forked has the memory of its parent's runtimes, and none of their threads.
/// And a task that calls `exit` is to destroy the runtime that runs it.

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace taskgrain::rt::detail {

/// Counted by the child: what was made under another number is its parent's.
inline constinit std::atomic<unsigned> forks{0};
/// From now on they are counted.
void count_forks() noexcept;

/// A child does not destroy what is its parent's: it would wait for threads that it does not have, and other threads
/// may have been in the middle of a change. A task does not destroy the runtime that runs it: it would wait for itself.
/// Something points to it, so that it is no leak.
template <typename T>
void leave_alive(std::unique_ptr<T> what) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  kept->push_back(std::move(what));
}

}  // namespace taskgrain::rt::detail
