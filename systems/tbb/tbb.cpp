/// A dependence graph of `continue_node`s, one for each task, made ahead and run as often as wanted: oneTBB's way for a
/// graph that is known.

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;
using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

std::size_t slot() { return static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()); }

/// Binds each thread that enters the arena to the processor of its slot.
class Pin final : public tbb::task_scheduler_observer {
 public:
  Pin(tbb::task_arena& arena, std::vector<int> processors)
      : task_scheduler_observer(arena), processors_(std::move(processors)), binding_(processors_.size()) {
    observe(true);
  }
  ~Pin() override { observe(false); }

  void on_scheduler_entry(bool) override {
    pin_this_thread(processors_[slot()]);
    std::vector<int> bound = binding_of_this_thread();
    const std::lock_guard lock(mutex_);  // a thread may come late, while the binding is asked for
    const bool first = binding_[slot()].empty();
    binding_[slot()] = std::move(bound);
    if (first) seen_.fetch_add(1, std::memory_order_release);
  }
  std::size_t seen() const { return seen_.load(std::memory_order_acquire); }
  std::vector<std::vector<int>> binding() const {
    const std::lock_guard lock(mutex_);
    return binding_;
  }

 private:
  const std::vector<int> processors_;
  mutable std::mutex mutex_;
  std::vector<std::vector<int>> binding_;  // [slot]
  std::atomic<std::size_t> seen_{0};       // slots that somebody was in
};

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
  Tbb() {
    // What cannot be bound is said here: an observer must not throw.
    std::async(std::launch::async, [this] { std::ranges::for_each(processors_, pin_this_thread); }).get();
    // The library gives threads to whom has work, so all of the arena are seen only when there is work for all.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    arena_.execute([&] {
      tbb::parallel_for(
          0, static_cast<int>(processors_.size()),
          [&](int) {
            while (pin_.seen() < processors_.size() && std::chrono::steady_clock::now() < give_up)
              std::this_thread::yield();
          },
          tbb::simple_partitioner());
    });
  }

  std::string name() const override { return "tbb"; }
  std::string version() const override { return TBB_runtime_version(); }
  int cores() const override { return static_cast<int>(pin_.seen()); }
  std::vector<std::vector<int>> binding() override { return pin_.binding(); }

  void prepare(Execution& run) override {
    parts_.clear();
    flow_.reset();
    contexts_ = run.contexts(static_cast<int>(processors_.size()));
    arena_.execute([&] {
      flow_ = std::make_unique<tbb::flow::graph>();
      for (std::size_t g = 0; g < run.graphs().size(); ++g) parts_.emplace_back(*flow_, run, contexts_, g);
    });
  }

  void execute(Execution&) override {
    arena_.execute([&] {
      for (Part& part : parts_)
        for (Node* root : part.roots) root->try_put({});
      flow_->wait_for_all();
    });
  }

 private:
  const std::vector<int> processors_ = taskgrain::cores();
  tbb::global_control most_threads_{tbb::global_control::max_allowed_parallelism, processors_.size()};
  tbb::task_arena arena_{static_cast<int>(processors_.size())};
  Pin pin_{arena_, processors_};
  std::vector<ThreadContext*> contexts_;
  std::unique_ptr<tbb::flow::graph> flow_;
  std::deque<Part> parts_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Tbb>(argc, argv); }
