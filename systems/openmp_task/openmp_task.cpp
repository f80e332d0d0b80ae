/// One task for each point, its order given by depend clauses on the outputs; one thread creates them all.

#include <omp.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/openmp.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

/// Tasks that are created ahead of those that run. At 64 a thread libgomp would run a new task at once, after all that
/// it depends on: the newest tasks, so that the whole queue drains before the next is created.
std::size_t look_ahead() { return static_cast<std::size_t>(48 * omp_get_max_threads()); }

/// Steps of output to keep: a power of two. A task that writes over an older output must wait for those that read it,
/// which costs nothing once they have run and the runtime has forgotten them.
std::size_t depth(const Graph& graph) {
  return std::max<std::size_t>(2, std::bit_ceil(2 * look_ahead() / static_cast<std::size_t>(graph.width()) + 2));
}

/// Lets the thread that creates tasks wait, and run tasks meanwhile, for one that lies the look-ahead back.
class Pace {
 public:
  void created(const std::byte* output) {
    outputs_[created_++ % outputs_.size()] = output;
    if (created_ % (outputs_.size() / 4) != 0 || created_ < outputs_.size()) return;
    [[maybe_unused]] const std::byte* const* oldest = &outputs_[created_ % outputs_.size()];
#pragma omp taskwait depend(in : oldest[0][0])
  }

 private:
  std::vector<const std::byte*> outputs_ = std::vector<const std::byte*>(look_ahead());
  std::size_t created_ = 0;
};

class OpenmpTask final : public System {
 public:
  std::string name() const override { return "openmp_task"; }
  std::string version() const override { return openmp_version(); }
  int cores() const override { return openmp_team(); }
  std::vector<std::vector<int>> binding() override { return openmp_binding(); }

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
    Pace pace;
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for (std::size_t g = 0; g < run.graphs().size(); ++g) {
        const Interval points = run.graphs()[g].points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point) {
          const auto n = static_cast<std::int64_t>(outputs_[g].inputs(step, point, inputs).size());
          [[maybe_unused]] const std::byte* const* in = inputs.data();
          std::byte* out = outputs_[g].at(step, point);
#pragma omp task shared(run) firstprivate(g, step, point) depend(iterator(k = 0 : n), in : in[k][0]) \
    depend(out : out[0])
          execute_task(run, g, step, point);
          pace.created(out);
        }
      }
    }
  }

  void execute_task(Execution& run, std::size_t g, std::int64_t step, std::int64_t point) {
    thread_local std::vector<const std::byte*> space;
    run.execute_point(run.context(static_cast<std::size_t>(omp_get_thread_num())), g, step, point,
                      outputs_[g].at(step, point), outputs_[g].inputs(step, point, space));
  }

  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<OpenmpTask>(argc, argv); }
