/// What a specialist would write by hand for a known graph: each core owns a block of columns, knows ahead whom it must
/// wait for, and spins on one counter per core. No runtime, no queue, no lock, no allocation.

#include <algorithm>
#include <string>
#include <vector>

#include "plan.hpp"
#include "taskgrain/driver.hpp"
#include "team.hpp"

namespace {

using namespace taskgrain;

class Limit final : public System {
 public:
  std::string name() const override { return "limit"; }
  std::string version() const override { return "2"; }
  int cores() const override { return team_.size(); }

  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> binding(static_cast<std::size_t>(team_.size()));
    team_.run([&](int core) { binding[static_cast<std::size_t>(core)] = binding_of_this_thread(); });
    return binding;
  }

  void prepare(Execution& run) override {
    plans_.clear();
    for (const Graph& graph : run.graphs()) plans_.push_back(std::make_unique<Plan>(graph, team_.size()));
  }

  void execute(Execution& run) override {
    for (auto& plan : plans_) plan->reset();
    team_.run([&](int core) { execute_core(run, core); });
  }

 private:
  void execute_core(Execution& run, int core) {
    ThreadContext& context = run.context(static_cast<std::size_t>(core));
    for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
      for (std::size_t g = 0; g < plans_.size(); ++g) {
        if (step >= plans_[g]->graph().steps()) continue;
        Plan& plan = *plans_[g];
        const std::int64_t start = step * plan.graph().width();
        for (const Item& item : plan.program(step, core)) {
          for (const Wait& wait : item.waits) plan.wait(core, wait, start);
          if (item.output != nullptr) run.execute_point(context, g, step, item.point, item.output, item.inputs);
          if (item.done != 0) plan.report(core, item, start);
        }
      }
    }
  }

  Team team_{taskgrain::cores()};
  std::vector<std::unique_ptr<Plan>> plans_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Limit>(argc, argv); }
