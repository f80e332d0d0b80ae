/// Compiled graphs across ranks: each compiles its columns of a period of steps as a loop body. What a task of another
/// rank reads is sent to it, and read there where it arrives.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "taskgrain/outputs.hpp"
#include "taskgrain/process_system.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/mpi.hpp"
#include "taskgrain/step_classes.hpp"
#include "taskgrain/task_table.hpp"

namespace {

using namespace taskgrain;
using Node = rt::TaskGraph::Node;

constexpr std::int64_t most_tasks = std::int64_t{1} << 26, most_steps_unrolled = 8;  // of a body

/// This rank's columns of one graph, in the body.
class Part {
 public:
  Part(Execution& run, std::size_t g, Interval own, int workers, std::function<int(std::int64_t)> rank_of)
      : run_(run), contexts_(run.contexts(workers)), graph_(run.graphs()[g]), g_(g), own_(own), workers_(workers),
        rank_of_(std::move(rank_of)), depth_(static_cast<std::int64_t>(TaskTable::depth(graph_))),
        outputs_(graph_, static_cast<std::size_t>(depth_)) {}

  /// After so many steps tasks repeat themselves; all steps if they do not.
  std::int64_t period() const {
    const std::int64_t period =
        graph_.uniform() ? StepClasses(graph_, depth_).period() : period_of_grown(graph_, depth_);
    return period == 0 ? graph_.steps() : period;
  }
  /// \param tag  the first of its own; it takes one for each task of the body
  void add_to(rt::TaskGraph& body, std::int64_t period, std::uint64_t& tag) {
    period_ = period;
    steps_ = std::min(period, graph_.steps());
    first_tag_ = tag;
    tag += static_cast<std::uint64_t>(steps_ * graph_.width());
    for (std::int64_t t = 0; t < steps_; ++t)
      for_own(t, [&](std::int64_t i) {
        Task& task = tasks_[{t, i}];
        task.node = body.task(worker(i), [this, &task, t, i](const rt::Turn& turn) { execute(turn, task, t, i); });
      });
    for (std::int64_t t = 0; t < steps_; ++t) for_own(t, [&](std::int64_t i) { connect(body, t, i); });
  }
  /// Once it is compiled: where the inputs of each task are.
  void find_inputs(const rt::CompiledGraph& compiled) {
    for (auto& [at, task] : tasks_) {
      const auto [t, i] = at;
      for (std::int64_t k = 0; k < turns; ++k) {
        const rt::Turn turn{.iteration = 0, .worker = 0, .overall = k};
        const auto find = [&](std::int64_t step, std::vector<const std::byte*>& inputs) {
          for_points(graph_.deps(step, i), [&](std::int64_t j) {
            inputs.push_back(own_.contains(j) ? outputs_.at(t - 1 + depth_, j)
                                              : compiled.received(received(t, j), turn, t == 0 ? 1 : 0).data());
          });
        };
        find(later(t), task.inputs[k]);
        if (graph_.contains(t, i)) find(t, task.first_inputs[k]);
      }
    }
  }

 private:
  /// What is received lies in one of a few places, which repeat after so many iterations of all launches.
  static constexpr std::int64_t turns = 8;
  struct Task {
    Node node;
    std::vector<const std::byte*> inputs[turns]{}, first_inputs[turns]{};  // first: in the first period
  };

  void execute(const rt::Turn& turn, const Task& task, std::int64_t t, std::int64_t i) const {
    const std::int64_t step = turn.iteration * period_ + t;
    if (step >= graph_.steps() || (step < period_ && !graph_.contains(step, i))) return;
    const auto& inputs = (step < period_ ? task.first_inputs : task.inputs)[turn.overall % turns];
    run_.execute_point(*contexts_[static_cast<std::size_t>(turn.worker)], g_, step, i, outputs_.at(step, i), inputs);
  }

  void connect(rt::TaskGraph& body, std::int64_t t, std::int64_t i) {
    const Node own = tasks_.at({t, i}).node;
    const auto after = [&](std::int64_t back, Node node) {  // `node` is of the step so many before
      t < back ? body.carried_edge(node, own) : body.edge(node, own);
    };
    for_points(graph_.deps(later(t), i), [&](std::int64_t j) {
      after(1, own_.contains(j) ? tasks_.at({before(t, 1), j}).node : receive(body, t, j));
    });
    // Its output lies where that of two steps ago did: after those that read it, and after it is sent.
    const std::int64_t earlier = later(t) - depth_;
    if (earlier < 0 || !graph_.contains(earlier, i)) return send(body, t, i);
    for_points(graph_.reverse_deps(earlier, i), [&](std::int64_t j) {
      if (own_.contains(j)) after(1, tasks_.at({before(t, 1), j}).node);
    });
    for (const int rank : readers(before(t, depth_), i)) after(depth_, send_node(body, before(t, depth_), i, rank));
    send(body, t, i);
  }

  void send(rt::TaskGraph& body, std::int64_t t, std::int64_t i) {
    for (const int rank : readers(t, i)) body.edge(tasks_.at({t, i}).node, send_node(body, t, i, rank));
  }
  Node send_node(rt::TaskGraph& body, std::int64_t t, std::int64_t i, int rank) {
    const auto [found, fresh] = sends_.try_emplace({t, i, rank});
    if (fresh)
      found->second = body.send(worker(i), rank, tag(t, i), {outputs_.at(t + depth_, i), graph_.output_bytes()});
    return found->second;
  }
  /// What a task of step t reads of point j.
  Node receive(rt::TaskGraph& body, std::int64_t t, std::int64_t j) {
    const auto [found, fresh] = receives_.try_emplace({before(t, 1), j});
    if (fresh) found->second = body.receive(rank_of_(j), tag(before(t, 1), j), graph_.output_bytes());
    return found->second;
  }
  Node received(std::int64_t t, std::int64_t j) const { return receives_.at({before(t, 1), j}); }

