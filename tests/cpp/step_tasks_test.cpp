/// The tasks of a step, counted through: each once, in the order of graphs and points.

#include "taskgrain/step_tasks.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "specs.hpp"

namespace taskgrain {
namespace {

TEST(StepTasks, AreThoseOfAllGraphsInTheirOrder) {
  const Graph graphs[] = {Graph({.pattern = "tree", .steps = 5, .width = 4}),
                          Graph({.pattern = "dom", .steps = 3, .width = 2}),
                          Graph({.pattern = "stencil_1d", .steps = 2, .width = 6})};
  for (std::int64_t step = 0; step < 6; ++step) {
    std::vector<std::pair<std::size_t, std::int64_t>> expected, counted;
    for (std::size_t g = 0; g < 3; ++g) {
      const Interval points = graphs[g].points(step);
      for (std::int64_t point = points.first; point <= points.last; ++point) expected.emplace_back(g, point);
    }
    const StepTasks tasks(graphs, step);
    for (std::int64_t k = 0; k < tasks.size(); ++k) counted.emplace_back(tasks[k].graph, tasks[k].point);
    EXPECT_EQ(counted, expected) << "step " << step;
  }
}

}  // namespace
}  // namespace taskgrain
