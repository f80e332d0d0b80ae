/// A parametrised task graph: a task says how many come before it, runs, and tells those that come after it.

#include <memory>
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
class Flow {
 public:
  Flow(rt::Runtime& runtime, Execution& run, std::size_t g)
      : run_(run), g_(g), table_(run.graphs()[g]), contexts_(run.contexts(runtime.workers())), tasks_(runtime) {
    const std::int64_t width = table_.graph().width();
    if (std::max(width, table_.graph().steps()) > UINT32_MAX)
      throw Unsupported("steps and points are numbered up to 2^32 - 1");
    for (std::int64_t point = 0; point < width; ++point)
      owner_.push_back(static_cast<int>(point * runtime.workers() / width));
    tasks_.indegree([this](Task task) { return static_cast<int>(table_(task.step, task.point).before.size()); });
    tasks_.worker([this](Task task) { return owner_[task.point]; }).run([this](Task task) { execute(task); });
  }

  void begin() {
    for (const auto& [step, point] : roots_) fulfill(step, point);
  }

 private:
  void fulfill(std::int64_t step, std::int64_t point) {
    tasks_.fulfill({static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(point)});
  }

  void execute(Task task) {
    const auto& [output, inputs, before] = table_(task.step, task.point);
    run_.execute_point(*contexts_[static_cast<std::size_t>(rt::this_worker())], g_, task.step, task.point, output,
                       inputs);
    for (const std::int64_t point : table_.after(task.step, task.point)) fulfill(std::int64_t{task.step} + 1, point);
  }

  Execution& run_;
  const std::size_t g_;
  const TaskTable table_;
  const std::vector<TaskTable::Root> roots_ = table_.roots();
  const std::vector<ThreadContext*> contexts_;
  std::vector<int> owner_;  // of each point: the worker that counts for it
  rt::Taskflow<Task> tasks_;
};

class TaskgrainPtg final : public System {
 public:
  TaskgrainPtg() { pin_this_thread(runtime_.cores()[0]); }  // for good: `wait` would do and undo it each time

  std::string name() const override { return "taskgrain_ptg"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    flows_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) flows_.push_back(std::make_unique<Flow>(runtime_, run, g));
  }

  void execute(Execution&) override {
    for (auto& flow : flows_) flow->begin();
    runtime_.wait();
  }

 private:
  rt::Runtime runtime_{{.cores = taskgrain::cores(), .order = rt::Order::oldest}};
  std::vector<std::unique_ptr<Flow>> flows_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainPtg>(argc, argv); }
