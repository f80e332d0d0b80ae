#pragma once

/// The elements of a global array that are of each host.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "taskgrain/rt/detail/global_memory.hpp"

namespace taskgrain::rt::detail {

/// The hosts of the ranks, numbered by their first rank.
class GlobalHosts {
 public:
  /// \param first  for each rank, the first one of its host
  GlobalHosts(const std::vector<int>& first, int rank) : of_(first.size()) {
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (first[k] == static_cast<int>(k)) ranks_.emplace_back();
      // A host's first rank has the lowest number of it, so its host is numbered already.
      of_[k] = first[k] == static_cast<int>(k) ? number() - 1 : of(first[k]);
      ranks_[static_cast<std::size_t>(of_[k])].push_back(static_cast<int>(k));
    }
    here_ = of(rank);
  }

  int here() const noexcept { return here_; }
  int number() const noexcept { return static_cast<int>(ranks_.size()); }
  int of(int rank) const noexcept { return of_[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& ranks(int host) const noexcept { return ranks_[static_cast<std::size_t>(host)]; }

  /// The number of a host's elements that lie before an index.
  std::size_t before(const GlobalLayout& layout, int host, std::size_t index) const noexcept {
    std::size_t sum = 0;
    for (const int rank : ranks(host)) sum += layout.before(rank, index);
    return sum;
  }
  /// Calls run(host, first, count) for the runs of elements of one host, in their order.
  template <typename Run>
  void each_run(const GlobalLayout& layout, std::size_t first, std::size_t count, const Run& run) const {
    for (const std::size_t end = first + count; first < end;) {
      const int host = of(layout.owner(first));
      std::size_t last = first;
      do last = std::min(end, (last / layout.block + 1) * layout.block);
      while (last < end && of(layout.owner(last)) == host);
      run(host, first, last - first);
      first = last;
    }
  }

 private:
  std::vector<int> of_;  // by rank
  std::vector<std::vector<int>> ranks_;
  int here_;
};

}  // namespace taskgrain::rt::detail
