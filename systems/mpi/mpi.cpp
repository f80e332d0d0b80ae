/// Communicating sequential processes: one rank for each core, non-blocking point-to-point messages.
///
/// Receives are posted two steps ahead; what other ranks need is computed first and sent at once, and travels while the rest of
/// the step is computed. Several graphs take turns step by step, so that one's messages travel during the other's tasks.

#include <memory>
#include <string>
#include <vector>

#include "exchange.hpp"
#include "taskgrain/process_system.hpp"

namespace {

using namespace taskgrain;

class Mpi final : public ProcessSystem {
 public:
  Mpi() : ProcessSystem(MPI_THREAD_SINGLE) {
    const std::vector<int> processors = taskgrain::cores();
    pin_this_thread(processors[static_cast<std::size_t>(rank_on_node()) % processors.size()]);
  }

  std::string name() const override { return "mpi"; }
  int cores() const override { return ranks(); }
  std::vector<std::vector<int>> binding() override { return gather_binding({binding_of_this_thread()}); }

  void prepare(Execution& run) override {
    check_tags(run.graphs().size());
    if (ranks() > 1) run.distribute();
    exchanges_.clear();
    for (const Graph& graph : run.graphs())
      exchanges_.push_back(std::make_unique<Exchange>(graph, rank(), ranks(), [&](int r) { return columns(graph, r); }));
  }

  void execute(Execution& run) override {
    Worker& worker = run.worker(0);
    for (auto& exchange : exchanges_) exchange->post(1);
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step)
      for (std::size_t g = 0; g < exchanges_.size(); ++g)
        if (step < exchanges_[g]->steps()) execute_step(run, worker, g, step);
    for (auto& exchange : exchanges_) exchange->finish();
  }

 private:
  void execute_step(Execution& run, Worker& worker, std::size_t g, std::int64_t step) {
    Exchange& exchange = *exchanges_[g];
    const Program& program = exchange.program(step);
    const auto execute = [&](std::span<const Item> items) {
      for (const Item& item : items) run.execute_point(worker, g, step, item.point, item.output, item.inputs);
    };
    exchange.wait(step);
    execute(std::span(program.items).first(program.sent_items));
    exchange.send(step);
    execute(std::span(program.items).subspan(program.sent_items));
    exchange.post(step + 2);
  }

  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Mpi>(argc, argv); }
