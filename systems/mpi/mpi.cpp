/// Communicating sequential processes: one rank for each core, non-blocking point-to-point messages.
///
/// Receives are posted two steps ahead; what other ranks need is computed first and sent at once, and travels while the
/// rest of the step is computed. Several graphs take turns step by step, so that one's messages travel during the
/// other's tasks.

#include <span>
#include <string>

#include "ranks.hpp"

namespace {

using namespace taskgrain;

class Mpi final : public RankForEachCore {
 public:
  std::string name() const override { return "mpi"; }

  void execute(Execution& run) override {
    ThreadContext& context = run.context(0);
    for_graphs(1, [](std::size_t, Exchange& exchange) { exchange.post(1); });
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step)
      for_graphs(step, [&](std::size_t g, Exchange& exchange) { execute_step(run, context, g, exchange, step); });
    finish();
  }

 private:
  static void execute_step(Execution& run, ThreadContext& context, std::size_t g, Exchange& exchange,
                           std::int64_t step) {
    const Program& program = exchange.program(step);
    const auto execute = [&](std::span<const Item> items) {
      for (const Item& item : items) run.execute_point(context, g, step, item.point, item.output, item.inputs);
    };
    exchange.wait(step);
    execute(std::span(program.items).first(program.sent_items));
    exchange.send(step);
    execute(std::span(program.items).subspan(program.sent_items));
    exchange.post(step + 2);
  }
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Mpi>(argc, argv); }
