#include "taskgrain/bound.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace taskgrain {
namespace {

/// Tasks by depth: so many others has the longest chain before them.
struct Depths {
  std::int64_t count;
  std::function<std::int64_t(std::int64_t depth)> tasks;
};

/// Of a graph in which some tasks of a step may depend on others, and some not.
Depths counted_depths(const Graph& graph) {
  std::vector<std::int64_t> tasks, before, now;
  for (std::int64_t step = 0; step < graph.steps(); ++step, before.swap(now)) {
    const Interval points = graph.points(step);
    const std::int64_t first = graph.points(step - 1).first;
    now.assign(static_cast<std::size_t>(points.size()), 0);
    for (std::int64_t i = points.first; i <= points.last; ++i) {
      std::int64_t& depth = now[static_cast<std::size_t>(i - points.first)];
      for (const Interval deps : graph.deps(step, i))
        for (std::int64_t j = deps.first; j <= deps.last; ++j)
          depth = std::max(depth, before[static_cast<std::size_t>(j - first)] + 1);
      if (depth == std::ssize(tasks)) tasks.push_back(0);
      ++tasks[static_cast<std::size_t>(depth)];
    }
  }
  const auto count = std::ssize(tasks);
  return {count, [all = std::move(tasks)](std::int64_t depth) { return all[static_cast<std::size_t>(depth)]; }};
}

Depths depths_of(const Graph& graph) {
  if (graph.whole()) return counted_depths(graph);
  // In the other patterns, each task after the first step depends on another one, or none does.
  const bool chained = graph.steps() > 1 && graph.deps(1, graph.points(1).first).count() > 0;
  if (!chained) return {1, [&graph](std::int64_t) { return graph.tasks(); }};
  return {graph.steps(), [&graph](std::int64_t depth) { return graph.points(depth).size(); }};
}

}  // namespace

Bound bound_of(std::span<const Graph> graphs, std::int64_t cores) {
  Bound bound{0, 0, std::numeric_limits<std::int64_t>::max(), 0, 0, 0};
  std::vector<Depths> depths;
  std::int64_t steps = 0;
  for (const Graph& graph : graphs) {
    depths.push_back(depths_of(graph));
    bound.critical_path = std::max(bound.critical_path, depths.back().count);
    steps = std::max(steps, graph.steps());
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    std::int64_t width = 0;
    for (const Graph& graph : graphs) width += graph.points(step).size();
    bound.narrowest = std::min(bound.narrowest, width);
    bound.widest = std::max(bound.widest, width);
    bound.narrow_steps += width < cores ? 1 : 0;
  }
  // A task of depth d begins after d others at the earliest, and whatever is as deep or deeper has all cores then.
  for (std::int64_t depth = bound.critical_path - 1; depth >= 0; --depth) {
    for (const Depths& one : depths) bound.tasks += depth < one.count ? one.tasks(depth) : 0;
    bound.time = std::max(bound.time, depth + (bound.tasks - 1) / cores + 1);
  }
  return bound;
}

}  // namespace taskgrain
