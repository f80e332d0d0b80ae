/// Fork-join: one parallel region, in each step a work-shared loop over the points of all graphs, and its barrier.

#include <omp.h>

#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/openmp.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

class OpenmpFor final : public System {
 public:
  std::string name() const override { return "openmp_for"; }
  std::string version() const override { return openmp_version(); }
  int cores() const override { return openmp_team(); }
  std::vector<std::vector<int>> binding() override { return openmp_binding(); }

  void prepare(Execution& run) override {
    outputs_.clear();
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph);
  }

  void execute(Execution& run) override {
#pragma omp parallel
    {
      ThreadContext& context = run.context(static_cast<std::size_t>(omp_get_thread_num()));
      std::vector<const std::byte*> space;
      for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
        // The loops of a step depend on the step before, not on each other: one barrier ends them all.
        for (std::size_t g = 0; g < run.graphs().size(); ++g) {
          const Interval points = run.graphs()[g].points(step);
#pragma omp for schedule(static) nowait
          for (std::int64_t point = points.first; point <= points.last; ++point)
            run.execute_point(context, g, step, point, outputs_[g].at(step, point),
                              outputs_[g].inputs(step, point, space));
        }
#pragma omp barrier
      }
    }
  }

 private:
  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<OpenmpFor>(argc, argv); }
