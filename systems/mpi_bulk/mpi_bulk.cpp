/// Bulk-synchronous parallel: one rank for each core; in each superstep all messages, a barrier, then all tasks.
/// Nothing overlaps.

#include <string>

#include "../mpi/ranks.hpp"

namespace {

using namespace taskgrain;

class MpiBulk final : public RankForEachCore {
 public:
  std::string name() const override { return "mpi_bulk"; }

  void execute(Execution& run) override {
    ThreadContext& context = run.context(0);
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for_graphs(step, [&](std::size_t, Exchange& exchange) { exchange.post(step); });
      if (step > 0) for_graphs(step, [&](std::size_t, Exchange& exchange) { exchange.send(step - 1); });
      for_graphs(step, [&](std::size_t, Exchange& exchange) { exchange.wait(step); });
      MPI_Barrier(MPI_COMM_WORLD);
      for_graphs(step, [&](std::size_t g, Exchange& exchange) {
        for (const Item& item : exchange.program(step).items)
          run.execute_point(context, g, step, item.point, item.output, item.inputs);
      });
    }
    finish();
  }
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<MpiBulk>(argc, argv); }
