/// Sequential task flow across ranks: each gives all tasks, and runs those whose outputs are its own. The steps of a
/// period are the body of a loop.

#include <algorithm>
#include <deque>
#include <numeric>
#include <vector>

#include "taskgrain/outputs.hpp"
#include "taskgrain/process_system.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/mpi.hpp"
#include "taskgrain/step_classes.hpp"

namespace {

using namespace taskgrain;

constexpr std::int64_t most_tasks = std::int64_t{1} << 24, least_steps = 8;  // of a body
constexpr std::size_t depth = 2;                                             // steps of outputs that are kept

/// The tasks of one graph.
class Flow {
 public:
  Flow(rt::Sequence& sequence, Execution& run, std::size_t g, int ranks, int workers)
      : sequence_(sequence), run_(run), contexts_(run.contexts(workers)), g_(g), graph_(run.graphs()[g]),
        outputs_(graph_, depth, std::int64_t{ranks} * workers) {}
  /// When all ranks have the memory.
  void make_data(int ranks, int workers) {
    for (std::int64_t step = 0; step < static_cast<std::int64_t>(depth); ++step)
      for (std::int64_t i = 0; i < graph_.width(); ++i) {
        const auto core = static_cast<int>(Outputs::owner(graph_, i, std::int64_t{ranks} * workers));
        data_.push_back(sequence_.data(std::span(outputs_.at(step, i), graph_.output_bytes()),
                                       {.home = core % workers, .rank = core / workers}));
      }
  }

  /// After so many steps the tasks repeat themselves, but for those that are not there yet; 0: they do not.
  std::int64_t period() const { return period_of_grown(graph_, static_cast<std::int64_t>(depth)); }
  /// Gives the tasks that a loop has in a step of all its iterations.
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
    return data_[(static_cast<std::size_t>(step) & (depth - 1)) * static_cast<std::size_t>(graph_.width()) +
                 static_cast<std::size_t>(point)];
  }

  rt::Sequence& sequence_;
  Execution& run_;
  std::vector<ThreadContext*> contexts_;
  std::size_t g_;
  const Graph& graph_;
  Outputs outputs_;
  std::vector<rt::Data> data_;
  std::vector<rt::Access> accesses_;
};

class TaskgrainStfRanks final : public ProcessSystem {
 public:
  TaskgrainStfRanks() : ProcessSystem(MPI_THREAD_FUNNELED) {}

  std::string name() const override { return "taskgrain_stf"; }
  std::string version() const override { return std::string(rt::version) + ", " + ProcessSystem::version(); }
  int cores() const override { return ranks() * runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return gather_binding(runtime_.on_each_worker([](int) { return binding_of_this_thread(); }));
  }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    flows_.clear();
    std::int64_t period = 1, width = 0;
    together([&] {
      for (std::size_t g = 0; g < run.graphs().size(); ++g)
        flows_.emplace_back(sequence_, run, g, ranks(), runtime_.workers());
    });
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      flows_[g].make_data(ranks(), runtime_.workers());
      const std::int64_t own = flows_[g].period();
      period = std::min(run.most_steps(), std::lcm(period, own == 0 ? run.most_steps() : own));
      width += run.graphs()[g].width();
    }
    if (period < least_steps) period *= (least_steps + period - 1) / period;
    if (period > most_tasks / width) throw Unsupported("a body of " + std::to_string(period) + " steps is too large");
    period_ = period;
  }

  void execute(Execution& run) override {
    sequence_.loop((run.most_steps() + period_ - 1) / period_, [&] {
      for (std::int64_t step = 0; step < period_; ++step)
        for (Flow& flow : flows_) flow.give(step, period_);
    });
    sequence_.wait();
  }

 private:
  rt::MpiCommunicator comm_{MPI_COMM_WORLD};
  rt::Runtime runtime_{{.cores = own_processors(), .order = rt::Order::oldest, .communicator = &comm_}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else each wait does and undoes it
  rt::Sequence sequence_{runtime_, comm_};
  std::deque<Flow> flows_;
  std::int64_t period_ = 0;  // steps of a body
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainStfRanks>(argc, argv); }
