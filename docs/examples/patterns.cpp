/// Entries of the table of patterns, and what they make of one small graph.

#include <cstdio>

#include "taskgrain/pattern.hpp"

using namespace taskgrain;

int main() {
  for (const char* name : {"trivial", "stencil_1d", "spread", "tree", "fft", "v_cycle"}) {
    const Pattern& pattern = pattern_from_name(name);
    GraphSpec spec;
    spec.pattern = pattern.name;
    spec.steps = 10;
    spec.width = 16;
    const Graph graph(spec);
    std::int64_t dependences = 0;
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      const Interval points = graph.points(step);
      for (std::int64_t point = points.first; point <= points.last; ++point)
        dependences += graph.deps(step, point).count();
    }
    std::printf("%-10s %3d tasks, %3d dependences, %d sets%s\n", name, static_cast<int>(graph.tasks()),
                static_cast<int>(dependences), static_cast<int>(graph.dependence_sets()),
                pattern.has_period ? ", which --period chooses" : "");
  }
}
