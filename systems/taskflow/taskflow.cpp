/// A graph of one task for each point, with an edge for each dependence, made ahead and run as often as wanted:
/// Taskflow's way for a graph that is known.

#include <taskflow/taskflow.hpp>

#include <algorithm>
#include <deque>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

thread_local std::size_t worker = 0;  // of the executor, on its threads

/// Binds each worker, before it takes work.
class Pin final : public tf::WorkerInterface {
 public:
  explicit Pin(const std::vector<int>& processors)
      : processors_(processors), binding_(processors.size()), started_(static_cast<std::ptrdiff_t>(processors.size())) {
  }

  void scheduler_prologue(tf::Worker& started) override {
    worker = started.id();
    pin_this_thread(processors_[worker]);
    binding_[worker] = binding_of_this_thread();
    started_.count_down();
  }
  void scheduler_epilogue(tf::Worker&, std::exception_ptr) override {}

  const std::vector<std::vector<int>>& binding() const {
    started_.wait();
    return binding_;
  }

 private:
  const std::vector<int> processors_;
  std::vector<std::vector<int>> binding_;  // [k] written by worker k
  std::latch started_;
};

class Taskflow final : public System {
 public:
  std::string name() const override { return "taskflow"; }
  std::string version() const override { return tf::version(); }
  int cores() const override { return static_cast<int>(processors_.size()); }
  std::vector<std::vector<int>> binding() override { return pin_->binding(); }

  void prepare(Execution& run) override {
    flow_.clear();
    tables_.clear();
    contexts_ = run.contexts(cores());
    for (const Graph& graph : run.graphs()) add(run, tables_.emplace_back(graph));
  }

  void execute(Execution&) override { executor_.run(flow_).get(); }

 private:
  /// Outputs are kept for two steps, so a task also comes after those that read what it writes over.
  void add(Execution& run, const TaskTable& table) {
    const Graph& graph = table.graph();
    const auto g = static_cast<std::size_t>(graph.index());
    std::vector<tf::Task> before, now;
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      now.assign(static_cast<std::size_t>(graph.width()), {});
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point) {
        const TaskTable::Task& task = table(step, point);
        tf::Task& node = now[static_cast<std::size_t>(point)] = flow_.emplace([this, &run, &task, g, step, point] {
          run.execute_point(*contexts_[worker], g, step, point, task.output, task.inputs);
        });
        for (const std::int64_t other : task.before) node.succeed(before[static_cast<std::size_t>(other)]);
      }
      before.swap(now);
    }
  }

  /// What cannot be bound is said here: an exception of a worker's would end the process.
  static std::vector<int> bindable(std::vector<int> processors) {
    std::async(std::launch::async, [&] { std::ranges::for_each(processors, pin_this_thread); }).get();
    return processors;
  }

  const std::vector<int> processors_ = bindable(taskgrain::cores());
  std::vector<ThreadContext*> contexts_;
  std::deque<TaskTable> tables_;
  tf::Taskflow flow_;
  const std::shared_ptr<Pin> pin_ = tf::make_worker_interface<Pin>(processors_);
  tf::Executor executor_{processors_.size(), pin_};
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Taskflow>(argc, argv); }