  /// Other ranks that read a point of step t.
  std::vector<int> readers(std::int64_t t, std::int64_t i) const {
    std::vector<int> ranks;
    const std::int64_t next = t + 1 == steps_ ? later(0) : later(t + 1);
    if (next == 0) return ranks;  // there is no second period
    for_points(graph_.reverse_deps(next - 1, i), [&](std::int64_t j) {
      if (!own_.contains(j)) ranks.push_back(rank_of_(j));
    });
    std::ranges::sort(ranks);
    ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
    return ranks;
  }

  /// The step of the body so many before t.
  std::int64_t before(std::int64_t t, std::int64_t back) const { return (t - back + steps_) % steps_; }
  /// The step of the second period that a step of the body stands for; itself if there is none.
  std::int64_t later(std::int64_t t) const { return t + period_ < graph_.steps() ? t + period_ : t; }
  std::uint64_t tag(std::int64_t t, std::int64_t i) const {
    return first_tag_ + static_cast<std::uint64_t>(t * graph_.width() + i);
  }
  int worker(std::int64_t i) const { return static_cast<int>((i - own_.first) * workers_ / own_.size()); }
  template <typename Body>
  void for_own(std::int64_t t, const Body& body) const {
    for (std::int64_t i = own_.first; i <= own_.last; ++i)
      if (graph_.contains(later(t), i)) body(i);
  }
  template <typename Body>
  static void for_points(const Points& points, const Body& body) {
    for (const Interval interval : points)
      for (std::int64_t j = interval.first; j <= interval.last; ++j) body(j);
  }

  Execution& run_;
  std::vector<ThreadContext*> contexts_;
  const Graph& graph_;
  std::size_t g_;
  Interval own_;
  int workers_;
  std::function<int(std::int64_t)> rank_of_;
  std::int64_t depth_;  // steps of outputs that are kept
  Outputs outputs_;
  std::uint64_t first_tag_ = 0;
  std::int64_t period_ = 0, steps_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, Task> tasks_;
  std::map<std::tuple<std::int64_t, std::int64_t, int>, Node> sends_;
  std::map<std::pair<std::int64_t, std::int64_t>, Node> receives_;
};

class TaskgrainGraphRanks final : public ProcessSystem {
 public:
  TaskgrainGraphRanks() : ProcessSystem(MPI_THREAD_FUNNELED) {}

  std::string name() const override { return "taskgrain_graph"; }
  std::string version() const override { return std::string(rt::version) + ", " + ProcessSystem::version(); }
  int cores() const override { return ranks() * runtime_.workers(); }

  std::vector<std::vector<int>> binding() override {
    return gather_binding(runtime_.on_each_worker([](int) { return binding_of_this_thread(); }));
  }

  void prepare(Execution& run) override {
    if (ranks() > 1) run.distribute();
    compiled_.reset();
    parts_.clear();
    std::int64_t width = 0, period = 1;
    std::size_t bytes = 0;
    together([&] {  // before all ranks compile
      for (std::size_t g = 0; g < run.graphs().size(); ++g)
        parts_.emplace_back(run, g, columns(run.graphs()[g], rank()), runtime_.workers(),
                            [this, &graph = run.graphs()[g]](std::int64_t point) { return rank_of(graph, point); });
    });
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      const Graph& graph = run.graphs()[g];
      period = std::min(run.most_steps(), std::lcm(period, parts_[g].period()));
      width += graph.width();
      bytes = std::max(bytes, graph.output_bytes());
    }
    const std::int64_t unrolled = bytes > most_bytes_unrolled ? 1 : most_steps_unrolled;
    if (period < unrolled) period = std::min(run.most_steps(), unrolled / period * period);
    if (period > most_tasks / width) throw Unsupported("a body of " + std::to_string(period) + " steps is too large");
    iterations_ = (run.most_steps() + period - 1) / period;
    rt::TaskGraph body(comm_, "body");
    std::uint64_t tag = 0;
    together([&] {
      for (Part& part : parts_) part.add_to(body, period, tag);
    });
    compiled_.emplace(runtime_, std::move(body));
    for (Part& part : parts_) part.find_inputs(*compiled_);
  }

  void execute(Execution&) override { runtime_.wait(compiled_->launch({.iterations = iterations_}).done); }

 private:
  static constexpr std::size_t most_bytes_unrolled = 4096;  // more places for larger outputs would leave the cache

  int rank_of(const Graph& graph, std::int64_t point) const {
    int rank = static_cast<int>(point * ranks() / graph.width());  // or one of its neighbours
    while (columns(graph, rank).last < point) ++rank;
    while (columns(graph, rank).first > point) --rank;
    return rank;
  }
  rt::MpiCommunicator comm_{MPI_COMM_WORLD};
  rt::Runtime runtime_{{.cores = own_processors(), .order = rt::Order::oldest, .communicator = &comm_}};
  rt::Pinned pinned_{runtime_.cores()[0]};  // else `wait` does and undoes it each time
  std::deque<Part> parts_;
  std::int64_t iterations_ = 0;
  std::optional<rt::CompiledGraph> compiled_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<TaskgrainGraphRanks>(argc, argv); }
