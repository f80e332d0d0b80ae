/// A parallel loop over the points of each step, and its fence. The loops run on threads of OpenMP.

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/openmp.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;
using Space = Kokkos::OpenMP;
using Range = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<std::int64_t>>;

class KokkosSystem final : public System {
 public:
  std::string name() const override { return "kokkos"; }
  std::string version() const override {
    return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
           std::to_string(KOKKOS_VERSION % 100) + ", " + openmp_version();
  }
  int cores() const override { return openmp_team(); }
  std::vector<std::vector<int>> binding() override { return openmp_binding(); }

  void prepare(Execution& run) override {
    outputs_.clear();
    contexts_ = run.contexts(Space().concurrency());
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph);
  }

  void execute(Execution& run) override {
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for (std::size_t g = 0; g < run.graphs().size(); ++g) {
        const Interval points = run.graphs()[g].points(step);
        Kokkos::parallel_for(Range(points.first, points.last + 1), [this, &run, g, step](std::int64_t point) {
          thread_local std::vector<const std::byte*> space;
          run.execute_point(*contexts_[static_cast<std::size_t>(omp_get_thread_num())], g, step, point,
                            outputs_[g].at(step, point), outputs_[g].inputs(step, point, space));
        });
      }
      Space().fence();
    }
  }

 private:
  const Kokkos::ScopeGuard guard_;  // starts Kokkos, and ends it
  std::vector<ThreadContext*> contexts_;
  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<KokkosSystem>(argc, argv); }
