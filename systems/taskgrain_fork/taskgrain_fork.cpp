/// Fork-join: in each step a `parallel_for` over the tasks of all graphs.

#include <ranges>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/step_tasks.hpp"

namespace {

using namespace taskgrain;

class TaskgrainFork final : public System {
 public:
  std::string name() const override { return "taskgrain_fork"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    contexts_ = run.contexts(cores());
    outputs_.clear();
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph);
  }

  void execute(Execution& run) override {
    rt::fork_join(runtime_, [&] {
      for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
        const StepTasks tasks(run.graphs(), step);
        rt::parallel_for(runtime_, std::views::iota(std::int64_t{0}, tasks.size()), [&, tasks](std::int64_t number) {
          const auto [g, point] = tasks[number];
          const Outputs& outputs = outputs_[g];
          thread_local std::vector<const std::byte*> space;
          run.execute_point(*contexts_[static_cast<std::size_t>(rt::this_worker())], g, step, point,
                            outputs.at(step, point), outputs.inputs(step, point, space));
        });
      }
    });
  }

 private:
  rt::Runtime runtime_{{.cores = taskgrain::cores()}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `fork_join` does and undoes it each time
  std::vector<ThreadContext*> contexts_;
  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainFork>(argc, argv); }
