#pragma once

/// Counts through the tasks of one time step of all graphs, for systems that execute a step at a time.

#include <cstddef>
#include <cstdint>
#include <span>

#include "taskgrain/graph.hpp"

namespace taskgrain {

/// The tasks of a step: those of the first graph in the order of their points, then those of the second, and so on.
class StepTasks {
 public:
  struct Task {
    std::size_t graph;
    std::int64_t point;
  };

  /// \param step  may lie beyond the end of some graphs, which have no tasks there
  StepTasks(std::span<const Graph> graphs, std::int64_t step) noexcept : graphs_(graphs), step_(step) {}

  std::int64_t size() const noexcept {
    std::int64_t sum = 0;
    for (const Graph& graph : graphs_) sum += graph.points(step_).size();
    return sum;
  }
  /// \pre 0 ≤ number < size(). Looks at the graphs one by one.
  Task operator[](std::int64_t number) const noexcept {
    for (std::size_t g = 0;; ++g) {
      const Interval points = graphs_[g].points(step_);
      if (number < points.size()) return {g, points.first + number};
      number -= points.size();
    }
  }

 private:
  std::span<const Graph> graphs_;
  std::int64_t step_;
};

}  // namespace taskgrain
