/// Sequential task flow: one task for each point, given in the order of a sequential program; what comes after what is
/// inferred from the outputs that tasks read and write. With TASKGRAIN_STF_TRACED the steps of a period are the body of
/// a loop, or all steps are a trace.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/step_classes.hpp"

namespace {

using namespace taskgrain;

constexpr std::int64_t most_tasks = std::int64_t{1} << 24, least_steps = 8;  // of a body
constexpr std::size_t most_bytes = std::size_t{1} << 15;                     // of outputs, unless two steps are more

/// Steps of outputs that are kept, a power of two: a task that writes over one comes after those that read it.
std::size_t depth(const Graph& graph) {
  const std::size_t step = static_cast<std::size_t>(graph.width()) * Outputs::stride_of(graph, 1);
  return std::bit_floor(std::clamp<std::size_t>(most_bytes / step, 2, least_steps));
}

/// The tasks of one graph.
class Flow {
 public:
  Flow(rt::Sequence& sequence, Execution& run, std::size_t g, std::int64_t cores)
      : sequence_(sequence), run_(run), contexts_(run.contexts(static_cast<int>(cores))), g_(g),
        graph_(run.graphs()[g]), depth_(depth(graph_)), outputs_(graph_, depth_, cores) {
    for (std::int64_t step = 0; step < static_cast<std::int64_t>(depth_); ++step)
      for (std::int64_t i = 0; i < graph_.width(); ++i)
        data_.push_back(sequence.data(std::span(outputs_.at(step, i), graph_.output_bytes()),
                                      {.home = static_cast<int>(Outputs::owner(graph_, i, cores))}));
  }

  /// After so many steps the tasks repeat themselves, but for those that are not there yet; 0: they do not.
  std::int64_t period() const { return period_of_grown(graph_, static_cast<std::int64_t>(depth_)); }
  /// Gives the tasks of a step, or those that a loop has there in all its iterations.
  void give(std::int64_t step, std::int64_t period) {
    const std::int64_t of = step + period < graph_.steps() ? step + period : step;
    for (std::int64_t i = graph_.points(of).first; i <= graph_.points(of).last; ++i) {
      accesses_.assign({write(data(step, i))});
      for (const Interval deps : graph_.deps(of, i))
        for (std::int64_t dep = deps.first; dep <= deps.last; ++dep) accesses_.push_back(read(data(step - 1, dep)));
      sequence_.task(accesses_, [this, step, period, i](const rt::Turn& turn) {
        execute(turn.worker, step + turn.iteration * period, i);
      });
    }
  }

 private:
  void execute(int worker, std::int64_t step, std::int64_t point) {
    thread_local std::vector<const std::byte*> inputs;
    if (step >= graph_.steps() || !graph_.contains(step, point)) return;
    run_.execute_point(*contexts_[static_cast<std::size_t>(worker)], g_, step, point, outputs_.at(step, point),
                       outputs_.inputs(step, point, inputs));
  }
  const rt::Data& data(std::int64_t step, std::int64_t point) const {
    return data_[(static_cast<std::size_t>(step) & (depth_ - 1)) * static_cast<std::size_t>(graph_.width()) +
                 static_cast<std::size_t>(point)];
  }

  rt::Sequence& sequence_;
  Execution& run_;
  std::vector<ThreadContext*> contexts_;
  std::size_t g_;
  const Graph& graph_;
  std::size_t depth_;
  Outputs outputs_;
  std::vector<rt::Data> data_;
  std::vector<rt::Access> accesses_;
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
