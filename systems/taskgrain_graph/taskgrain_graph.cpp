/// Compiled graphs: all tasks of a period of steps are a loop body, compiled once; its iterations follow each other by carried edges.

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;

constexpr std::int64_t most_tasks = std::int64_t{1} << 26;  // of a body

/// A task of the body; it stands for those of every period.
struct Item {
  Execution* run;
  Worker* const* workers;
  std::size_t graph;
  std::int64_t step, period, steps, point;
  const TaskTable::Task* later;

  void operator()(const rt::Turn& turn) const {
    const std::int64_t now = turn.iteration * period + step;
    if (now >= steps) return;
    run->execute_point(*workers[turn.worker], graph, now, point, later->output, now == 0 ? std::span<const std::byte* const>() : later->inputs);
  }
};

class TaskgrainGraph final : public System {
 public:
  std::string name() const override { return "taskgrain_graph"; }
  std::string version() const override { return rt::version; }
  int cores() const override { return runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    std::vector<std::vector<int>> binding(static_cast<std::size_t>(cores()));
    runtime_.on_each_worker([&](int worker) { binding[static_cast<std::size_t>(worker)] = binding_of_this_thread(); });
    return binding;
  }

  void prepare(Execution& run) override {
    compiled_.reset();
    tables_.clear();
    items_.clear();
    workers_.clear();
    for (int k = 0; k < cores(); ++k) workers_.push_back(&run.worker(static_cast<std::size_t>(k)));
    std::int64_t width = 0, period = 1;
    for (const Graph& graph : run.graphs()) {
      tables_.emplace_back(graph);
      width += graph.width();
      const std::int64_t own = tables_.back().period() == 0 ? run.most_steps() : tables_.back().period();
      period = std::min(run.most_steps(), std::lcm(period, own));
    }
    if (period < most_steps_unrolled) period = std::min(run.most_steps(), most_steps_unrolled / period * period);
    if (period > most_tasks / width) throw Unsupported("a period of " + std::to_string(period) + " steps of width " + std::to_string(width) + " is too large to compile");
    iterations_ = (run.most_steps() + period - 1) / period;
    rt::TaskGraph body("body");
    for (std::size_t g = 0; g < tables_.size(); ++g) add(body, run, g, period);
    compiled_.emplace(runtime_, std::move(body), policy());
  }

  void execute(Execution&) override {
    compiled_->launch({.iterations = iterations_});
    runtime_.wait();
  }

 private:
  static constexpr std::int64_t most_steps_unrolled = 8;

  /// As a variant of the system says.
  static rt::Policy policy() {
    const char* wished = std::getenv("TASKGRAIN_GRAPH_POLICY");
    const std::string name = wished == nullptr ? "in_order" : wished;
    if (name == "in_order") return rt::Policy::in_order;
    if (name == "ready_queue") return rt::Policy::ready_queue;
    if (name == "stealing") return rt::Policy::stealing;
    throw InvalidSpec("TASKGRAIN_GRAPH_POLICY", name, "in_order, ready_queue, stealing");
  }

  void add(rt::TaskGraph& body, Execution& run, std::size_t g, std::int64_t period) {
    const TaskTable& table = tables_[g];
    const Graph& graph = table.graph();
    const std::int64_t steps = graph.steps(), width = graph.width();
    std::vector<std::vector<rt::TaskGraph::Node>> nodes(static_cast<std::size_t>(std::min(period, steps)));
    const auto later = [&](std::int64_t step) { return step + period < steps ? step + period : step; };
    const auto node = [&](std::int64_t step, std::int64_t point) {
      return nodes[static_cast<std::size_t>(step)][static_cast<std::size_t>(point - graph.points(step).first)];
    };
    for (std::int64_t step = 0; step < static_cast<std::int64_t>(nodes.size()); ++step) {
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point) {
        const TaskTable::Task& task = table(later(step), point);
        const Item& item = items_.emplace_back(Item{&run, workers_.data(), g, step, period, steps, point, &task});
        nodes[static_cast<std::size_t>(step)].push_back(
            body.task(static_cast<int>(point * cores() / width), [&item](const rt::Turn& turn) { item(turn); }));
        if (step > 0)
          for (const std::int64_t before : task.before) body.edge(node(step - 1, before), node(step, point));
      }
    }
    if (period < steps)
      for (std::int64_t point = 0; point < width; ++point)
        for (const std::int64_t before : table(period, point).before) body.carried_edge(node(period - 1, before), node(0, point));
  }

  rt::Runtime runtime_{{.cores = taskgrain::cores(), .order = rt::Order::oldest}};
  std::vector<Worker*> workers_;
  std::deque<TaskTable> tables_;
  std::deque<Item> items_;
  std::int64_t iterations_ = 0;
  std::optional<rt::CompiledGraph> compiled_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainGraph>(argc, argv); }
