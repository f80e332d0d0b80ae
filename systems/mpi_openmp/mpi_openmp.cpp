/// Hybrid: one rank for each node, an OpenMP thread for each of its cores. Work-shared loops over the rank's points, messages
/// between ranks by the master thread (MPI_THREAD_FUNNELED), shared memory within.

#include <omp.h>

#include <memory>
#include <string>
#include <vector>

#include "../mpi/exchange.hpp"
#include "taskgrain/process_system.hpp"

namespace {

using namespace taskgrain;

class MpiOpenmp final : public ProcessSystem {
 public:
  MpiOpenmp() : ProcessSystem(MPI_THREAD_FUNNELED) {}

  std::string name() const override { return "mpi_openmp"; }
  std::string version() const override { return ProcessSystem::version() + ", OpenMP " + std::to_string(_OPENMP); }
  int cores() const override { return ranks() * omp_get_max_threads(); }

  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> binding(static_cast<std::size_t>(omp_get_max_threads()));
#pragma omp parallel
    binding[static_cast<std::size_t>(omp_get_thread_num())] = binding_of_this_thread();
    return gather_binding(binding);
  }

  void prepare(Execution& run) override {
    check_tags(run.graphs().size());
    if (ranks() > 1) run.distribute();
    exchanges_.clear();
    for (const Graph& graph : run.graphs())
      exchanges_.push_back(std::make_unique<Exchange>(graph, rank(), ranks(), [&](int r) { return columns(graph, r); }));
  }

  void execute(Execution& run) override {
    for (auto& exchange : exchanges_) exchange->post(1);
    const std::int64_t steps = run.most_steps();
#pragma omp parallel
    {
      Worker& worker = run.worker(static_cast<std::size_t>(omp_get_thread_num()));
      for (std::int64_t step = 0; step < steps; ++step) {
        if (ranks() > 1) {
#pragma omp master
          for_graphs(step, [&](std::size_t g) { exchanges_[g]->wait(step); });
#pragma omp barrier
        }
        // The loops of a step depend on the step before, not on each other: one barrier ends them all.
        for_graphs(step, [&](std::size_t g) {
          const auto& items = exchanges_[g]->program(step).items;
#pragma omp for schedule(static) nowait
          for (const Item& item : items) run.execute_point(worker, g, step, item.point, item.output, item.inputs);
        });
#pragma omp barrier
        if (ranks() > 1) {
#pragma omp master
          for_graphs(step, [&](std::size_t g) { exchanges_[g]->send(step), exchanges_[g]->post(step + 2); });
        }
      }
    }
    for (auto& exchange : exchanges_) exchange->finish();
  }

 private:
  template <typename Body>
  void for_graphs(std::int64_t step, Body body) {
    for (std::size_t g = 0; g < exchanges_.size(); ++g)
      if (step < exchanges_[g]->steps()) body(g);
  }

  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<MpiOpenmp>(argc, argv); }
