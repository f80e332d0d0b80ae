/// A parametrised task graph: a task says how many come before it, what it does, and which come after it.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

struct Task {
  std::uint32_t step, point;
};

/// The tasks of one graph.
struct Tasks {
  static constexpr std::size_t at_once = 16;

  Execution* execution;
  std::size_t g, width;
  TaskTable table;
  std::vector<ThreadContext*> contexts;

  int worker(Task task) const { return table.owner(task.point); }
  std::size_t number(Task task) const { return task.step * width + task.point; }
  int indegree(Task task) const {
    return static_cast<int>(table(task.step, task.point).before.size() +
                            table(task.step, task.point).far_before.size());
  }
  void run(Task task) const {
    const TaskTable::Task& found = table(task.step, task.point);
    execution->execute_point(*contexts[static_cast<std::size_t>(rt::this_worker())], g, task.step, task.point,
                             found.output, found.inputs);
  }
  void after(Task task, auto notify) const {
    table.each_after_by_core(task.step, task.point, [&](int core, std::int64_t step, auto points) {
      notify(core, points, [=](std::int64_t next) { return task_of(step, next); });
    });
  }
  static Task task_of(std::int64_t step, std::int64_t point) {
    return {static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(point)};
  }
};

class TaskgrainPtg final : public System {
 public:
  std::string name() const override { return "taskgrain_ptg"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    flows_.clear();
    for (std::size_t g = 0; const Graph& graph : run.graphs()) {
      if (std::max(graph.width(), graph.steps()) > UINT32_MAX)
        throw Unsupported("steps and points are numbered up to 2^32 - 1");
      const auto width = static_cast<std::size_t>(graph.width());
      flows_.emplace_back(runtime_, Tasks{&run, g++, width, TaskTable(graph, cores()), run.contexts(cores())});
    }
  }

  void execute(Execution&) override {
    for (auto& flow : flows_)
      for (const auto& [step, point] : flow.tasks().table.roots()) flow.fulfill(Tasks::task_of(step, point));
    runtime_.wait();
  }

 private:
  rt::Runtime runtime_{{.cores = taskgrain::cores(), .order = rt::Order::oldest}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `wait` does and undoes it each time
  std::deque<rt::Taskflow<Task, Tasks>> flows_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainPtg>(argc, argv); }
