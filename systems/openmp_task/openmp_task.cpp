/// One task for each point, its order given by depend clauses on the outputs; one thread creates them all.

#include <omp.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

/// Steps of output to keep: a power of two. A task that writes over an older output must wait for those that read it, which costs
/// nothing once they have run and the runtime has forgotten them. libgomp lets 64 tasks a thread be created ahead; with
/// twice as many outputs, readers have run.
std::size_t depth(const Graph& graph) {
  const auto ahead = static_cast<std::size_t>(2 * 64 * omp_get_max_threads());
  return std::max<std::size_t>(2, std::bit_ceil(ahead / static_cast<std::size_t>(graph.width()) + 1));
}

class OpenmpTask final : public System {
 public:
  std::string name() const override { return "openmp_task"; }
  std::string version() const override { return "OpenMP " + std::to_string(_OPENMP); }
  int cores() const override { return omp_get_max_threads(); }

  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> binding(static_cast<std::size_t>(cores()));
#pragma omp parallel
    binding[static_cast<std::size_t>(omp_get_thread_num())] = binding_of_this_thread();
    return binding;
  }

  void prepare(Execution& run) override {
    outputs_.clear();
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph, depth(graph));
  }

  void execute(Execution& run) override {
#pragma omp parallel
#pragma omp single
    create_tasks(run);
  }

 private:
  void create_tasks(Execution& run) {
    std::vector<const std::byte*> inputs;
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for (std::size_t g = 0; g < run.graphs().size(); ++g) {
        const Interval points = run.graphs()[g].points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point) {
          const auto n = static_cast<std::int64_t>(outputs_[g].inputs(step, point, inputs).size());
          [[maybe_unused]] const std::byte* const* in = inputs.data();
          [[maybe_unused]] std::byte* out = outputs_[g].at(step, point);
#pragma omp task shared(run) firstprivate(g, step, point) depend(iterator(k = 0 : n), in : in[k][0]) depend(out : out[0])
          execute_task(run, g, step, point);
        }
      }
    }
  }

  void execute_task(Execution& run, std::size_t g, std::int64_t step, std::int64_t point) {
    thread_local std::vector<const std::byte*> space;
    run.execute_point(run.worker(static_cast<std::size_t>(omp_get_thread_num())), g, step, point,
                      outputs_[g].at(step, point), outputs_[g].inputs(step, point, space));
  }

  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<OpenmpTask>(argc, argv); }
