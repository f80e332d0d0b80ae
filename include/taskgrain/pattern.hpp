#pragma once

/// The table of patterns. A pattern is one entry: its points, its dependences and the reverse of these; nothing else in
/// the project knows a pattern by name.

#include <cstdint>
#include <span>
#include <string_view>

#include "taskgrain/graph.hpp"

namespace taskgrain {

struct Pattern {
  std::string_view name;
  /// What people call it who do not know the name, with commas.
  std::string_view also_called = {};
  /// The points that exist at a step of the graph; null: all of them.
  Interval (*points)(const Graph&, std::int64_t step) = nullptr;
  /// Steps after which the shape is steady: from there on, points and dependences repeat after a period. Null: one, as
  /// the first step depends on nothing.
  std::int64_t (*ramp)(const Graph&) = nullptr;
  /// The period: after so many steps points and dependences repeat. It is the number of dependence sets. Null: one.
  std::int64_t (*sets)(const Graph&) = nullptr;
  /// The dependence set of a step; null: step mod sets.
  std::int64_t (*set)(const Graph&, std::int64_t step) = nullptr;
  /// D(t, i), before clipping to the points that exist at step t - 1; null: use `window`.
  Points::Next deps = nullptr;
  /// The points of `step` that depend on `point` of step - 1, before clipping. Note that `step` is the dependent
  /// task's.
  Points::Next reverse_deps = nullptr;
  /// For D = {i + first … i + last}: first and last, the same for all points and steps.
  Interval (*window)(const Graph&) = nullptr;
  /// The number of dependence sets is the user's `period`.
  bool has_period = false;
  /// The candidates are those of `spread`, which limits the period.
  bool spreads = false;
  /// Dimensions of the box into which the width is folded.
  int dimensions = 1;
  /// The shape depends on the number of steps, so that runs of different steps are different graphs.
  bool whole = false;
  /// The number of forks from a root to the leaves, if the periods are nested forks: so many steps fork, and as many
  /// steps join what their mirror images have forked. Null: they are not.
  std::int64_t (*fork_depth)(const Graph&) = nullptr;
  /// The radix is that of a tree of calls, 2 or more: each has so many children, or a random number of them.
  enum class Tree { none, even, random } tree = Tree::none;
  /// The user names a file, which says everything, steps and width included.
  bool from_file = false;
};

std::span<const Pattern> patterns() noexcept;

/// \throws InvalidSpec for a name that is not in the table.
const Pattern& pattern_from_name(std::string_view name);

/// Longest period that keeps the `radix` dependences of `spread` apart: ⌈width / radix⌉.
std::int64_t longest_spread_period(std::int64_t width, std::int64_t radix) noexcept;

}  // namespace taskgrain
