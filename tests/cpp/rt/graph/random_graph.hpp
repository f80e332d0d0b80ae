#pragma once

/// Random graphs whose tasks check, as they start, that all before them are done.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "simulated_device.hpp"
#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt {

using Random = std::mt19937_64;

inline int between(Random& random, int least, int most) { return std::uniform_int_distribution(least, most)(random); }
inline bool chance(Random& random, double p) { return std::bernoulli_distribution(p)(random); }

/// What a random graph may contain.
struct Ingredients {
  int most_tasks = 60;
  bool carried = true;
  bool events = true;       ///< pre- and postconditions
  double asynchronous = 0;  ///< share of the tasks
};

/// A graph and what its tasks have seen. Stamps are read and written without atomics: an edge that does not order
/// memory is a race.
class RandomGraph {
 public:
  struct Edge {
    std::size_t from, to;
    bool carried;
  };

  RandomGraph(Random& random, int workers, const Ingredients& ingredients, SimulatedDevice* device) : device_(device) {
    const int shape = between(random, 0, 9);
    const auto tasks =
        static_cast<std::size_t>(shape == 0 ? between(random, 0, 1) : between(random, 2, ingredients.most_tasks));
    std::vector<std::size_t> order(tasks);  // edges go along it, so numbers say nothing
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    const int used = between(random, 1, workers);
    for (std::size_t t = 0; t < tasks; ++t)
      tasks_.push_back({between(random, 0, used - 1),
                        chance(random, 0.1) ? between(random, 0, 200) : 0,
                        chance(random, ingredients.asynchronous),
                        static_cast<std::size_t>(between(random, 0, 2)),
                        {},
                        {}});
    const int reach = between(random, 1, static_cast<int>(tasks) + 1);
    const auto edges = static_cast<int>(static_cast<double>(tasks) * std::uniform_real_distribution(0.0, 3.0)(random));
    for (int e = 0; e < edges && tasks > 1; ++e) {
      const int a = between(random, 0, static_cast<int>(tasks) - 2);
      const int b = std::min(a + between(random, 1, reach), static_cast<int>(tasks) - 1);
      edges_.push_back({order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)], false});
      if (chance(random, 0.1)) edges_.push_back(edges_.back());
    }
    const int carried = ingredients.carried && chance(random, 0.7) ? between(random, 0, static_cast<int>(tasks)) : 0;
    for (int e = 0; e < carried; ++e) {
      edges_.push_back({pick(random, tasks), pick(random, tasks), true});
      if (chance(random, 0.1)) edges_.push_back(edges_.back());
    }
    if (ingredients.events && tasks > 0 && chance(random, 0.5)) {
      for (int k = between(random, 0, 2); k > 0; --k) before_.push_back(some(random, tasks));
      for (int k = between(random, 0, 2); k > 0; --k) after_.push_back(some(random, tasks));
    }
    for (const Edge& edge : edges_) tasks_[edge.to].before.push_back({edge.from, edge.to, edge.carried});
    for (std::size_t k = 0; k < before_.size(); ++k)
      for (const std::size_t t : before_[k]) tasks_[t].preconditions.push_back(k);
  }

  /// \param iterations  of each launch that will come
  TaskGraph build(std::vector<int> iterations) {
    iterations_ = std::move(iterations);
    const auto most = static_cast<std::size_t>(*std::ranges::max_element(iterations_));
    seen_.assign(tasks_.size() * most, 0);
    for (const int n : iterations_) {
      launches_.emplace_back();
      launches_.back().stamps.resize(tasks_.size() * static_cast<std::size_t>(n));
      launches_.back().met.resize(before_.size());
      launches_.back().posted.resize(after_.size());
    }
    TaskGraph graph("random");
    std::vector<TaskGraph::Node> nodes;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (!tasks_[t].asynchronous)
        nodes.push_back(graph.task(tasks_[t].worker, [this, t](const Turn& turn) { execute(t, turn.iteration); }));
      else
        nodes.push_back(
            graph.async_task<SimulatedDevice::Event>(tasks_[t].worker, [this, t](const Turn& turn, const auto& issue) {
              return device_->submit(
                  tasks_[t].stream, issue.after, [this, t, n = turn.iteration] { execute(t, n); }, issue.done);
            }));
    }
    for (const auto& tasks : before_) {
      const auto node = precondition_nodes_.emplace_back(graph.precondition());
      for (const std::size_t t : tasks) graph.edge(node, nodes[t]);
    }
    for (const auto& tasks : after_) {
      const auto node = postcondition_nodes_.emplace_back(graph.postcondition());
      for (const std::size_t t : tasks) graph.edge(nodes[t], node);
    }
    for (const Edge& edge : edges_)
      if (edge.carried)
        graph.carried_edge(nodes[edge.from], nodes[edge.to]);
      else
        graph.edge(nodes[edge.from], nodes[edge.to]);
    return graph;
  }

  const std::vector<TaskGraph::Node>& preconditions() const noexcept { return precondition_nodes_; }
  std::size_t executions() const {
    return tasks_.size() * static_cast<std::size_t>(std::accumulate(iterations_.begin(), iterations_.end(), 0));
  }
  /// To be called before precondition k of a launch is set.
  void meeting(std::size_t launch, std::size_t k) { launches_[launch].met[k] = tick(); }
  /// Watches the events of a launch.
  void watch(std::size_t launch, const CompiledGraph::Launch& events) {
    for (std::size_t k = 0; k < after_.size(); ++k)
      events.postcondition(postcondition_nodes_[k]).then([this, launch, k] { launches_[launch].posted[k] = tick(); });
    events.done.then([this, launch] { launches_[launch].done = tick(); });
  }

  /// What was wrong, one line each, after everything is done.
  std::vector<std::string> faults() const {
    std::vector<std::string> faults;
    std::int64_t ended = 0, events_ended = 0;
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      const Launch& launch = launches_[l];
      const std::string where = "launch " + std::to_string(l);
      std::int64_t last = ended;
      for (std::size_t n = 0; n < static_cast<std::size_t>(iterations_[l]); ++n)
        for (std::size_t t = 0; t < tasks_.size(); ++t) {
          const Stamp& stamp = launch.stamps[n * tasks_.size() + t];
          const std::string what = where + ", iteration " + std::to_string(n) + ", task " + std::to_string(t);
          if (stamp.runs != 1) faults.push_back(what + " ran " + std::to_string(stamp.runs) + " times");
          if (stamp.early != 0)
            faults.push_back(what + " started before " + std::to_string(stamp.early) + " of what it comes after");
          if (stamp.begin <= ended) faults.push_back(what + " started before the launch before was done");
          last = std::max(last, stamp.end);
        }
      for (std::size_t k = 0; k < after_.size() && iterations_[l] > 0; ++k)
        for (const std::size_t t : after_[k])
          if (launch.posted[k] < launch.stamps[static_cast<std::size_t>(iterations_[l] - 1) * tasks_.size() + t].end)
            faults.push_back(where + ": postcondition " + std::to_string(k) + " before task " + std::to_string(t));
      if (launch.done <= last) faults.push_back(where + " said to be done too early");
      if (launch.done <= events_ended) faults.push_back(where + " said to be done before an earlier one");
      ended = last;
      events_ended = launch.done;
    }
    return faults;
  }
  std::string text() const {
    std::string text = "tasks";
    for (const Task& task : tasks_) text += " " + std::to_string(task.worker) + (task.asynchronous ? "*" : "");
    text += "; edges";
    for (const Edge& edge : edges_)
      text += " " + std::to_string(edge.from) + (edge.carried ? "=>" : "->") + std::to_string(edge.to);
    text += "; iterations";
    for (const int n : iterations_) text += " " + std::to_string(n);
    for (const auto& tasks : before_) {
      text += "; before";
      for (const std::size_t t : tasks) text += " " + std::to_string(t);
    }
    return text;
  }

 private:
  struct Task {
    int worker, cost;
    bool asynchronous;
    std::size_t stream;
    std::vector<Edge> before;
    std::vector<std::size_t> preconditions;
  };
  struct Stamp {
    std::int64_t begin = 0, end = 0;
    int runs = 0, early = 0;
  };
  struct Launch {
    std::vector<Stamp> stamps;  // [iteration · tasks + task]
    std::vector<std::int64_t> met, posted;
    std::int64_t done = 0;
  };

  static std::size_t pick(Random& random, std::size_t tasks) {
    return static_cast<std::size_t>(between(random, 0, static_cast<int>(tasks) - 1));
  }
  static std::vector<std::size_t> some(Random& random, std::size_t tasks) {
    std::vector<std::size_t> picked;
    for (int k = between(random, 0, 4); k > 0; --k) picked.push_back(pick(random, tasks));
    return picked;
  }
  std::int64_t tick() noexcept { return clock_.fetch_add(1, std::memory_order_relaxed); }

  void execute(std::size_t t, std::int64_t iteration) {
    const auto n = static_cast<std::size_t>(iteration);
    // This is the one of the launches with so many iterations that has come to it.
    int skip = seen_[n * tasks_.size() + t]++;
    std::size_t l = 0;
    while (l < launches_.size() && (iterations_[l] <= iteration || skip-- > 0)) ++l;
    if (l == launches_.size()) {
      ++launches_.back().stamps[t].runs;  // once too often: somewhere must say so
      return;
    }
    Launch& launch = launches_[l];
    Stamp& stamp = launch.stamps[n * tasks_.size() + t];
    stamp.begin = tick();
    ++stamp.runs;
    for (const Edge& edge : tasks_[t].before) {
      if (edge.carried && n == 0) continue;
      const std::int64_t end = launch.stamps[(n - edge.carried) * tasks_.size() + edge.from].end;
      stamp.early += end == 0 || end >= stamp.begin;
    }
    for (const std::size_t k : tasks_[t].preconditions)
      stamp.early += launch.met[k] == 0 || launch.met[k] >= stamp.begin;
    for (int spin = 0; spin < tasks_[t].cost; ++spin) detail::pause();
    if (tasks_[t].cost > 190) std::this_thread::yield();
    stamp.end = tick();
  }

  SimulatedDevice* device_;
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> before_, after_;  // tasks of each pre- and postcondition
  std::vector<TaskGraph::Node> precondition_nodes_, postcondition_nodes_;
  std::vector<int> iterations_;  // of each launch
  std::vector<Launch> launches_;
  std::vector<int> seen_;               // [iteration · tasks + task]: how often it ran
  std::atomic<std::int64_t> clock_{1};  // relaxed, so that it orders nothing
};

