#pragma once

/// What the shape of graphs allows, whatever system executes them.

#include <cstdint>
#include <span>

#include "taskgrain/graph.hpp"

namespace taskgrain {

/// The shape of graphs that run at once. Step t is step t of all graphs that have one.
struct Bound {
  std::int64_t tasks;
  /// Tasks of the longest chain.
  std::int64_t critical_path;
  /// Tasks of the narrowest step, and of the widest one.
  std::int64_t narrowest, widest;
  /// Steps with fewer tasks than there are cores.
  std::int64_t narrow_steps;
  /// The least time on these cores, in tasks of the mean length. Where a file has weights, neither the longest chain
  /// nor the work takes less; else it is a whole number.
  double time;
};

/// Costs O(steps) for each graph and O(width) for each step of its ramp and its period, more where each task of a step
/// depends on many; and O(dependences) for a graph that is `whole`.
/// \pre `graphs` and `cores` are not empty
Bound bound_of(std::span<const Graph> graphs, std::int64_t cores);

}  // namespace taskgrain
