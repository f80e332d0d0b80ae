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
    auto one_step = stdexec::just() | stdexec::let_value([&] {
                      return stdexec::schedule(pool_.get_scheduler()) |
                             stdexec::bulk(stdexec::par, tasks(run, step),
                                           [&](std::int64_t number) { execute_task(run, step, number); }) |
                             stdexec::then([&] { ++step; });
                    });
    stdexec::sync_wait(std::move(one_step) | exec::repeat_n(static_cast<std::size_t>(run.most_steps())));
  }

 private:
  /// How many there are in a step, of all graphs.
  static std::int64_t tasks(const Execution& run, std::int64_t step) {
    std::int64_t sum = 0;
    for (const Graph& graph : run.graphs()) sum += graph.points(step).size();
    return sum;
  }
  void execute_task(Execution& run, std::int64_t step, std::int64_t number) const {
    std::size_t g = 0;
    for (; number >= run.graphs()[g].points(step).size(); ++g) number -= run.graphs()[g].points(step).size();
    const std::int64_t point = run.graphs()[g].points(step).first + number;
    thread_local std::vector<const std::byte*> space;
    run.execute_point(*contexts_[worker], g, step, point, outputs_[g].at(step, point),
                      outputs_[g].inputs(step, point, space));
  }

  const std::vector<int> processors_ = taskgrain::cores();
  std::vector<std::vector<int>> binding_ = std::vector<std::vector<int>>(processors_.size());
  std::vector<ThreadContext*> contexts_;
  std::vector<Outputs> outputs_;
  exec::static_thread_pool pool_{static_cast<std::uint32_t>(processors_.size())};
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Stdexec>(argc, argv); }
