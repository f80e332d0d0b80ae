/// Hybrid: one rank for each node, an OpenMP thread for each of its cores. Work-shared loops over the rank's points,
/// messages between ranks by the master thread (MPI_THREAD_FUNNELED), shared memory within.

#include <omp.h>

#include <string>
#include <vector>

#include "../mpi/ranks.hpp"
#include "taskgrain/openmp.hpp"

namespace {

using namespace taskgrain;

class MpiOpenmp final : public ExchangingRanks {
 public:
  MpiOpenmp() : ExchangingRanks(MPI_THREAD_FUNNELED) {}

  std::string name() const override { return "mpi_openmp"; }
  std::string version() const override { return ProcessSystem::version() + ", " + openmp_version(); }
  int cores() const override { return ranks() * openmp_team(); }

  std::vector<std::vector<int>> binding() override { return gather_binding(openmp_binding()); }

  void execute(Execution& run) override {
    for_graphs(1, [](std::size_t, Exchange& exchange) { exchange.post(1); });
    const std::int64_t steps = run.most_steps();
#pragma omp parallel
    {
      ThreadContext& context = run.context(static_cast<std::size_t>(omp_get_thread_num()));
      for (std::int64_t step = 0; step < steps; ++step) {
        if (ranks() > 1) {
#pragma omp master
          for_graphs(step, [&](std::size_t, Exchange& exchange) { exchange.wait(step); });
#pragma omp barrier
        }
        // The loops of a step depend on the step before, not on each other: one barrier ends them all.
        for_graphs(step, [&](std::size_t g, Exchange& exchange) {
          const auto& items = exchange.program(step).items;
#pragma omp for schedule(static) nowait
          for (const Item& item : items) run.execute_point(context, g, step, item.point, item.output, item.inputs);
        });
#pragma omp barrier
        if (ranks() > 1) {
#pragma omp master
          for_graphs(step, [&](std::size_t, Exchange& exchange) { exchange.send(step), exchange.post(step + 2); });
        }
      }
    }
    finish();
  }
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<MpiOpenmp>(argc, argv); }
