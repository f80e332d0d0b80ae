#pragma once

/// What a process that was forked has of its parent's runtimes: their memory, and none of their threads.

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
/// may have been in the middle of a change. Something points to it, so that it is no leak.
template <typename T>
void leave_to_parent(std::unique_ptr<T>& what) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  kept->push_back(std::move(what));
}

}  // namespace taskgrain::rt::detail
