/// How many kinds of steps a system that compiles graphs ahead has to compile, whatever the number of steps.

#include <cstdio>

#include "taskgrain/step_classes.hpp"

using namespace taskgrain;

int main() {
  for (const char* pattern : {"stencil_1d", "fft", "tree", "fork_join", "v_cycle"}) {
    GraphSpec spec;
    spec.pattern = pattern;
    spec.steps = 1000;
    spec.width = 64;
    const Graph graph(spec);
    const StepClasses classes(graph);
    std::printf("%-11s %d steps, %d classes; the last step is of class %d\n", pattern, static_cast<int>(graph.steps()),
                static_cast<int>(classes.representatives().size()), static_cast<int>(classes[graph.steps() - 1]));
  }
}
