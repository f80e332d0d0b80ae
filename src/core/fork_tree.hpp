#pragma once

/// The tree of calls of `fork_tree` and `random_fork_tree`: levels from the root to the leaves. A call has up to
/// `radix` children, or so many on average.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "siphash.hpp"
#include "taskgrain/graph.hpp"

namespace taskgrain {

class ForkTree {
 public:
  /// Calls of a random tree: where their children begin is kept for each.
  static constexpr std::int64_t most_random_leaves = std::int64_t{1} << 24;

  ForkTree(const GraphSpec& spec, std::int64_t index, bool random) : radix_(spec.radix) {
    points_.push_back(spec.width);
    while (points_.back() > 1) points_.push_back((points_.back() - 1) / radix_ + 1);
    std::ranges::reverse(points_);
    if (!random) return;
    for (std::int64_t level = 0; level < depth(); ++level) {
      const std::int64_t calls = points(level), below = points(level + 1);
      std::vector<std::int64_t>& begins = begins_.emplace_back();
      begins.reserve(static_cast<std::size_t>(calls) + 1);
      for (std::int64_t i = 0; i < calls; ++i) {
        const double u = uniform(spec.seed, std::array<std::int64_t, 5>{index, radix_, level, i, i});
        const auto later = std::min(static_cast<std::int64_t>(u * static_cast<double>(radix_)), radix_ - 1);
        begins.push_back(i == 0 ? 0 : std::min(i * radix_ + later, below - 1));
      }
      begins.push_back(below);
    }
  }

  /// Levels below the root.
  std::int64_t depth() const noexcept { return std::ssize(points_) - 1; }
  std::int64_t points(std::int64_t level) const noexcept { return points_[static_cast<std::size_t>(level)]; }
  /// Points of the next level.
  Interval children(std::int64_t level, std::int64_t i) const noexcept {
    return {begin(level, i), begin(level, i + 1) - 1};
  }
  /// The point of a level whose child a point of the next one is.
  std::int64_t parent(std::int64_t level, std::int64_t i) const noexcept {
    const std::int64_t latest = i / radix_;
    return begin(level, latest) > i ? latest - 1 : latest;
  }

 private:
  std::int64_t begin(std::int64_t level, std::int64_t i) const noexcept {
    return begins_.empty() ? i * radix_ : begins_[static_cast<std::size_t>(level)][static_cast<std::size_t>(i)];
  }

  std::int64_t radix_;
  std::vector<std::int64_t> points_;  // of each level
  std::vector<std::vector<std::int64_t>>
      begins_;  // [level, point] the first child, and at last the end; of random ones
};

}  // namespace taskgrain
