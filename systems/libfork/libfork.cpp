/// Fork-join: in each step the tasks of all graphs are forked, half by half, and joined.

#include <libfork.hpp>

#include <algorithm>
#include <climits>
#include <future>
#include <ranges>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/step_tasks.hpp"

namespace {

using namespace taskgrain;

thread_local std::size_t worker = 0;  // of the pool, on its threads

/// Calls a function on a worker. The library itself binds workers only to the processors that it chooses.
inline constexpr auto call_on = [](auto, lf::worker_context* where, auto function) -> lf::task<> {
  co_await lf::resume_on(where);
  function();
};

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
  Libfork() {
    // What cannot be bound is said here, whatever the pool does with an exception.
    std::async(std::launch::async, [this] { std::ranges::for_each(processors_, pin_this_thread); }).get();
    for (std::size_t k = 0; k < processors_.size(); ++k)
      lf::sync_wait(pool_, call_on, pool_.contexts()[k], [this, k] {
        worker = k;
        pin_this_thread(processors_[k]);
        binding_[k] = binding_of_this_thread();
      });
  }

  std::string name() const override { return "libfork"; }
  std::string version() const override {
    return std::to_string(LF_VERSION_MAJOR) + "." + std::to_string(LF_VERSION_MINOR) + "." +
           std::to_string(LF_VERSION_PATCH);
  }
  int cores() const override { return static_cast<int>(processors_.size()); }
  std::vector<std::vector<int>> binding() override { return binding_; }

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

  void execute(Execution& run) override { lf::sync_wait(pool_, execute_steps, *this, run); }

  void execute_task(Execution& run, std::int64_t step, StepTasks::Task task) const {
    const Outputs& outputs = outputs_[task.graph];
    thread_local std::vector<const std::byte*> space;
    run.execute_point(*contexts_[worker], task.graph, step, task.point, outputs.at(step, task.point),
                      outputs.inputs(step, task.point, space));
  }

 private:
  const std::vector<int> processors_ = taskgrain::cores();
  std::vector<std::vector<int>> binding_ = std::vector<std::vector<int>>(processors_.size());
  std::vector<ThreadContext*> contexts_;
  std::vector<Outputs> outputs_;
  lf::lazy_pool pool_{processors_.size()};  // the pool that its README advises
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Libfork>(argc, argv); }
