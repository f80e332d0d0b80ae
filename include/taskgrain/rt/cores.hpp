#pragma once

/// The processors of this machine, as far as a program that starts a runtime cares.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <vector>

namespace taskgrain::rt {

/// The cores of this machine, in an order in which those that share a cache are neighbours. Each is the list of its
/// processors that this process may use, as the operating system counts them; in a task, also those that its thread
/// might use before it was bound.
std::vector<std::vector<int>> usable_cores();

/// Binds the calling thread to a processor while it lives; then the thread may run where it might before.
class [[nodiscard]] Pinned {
 public:
  /// \throws UsageError  if the thread may not run there
  explicit Pinned(int processor);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  friend class Unpinned;

  std::vector<int> before_;  // empty if it has changed nothing
  Pinned* outer_;
};

/// Lets the calling thread run where it might before it was bound, while it lives. Threads that it starts meanwhile may
/// run there, too: otherwise a thread that a task starts (`std::async`, an OpenMP team, a threaded BLAS) inherits the
/// one processor of its worker. Does nothing in a thread that is not bound.
class [[nodiscard]] Unpinned {
 public:
  Unpinned();
  ~Unpinned();
  Unpinned(const Unpinned&) = delete;
  Unpinned& operator=(const Unpinned&) = delete;

 private:
  std::vector<int> before_;  // empty if it has changed nothing
};

namespace detail {

/// Binds the calling thread. \returns false, with errno, if the kernel refuses it
bool bind_to(const std::vector<int>& processors);

/// Lists for each worker the others, nearest first, by the caches and memory that their processors share.
std::vector<std::vector<int>> by_distance(const std::vector<int>& processors);

}  // namespace detail

}  // namespace taskgrain::rt
