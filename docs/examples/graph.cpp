/// What the tasks of a graph depend on, and what is said of a graph that cannot be.

#include <cstdio>

#include "taskgrain/error.hpp"
#include "taskgrain/graph.hpp"

using namespace taskgrain;

int main() {
  GraphSpec spec;
  spec.pattern = "fft";
  spec.steps = 3;
  spec.width = 4;
  const Graph graph(spec);

  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) {
      std::printf("(%d, %d) <-", static_cast<int>(step), static_cast<int>(point));
      for (const Interval deps : graph.deps(step, point))
        for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) std::printf(" %d", static_cast<int>(dep));
      std::printf("\n");
    }
  }

  spec.steps = 0;
  try {
    Graph{spec};
  } catch (const InvalidSpec& error) {
    std::puts(error.what());
  }
}
