/// Senders on a pool of threads: a bulk operation over the tasks of all graphs, repeated for each step.

#include <exec/repeat_n.hpp>
#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <algorithm>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/step_tasks.hpp"

namespace {

using namespace taskgrain;

thread_local std::size_t worker = 0;  // of the pool, on its threads

class Stdexec final : public System {
 public:
  Stdexec() {
    // What cannot be bound is said here: below, the other threads would wait for one that has failed.
    std::async(std::launch::async, [this] { std::ranges::for_each(processors_, pin_this_thread); }).get();
    std::latch all(cores());  // while each waits for the others, none has two shares
    stdexec::sync_wait(stdexec::schedule(pool_.get_scheduler()) |
                       stdexec::bulk(stdexec::par, processors_.size(), [&](std::size_t k) {
                         worker = k;
                         pin_this_thread(processors_[k]);
                         binding_[k] = binding_of_this_thread();
                         all.arrive_and_wait();
                       }));
  }

  std::string name() const override { return "stdexec"; }
  std::string version() const override { return TASKGRAIN_STDEXEC_VERSION; }
  int cores() const override { return static_cast<int>(processors_.size()); }
  std::vector<std::vector<int>> binding() override { return binding_; }

  void prepare(Execution& run) override {
    outputs_.clear();
    contexts_ = run.contexts(cores());
    for (const Graph& graph : run.graphs()) outputs_.emplace_back(graph);
  }

  void execute(Execution& run) override {
    std::int64_t step = 0;
    auto one_step =
        stdexec::just() | stdexec::let_value([&] {
          const StepTasks tasks(run.graphs(), step);
          return stdexec::schedule(pool_.get_scheduler()) |
                 stdexec::bulk(stdexec::par, tasks.size(),
                               [&, tasks](std::int64_t number) { execute_task(run, step, tasks[number]); }) |
                 stdexec::then([&] { ++step; });
        });
    stdexec::sync_wait(std::move(one_step) | exec::repeat_n(static_cast<std::size_t>(run.most_steps())));
  }

 private:
  void execute_task(Execution& run, std::int64_t step, StepTasks::Task task) const {
    const Outputs& outputs = outputs_[task.graph];
    thread_local std::vector<const std::byte*> space;
    run.execute_point(*contexts_[worker], task.graph, step, task.point, outputs.at(step, task.point),
                      outputs.inputs(step, task.point, space));
  }

  const std::vector<int> processors_ = taskgrain::cores();
  std::vector<std::vector<int>> binding_ = std::vector<std::vector<int>>(processors_.size());
  std::vector<ThreadContext*> contexts_;
  std::vector<Outputs> outputs_;
  exec::static_thread_pool pool_{static_cast<std::uint32_t>(processors_.size())};
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Stdexec>(argc, argv); }
