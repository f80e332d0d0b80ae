#pragma once

/// The processors of this machine, as far as workers care.

#include <vector>

namespace taskgrain::rt {

/// The cores of this machine in its order, so that those that share a cache are neighbours: of each the processors, as the operating
/// system counts them, that this process may use.
std::vector<std::vector<int>> usable_cores();

/// For each worker the others, nearest first, by the caches and memory that their processors share.
std::vector<std::vector<int>> by_distance(const std::vector<int>& processors);

/// Binds the calling thread to processors while it lives; then the thread may run where it might before.
class Pinned {
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
