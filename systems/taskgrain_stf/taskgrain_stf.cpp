/// Sequential task flow: one task for each point, given in the order of a sequential program; what comes after what is
/// inferred from the outputs that tasks read and write. With TASKGRAIN_STF_TRACED the steps of a period are the body of
/// a loop, or all steps are a trace.

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <span>
#include <unordered_map>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

constexpr std::int64_t most_tasks = std::int64_t{1} << 24, least_steps = 8;  // of a body

/// The tasks of one graph.
class Flow {
 public:
  Flow(rt::Sequence& sequence, Execution& run, std::size_t g, int cores)
      : sequence_(sequence), run_(run), contexts_(run.contexts(cores)), g_(g), table_(run.graphs()[g], cores, 4) {
    const std::int64_t steps = graph().steps();
    for (std::int64_t step = 0; step < (period() == 0 ? steps : std::min(steps, 2 * period() + 2)); ++step)
      for (std::int64_t i = graph().points(step).first; i <= graph().points(step).last; ++i) add(step, i);
  }

  /// After so many steps the tasks repeat themselves, but for those that are not there yet; 0: they do not.
  std::int64_t period() const { return table_.period(); }
  /// Gives the tasks of a step, or those that a loop of this period has there in all its iterations.
  void give(std::int64_t step, std::int64_t period) {
    const std::int64_t of = step + period < graph().steps() ? step + period : step;
    const auto points = graph().points(of);
    if (points.first > points.last) return;  // a graph of fewer steps than another
    const auto& accesses = accesses_.at(&table_(of, points.first));
    for (std::int64_t i = points.first; i <= points.last; ++i) {
      const TaskTable::Task& later = table_(of, i);
      sequence_.task(accesses[static_cast<std::size_t>(i)],
                     [this, &later, step, period, i](const rt::Turn& turn) { execute(turn, later, step, period, i); });
    }
  }

 private:
  const Graph& graph() const { return table_.graph(); }
  void add(std::int64_t step, std::int64_t point) {
    auto& of_step = accesses_[&table_(step, graph().points(step).first)];
    of_step.resize(static_cast<std::size_t>(graph().width()));
    auto& accesses = of_step[static_cast<std::size_t>(point)];
    if (!accesses.empty()) return;
    const TaskTable::Task& task = table_(step, point);
    const auto [data, is_first] = data_.try_emplace(task.output);
    if (is_first)
      data->second = sequence_.data(std::span(task.output, graph().output_bytes()), {.home = table_.owner(point)});
    accesses.push_back(write(data->second));
    for (const std::byte* const input : task.inputs) accesses.push_back(read(data_.at(input)));
  }
  void execute(const rt::Turn& turn, const TaskTable::Task& later, std::int64_t first, std::int64_t period,
               std::int64_t point) const {
    const std::int64_t step = turn.iteration * period + first;
    if (step >= graph().steps() || (step < period && !graph().contains(step, point))) return;
    const TaskTable::Task& task = step < period ? table_(step, point) : later;
    run_.execute_point(*contexts_[static_cast<std::size_t>(turn.worker)], g_, step, point, task.output, task.inputs);
  }

  rt::Sequence& sequence_;
  Execution& run_;
  std::vector<ThreadContext*> contexts_;
  std::size_t g_;
  TaskTable table_;
  std::unordered_map<const std::byte*, rt::Data> data_;                                        // by output
  std::unordered_map<const TaskTable::Task*, std::vector<std::vector<rt::Access>>> accesses_;  // by step, and by point
};

class TaskgrainStf final : public System {
 public:
  std::string name() const override { return "taskgrain_stf"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    flows_.clear();
    for (std::size_t g = 0; g < run.graphs().size(); ++g) flows_.emplace_back(sequence_, run, g, cores());
    period_ = 0;
    if (std::getenv("TASKGRAIN_STF_TRACED") == nullptr) return;
    std::int64_t period = 1, width = 0;
    for (std::size_t g = 0; g < flows_.size(); ++g) {
      const std::int64_t own = flows_[g].period();
      period = std::min(run.most_steps(), std::lcm(period, own == 0 ? run.most_steps() : own));
      width += run.graphs()[g].width();
    }
    if (period < least_steps) period *= (least_steps + period - 1) / period;
    if (period > most_tasks / width) throw Unsupported("a body of " + std::to_string(period) + " steps is too large");
    period_ = period;
  }

  void execute(Execution& run) override {
    const std::int64_t steps = run.most_steps();
    const auto give = [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t step = first; step < end; ++step)
        for (Flow& flow : flows_) flow.give(step, period_);
    };
    if (period_ == 0)
      give(0, steps);
    else if (period_ < steps)
      sequence_.loop((steps + period_ - 1) / period_, [&] { give(0, period_); });
    else
      sequence_.trace(0, [&] { give(0, steps); });
    sequence_.wait();
  }

 private:
  rt::Runtime runtime_{{.cores = taskgrain::cores(), .order = rt::Order::oldest}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else each wait does and undoes it
  rt::Sequence sequence_{runtime_};
  std::deque<Flow> flows_;
  std::int64_t period_ = 0;  // steps of a body; 0: there is none
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainStf>(argc, argv); }
