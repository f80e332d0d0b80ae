#pragma once

/// Runtimes that must not be destroyed: in a forked child, those of the parent, which have no threads there; and that
/// of a task that calls `exit`, which would wait for itself.

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace taskgrain::rt::detail {

/// The child of a fork increments it. An object that was made under another value belongs to the parent.
inline constinit std::atomic<unsigned> forks{0};
/// Begins to count.
void count_forks() noexcept;

/// Keeps an object for ever. A child would wait for threads that it does not have, or find a lock held by one of them.
/// A static pointer leads to the object, so leak checkers do not complain.
template <typename T>
void leave_alive(std::unique_ptr<T> what) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  kept->push_back(std::move(what));
}

}  // namespace taskgrain::rt::detail
