/// A graph executed by hand, once as it should be and once with a task too few.

#include <cstdio>
#include <vector>

#include "taskgrain/execution.hpp"
#include "taskgrain/outputs.hpp"

using namespace taskgrain;

namespace {

/// Every task in order, on one worker, but for those of `left_out` in the last step.
void execute(Execution& run, Interval left_out) {
  const Graph& graph = run.graphs()[0];
  ThreadContext& context = run.context(0);
  const Outputs outputs(graph);
  std::vector<const std::byte*> space;
  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) {
      if (step == graph.steps() - 1 && left_out.contains(point)) continue;
      run.execute_point(context, 0, step, point, outputs.at(step, point), outputs.inputs(step, point, space));
    }
  }
}

void report(const Execution& run) {
  const auto violation = run.verify();
  std::printf("%d of %d tasks: %s\n", static_cast<int>(run.accounts().executed), static_cast<int>(run.tasks()),
              violation ? violation->text().c_str() : "right");
}

}  // namespace

int main() {
  GraphSpec spec;
  spec.pattern = "nearest";
  spec.steps = 50;
  spec.width = 8;
  spec.radix = 5;
  Execution run({spec}, Validation::full, Isa::automatic);

  execute(run, no_points);
  report(run);
  run.clear();
  execute(run, {3, 3});
  report(run);
}
