#pragma once

/// The processors of this machine, as far as a program that starts a runtime cares.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <vector>

namespace taskgrain::rt {

/// The cores of this machine, in an order in which those that share a cache are neighbours. Each is the list of its
/// processors that this process may use, as the operating system counts them.
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
  std::vector<int> before_;
};

}  // namespace taskgrain::rt
