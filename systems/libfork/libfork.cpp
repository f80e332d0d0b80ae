/// Fork-join: in each step the tasks of all graphs are forked, half by half, and joined.

#include <climits>
#include <ranges>
#include <string>
#include <vector>

#include "pool.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/step_tasks.hpp"

namespace {

using namespace taskgrain;

inline constexpr auto execute_steps = [](auto, const auto& system, Execution& run) -> lf::task<> {
  for (std::int64_t step = 0, steps = run.most_steps(); step < steps; ++step) {
    const StepTasks tasks(run.graphs(), step);
    const auto numbers = std::views::iota(0, static_cast<int>(tasks.size()));
    co_await lf::call(lf::for_each)(numbers.begin(), numbers.end(), [&system, &run, &tasks, step](int number) {
      system.execute_task(run, step, tasks[number]);
    });
    co_await lf::join;  // throws what a task has thrown
  }
};

class Libfork final : public System {
 public:
  std::string name() const override { return "libfork"; }
  std::string version() const override { return Pool::version(); }
  int cores() const override { return static_cast<int>(workers_.processors.size()); }
  std::vector<std::vector<int>> binding() override { return workers_.binding; }

  void prepare(Execution& run) override {
    outputs_.clear();
    contexts_ = run.contexts(cores());
    std::int64_t width = 0;
    for (const Graph& graph : run.graphs()) {
      if (graph.width() > INT_MAX - width) throw Unsupported("libfork: more than 2^31 - 1 tasks in a step");
      width += graph.width();
      outputs_.emplace_back(graph);
    }
  }

  void execute(Execution& run) override { lf::sync_wait(workers_.pool, execute_steps, *this, run); }

  void execute_task(Execution& run, std::int64_t step, StepTasks::Task task) const {
    const Outputs& outputs = outputs_[task.graph];
    thread_local std::vector<const std::byte*> space;
    run.execute_point(*contexts_[this_worker()], task.graph, step, task.point, outputs.at(step, task.point),
                      outputs.inputs(step, task.point, space));
  }

 private:
  Pool workers_;
  std::vector<ThreadContext*> contexts_;
  std::vector<Outputs> outputs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Libfork>(argc, argv); }
