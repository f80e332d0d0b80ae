/// Compiled graphs: the tasks of a period of steps are a loop body, compiled once; iterations follow each other by
/// carried edges.

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <optional>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

constexpr std::int64_t most_tasks = std::int64_t{1} << 26, most_steps_unrolled = 8;  // of a body

/// The tasks of one graph. A task of the body stands for those of every period.
struct Part {
  Execution& run;
  std::vector<ThreadContext*> workers;
  std::size_t g;
  TaskTable table;
  std::int64_t period = 0;

  void execute(const rt::Turn& turn, const TaskTable::Task& later, std::int64_t first, std::int64_t point) const {
    const std::int64_t step = turn.iteration * period + first;
    if (step >= table.graph().steps() || (step < period && !table.graph().contains(step, point))) return;
    const TaskTable::Task& task = step < period ? table(step, point) : later;
    run.execute_point(*workers[static_cast<std::size_t>(turn.worker)], g, step, point, task.output, task.inputs);
  }

  void add_to(rt::TaskGraph& body) const {
    const Graph& graph = table.graph();
    const std::int64_t steps = std::min(period, graph.steps()), width = graph.width();
    std::vector<rt::TaskGraph::Node> nodes(static_cast<std::size_t>(steps * width));
    const auto node = [&](std::int64_t step, std::int64_t point) -> auto& {
      return nodes[static_cast<std::size_t>((step + steps) % steps * width + point)];
    };
    /// Calls `add(first, later, point)` for each task of the body; `later` is its step in the second period.
    const auto each = [&](const auto& add) {
      for (std::int64_t first = 0, later = period; first < steps; ++first, ++later) {
        const std::int64_t step = later < graph.steps() ? later : first;
        for (std::int64_t i = graph.points(step).first; i <= graph.points(step).last; ++i) add(first, step, i);
      }
    };
    each([&](std::int64_t first, std::int64_t step, std::int64_t i) {
      node(first, i) = body.task(table.owner(i), [this, &later = table(step, i), first, i](const rt::Turn& turn) {
        execute(turn, later, first, i);
      });
    });
    each([&](std::int64_t first, std::int64_t step, std::int64_t i) {
      table.each_before(step, i, [&](std::int64_t back, std::int64_t other) {
        first < back ? body.carried_edge(node(first - back, other), node(first, i))
                     : body.edge(node(first - back, other), node(first, i));
      });
    });
  }
};

class TaskgrainGraph final : public System {
 public:
  std::string name() const override { return "taskgrain_graph"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return runtime_.on_each_worker([](int) { return binding_of_this_thread(); });
  }

  void prepare(Execution& run) override {
    compiled_.reset();
    parts_.clear();
    std::int64_t width = 0, period = 1;
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      const TaskTable& table =
          parts_.emplace_back(Part{run, run.contexts(cores()), g, TaskTable(run.graphs()[g], cores(), 4)}).table;
      width += table.graph().width();
      period = std::min(run.most_steps(), std::lcm(period, table.period() == 0 ? run.most_steps() : table.period()));
    }
    if (period < most_steps_unrolled) period = std::min(run.most_steps(), most_steps_unrolled / period * period);
    if (period > most_tasks / width) throw Unsupported("a body of " + std::to_string(period) + " steps is too large");
    iterations_ = (run.most_steps() + period - 1) / period;
    rt::TaskGraph body("body");
    for (Part& part : parts_) part.period = period, part.add_to(body);
    const char* name = std::getenv("TASKGRAIN_GRAPH_POLICY");  // as a variant of the system says
    const auto policy = rt::policy_from_name(name == nullptr ? "in_order" : name);
    if (!policy) throw InvalidSpec("TASKGRAIN_GRAPH_POLICY", name, rt::policy_names);
    compiled_.emplace(runtime_, std::move(body), *policy);
  }

  void execute(Execution&) override {
    compiled_->launch({.iterations = iterations_});
    runtime_.wait();
  }

 private:
  rt::Runtime runtime_{{.cores = taskgrain::cores(), .order = rt::Order::oldest}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `wait` does and undoes it each time
  std::deque<Part> parts_;
  std::int64_t iterations_ = 0;
  std::optional<rt::CompiledGraph> compiled_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainGraph>(argc, argv); }
