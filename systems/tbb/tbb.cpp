/// A dependence graph of `continue_node`s, one for each task, made ahead and run as often as wanted: oneTBB's way for a
/// graph that is known.

#include <tbb/flow_graph.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "arena.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;
using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

/// The nodes of one graph. Outputs are kept for two steps, so a task also comes after those that read what it writes
/// over.
struct Part {
  Part(tbb::flow::graph& flow, Execution& run, const std::vector<ThreadContext*>& workers, std::size_t g)
      : table(run.graphs()[g]) {
    const Graph& graph = table.graph();
    std::vector<Node*> before, now;
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      now.assign(static_cast<std::size_t>(graph.width()), nullptr);
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point) {
        const TaskTable::Task& task = table(step, point);
        Node& node = nodes.emplace_back(flow, [&run, &workers, &task, g, step, point](tbb::flow::continue_msg) {
          run.execute_point(*workers[slot()], g, step, point, task.output, task.inputs);
        });
        now[static_cast<std::size_t>(point)] = &node;
        for (const std::int64_t other : task.before)
          tbb::flow::make_edge(*before[static_cast<std::size_t>(other)], node);
        if (task.before.empty()) roots.push_back(&node);
      }
      before.swap(now);
    }
  }

  TaskTable table;
  std::deque<Node> nodes;
  std::vector<Node*> roots;
};

class Tbb final : public System {
 public:
  std::string name() const override { return "tbb"; }
  std::string version() const override { return TBB_runtime_version(); }
  int cores() const override { return static_cast<int>(threads_.pin.seen()); }
  std::vector<std::vector<int>> binding() override { return threads_.pin.binding(); }

  void prepare(Execution& run) override {
    parts_.clear();
    flow_.reset();
    contexts_ = run.contexts(static_cast<int>(threads_.processors.size()));
    threads_.arena.execute([&] {
      flow_ = std::make_unique<tbb::flow::graph>();
      for (std::size_t g = 0; g < run.graphs().size(); ++g) parts_.emplace_back(*flow_, run, contexts_, g);
    });
  }

  void execute(Execution&) override {
    threads_.arena.execute([&] {
      for (Part& part : parts_)
        for (Node* root : part.roots) root->try_put({});
      flow_->wait_for_all();
    });
  }

 private:
  Arena threads_;
  std::vector<ThreadContext*> contexts_;
  std::unique_ptr<tbb::flow::graph> flow_;
  std::deque<Part> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Tbb>(argc, argv); }
