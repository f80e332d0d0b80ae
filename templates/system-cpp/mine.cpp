/// A system of your own. It submits a task to the runtime when all tasks that it comes after are done.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "pool.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

/// The tasks of one graph. `TaskTable` knows where each of them writes and reads, and which tasks come before and after
/// it.
class Tasks {
 public:
  Tasks(Pool& pool, Execution& run, std::size_t g)
      : pool_(pool), run_(run), g_(g), table_(run.graphs()[g]), roots_(table_.roots()),
        contexts_(run.contexts(pool.threads())) {
    const Graph& graph = table_.graph();
    missing_ = std::vector<std::atomic<std::size_t>>(static_cast<std::size_t>(graph.steps() * graph.width()));
    for (std::int64_t step = 0; step < graph.steps(); ++step)
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point)
        missing(step, point) = table_(step, point).before.size();
  }

  void submit_roots() {
    for (const auto& [step, point] : roots_) submit(step, point);
  }

 private:
  void submit(std::int64_t step, std::int64_t point) {
    pool_.submit([this, step, point](int thread) { execute(thread, step, point); });
  }

  void execute(int thread, std::int64_t step, std::int64_t point) {
    const TaskTable::Task& task = table_(step, point);
    missing(step, point) = task.before.size();  // for the next repeat
    run_.execute_point(*contexts_[static_cast<std::size_t>(thread)], g_, step, point, task.output, task.inputs);
    for (const std::int64_t next : table_.after(step, point))
      if (--missing(step + 1, next) == 0) submit(step + 1, next);
  }

  std::atomic<std::size_t>& missing(std::int64_t step, std::int64_t point) {
    return missing_[static_cast<std::size_t>(step * table_.graph().width() + point)];
  }

  Pool& pool_;
  Execution& run_;
  const std::size_t g_;
  const TaskTable table_;
  const std::vector<TaskTable::Root> roots_;
  const std::vector<ThreadContext*> contexts_;     // one for each thread
  std::vector<std::atomic<std::size_t>> missing_;  // of each task: how many that it comes after are not done
};

class Mine final : public System {
 public:
  std::string name() const override { return "mine"; }
  std::string version() const override { return "1"; }  // of your runtime: ask it
  int cores() const override { return pool_.threads(); }
  std::vector<std::vector<int>> binding() override { return pool_.binding(); }

  /// Not timed: whatever your runtime's users do once, ahead of many runs of a graph.
  void prepare(Execution& run) override {
    graphs_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) graphs_.push_back(std::make_unique<Tasks>(pool_, run, g));
  }

  /// Timed.
  void execute(Execution&) override {
    for (auto& graph : graphs_) graph->submit_roots();
    pool_.wait();
  }

 private:
  Pool pool_{taskgrain::cores()};
  std::vector<std::unique_ptr<Tasks>> graphs_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Mine>(argc, argv); }