/// Compiles a graph and launches it in every way: what it waits for comes before a launch or after it, from this thread
/// or from another one, and some launches are waited for. \returns its faults
inline std::vector<std::string> faults_of(RandomGraph& graph, Random& random, Runtime& runtime,
                                          const std::vector<int>& iterations, Policy policy) {
  std::vector<std::thread> others;
  CompiledGraph compiled(runtime, graph.build(iterations), policy);
  for (std::size_t l = 0; l < iterations.size(); ++l) {
    CompiledGraph::LaunchOptions options{.iterations = iterations[l]};
    for (const auto node : graph.preconditions()) options.preconditions.emplace_back(node, Event());
    const auto meet = [&graph, l, events = options.preconditions] {
      for (std::size_t k = 0; k < events.size(); ++k) {
        graph.meeting(l, k);
        events[k].second.set();
      }
    };
    const bool before = chance(random, 0.3);
    if (before) meet();
    graph.watch(l, compiled.launch(options));
    if (!before && chance(random, 0.6))
      others.emplace_back([meet, hold = runtime.hold()] { meet(); });
    else if (!before)
      meet();
    if (chance(random, 0.3)) runtime.wait();
  }
  runtime.wait();
  for (std::thread& other : others) other.join();
  return graph.faults();
}

}  // namespace taskgrain::rt
