#include "taskgrain/bound.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "dag.hpp"

namespace taskgrain {
namespace {

using I = std::int64_t;

constexpr I never = std::numeric_limits<I>::max();

constexpr I ceil_div(I a, I b) noexcept { return a / b + (a % b > 0 ? 1 : 0); }

/// Tasks that cannot begin before a time.
struct Batch {
  I start, tasks;
};
/// Returns the batches of a graph, those that begin first before the others, and then none.
using Batches = std::function<std::optional<Batch>()>;

/// How a step waits for the step before it.
struct Joint {
  bool barrier = false;    ///< each of its tasks depends on all tasks of that step
  bool continued = false;  ///< each task of that step has one that depends on it
};

Joint joint_of(const Graph& graph, I step) {
  const Interval before = graph.points(step - 1), points = graph.points(step);
  Joint joint{true, true};
  for (I i = points.first; joint.barrier && i <= points.last; ++i)
    joint.barrier = graph.deps(step, i).count() == before.size();
  for (I j = before.first; !joint.barrier && joint.continued && j <= before.last; ++j)
    joint.continued = graph.reverse_deps(step - 1, j).begin() != std::default_sentinel;
  return joint;
}

/// How long the tasks up to a step keep all cores busy at least, if none of them is left for later: counted in tasks,
/// which is the time multiplied by the number of cores. A step after a barrier cannot begin before that.
class Busy {
 public:
  explicit Busy(I cores) noexcept : cores_(cores) {}

  /// Adds tasks that cannot begin before `start`, as those that are there cannot.
  void add(I start, I tasks) noexcept { tasks_ = std::max(tasks_, cores_ * start) + tasks; }
  /// Those that are there may be left for later, or may begin later than what is added next.
  void forget() noexcept { tasks_ = 0; }
  I time() const noexcept { return ceil_div(tasks_, cores_); }

 private:
  I cores_, tasks_ = 0;
};

/// Of a graph in which some tasks of a step may depend on others, and some not.
Batches batches_by_task(const Graph& graph, I cores, I& critical_path) {
  struct Task {
    I depth, start;
  };
  std::vector<I> tasks;  // by their start
  std::vector<Task> before, now;
  Busy busy(cores);
  for (I step = 0; step < graph.steps(); ++step, before.swap(now)) {
    const Joint joint = step > 0 ? joint_of(graph, step) : Joint{};
    const I after = joint.barrier ? busy.time() : 0, first = graph.points(step - 1).first;
    bool waits = joint.continued;
    I earliest = never;
    now.clear();
    for (I i = graph.points(step).first; i <= graph.points(step).last; ++i) {
      Task& task = now.emplace_back(0, after);
      for (const Interval deps : graph.deps(step, i))
        for (I j = deps.first; j <= deps.last; ++j) {
          const Task& dep = before[static_cast<std::size_t>(j - first)];
          task = {std::max(task.depth, dep.depth + 1), std::max(task.start, dep.start + 1)};
        }
      waits = waits && task.depth > 0;
      earliest = std::min(earliest, task.start);
      critical_path = std::max(critical_path, task.depth + 1);
      if (task.start >= std::ssize(tasks)) tasks.resize(static_cast<std::size_t>(task.start) + 1);
      ++tasks[static_cast<std::size_t>(task.start)];
    }
    if (!waits) busy.forget();
    busy.add(earliest, std::ssize(now));
  }
  return [start = I{-1}, all = std::move(tasks)]() mutable -> std::optional<Batch> {
    if (++start == std::ssize(all)) return std::nullopt;
    return Batch{start, all[static_cast<std::size_t>(start)]};
  };
}

/// Of the other graphs, in which each task after the first step depends on another one.
Batches batches_by_step(const Graph& graph, I cores) {
  return [&graph, busy = Busy(cores), joints = std::vector<Joint>(1), step = I{0},
          start = I{0}]() mutable -> std::optional<Batch> {
    if (step == graph.steps()) return std::nullopt;
    const I tasks = graph.points(step).size(), ramp = graph.ramp();
    // The steps of the first period after the ramp stand for all later ones.
    const I like = step <= ramp ? step : ramp + 1 + (step - ramp - 1) % graph.dependence_sets();
    if (like == std::ssize(joints)) joints.push_back(joint_of(graph, step));
    const Joint joint = joints[static_cast<std::size_t>(like)];
    if (step++ > 0) start = std::max(start + 1, joint.barrier ? busy.time() : 0);
    if (!joint.continued) busy.forget();
    busy.add(start, tasks);
    return Batch{start, tasks};
  };
}

Batches batches_of(const Graph& graph, I cores, I& critical_path) {
  if (graph.whole()) return batches_by_task(graph, cores, critical_path);
  const bool chained = graph.steps() > 1 && graph.deps(1, graph.points(1).first).count() > 0;
  critical_path = std::max(critical_path, chained ? graph.steps() : 1);
  if (chained) return batches_by_step(graph, cores);
  return [tasks = graph.tasks()]() mutable -> std::optional<Batch> {
    return tasks > 0 ? std::optional(Batch{0, std::exchange(tasks, 0)}) : std::nullopt;
  };
}

/// The weight of the heaviest chain of a graph, whose tasks have one each where it has no `weights`.
double heaviest_chain(const Graph& graph, const Dag* weights) {
  std::vector<double> before, now;
  double most = 0;
  for (I step = 0; step < graph.steps(); ++step, before.swap(now)) {
    const I first = graph.points(step - 1).first;
    now.clear();
    for (I i = graph.points(step).first; i <= graph.points(step).last; ++i) {
      double start = 0;
      for (const Interval deps : graph.deps(step, i))
        for (I j = deps.first; j <= deps.last; ++j)
          start = std::max(start, before[static_cast<std::size_t>(j - first)]);
      most = std::max(most, now.emplace_back(start + (weights == nullptr ? 1 : weights->weight(step, i))));
    }
  }
  return most;
}

}  // namespace

Bound bound_of(std::span<const Graph> graphs, std::int64_t cores) {
  Bound bound{0, 0, never, 0, 0, 0};
  struct Reading {
    Batches batches;
    std::optional<Batch> next;
  };
  std::vector<Reading> all;
  I steps = 0;
  for (const Graph& graph : graphs) {
    Reading& one = all.emplace_back(batches_of(graph, cores, bound.critical_path));
    one.next = one.batches();
    steps = std::max(steps, graph.steps());
  }
  for (I step = 0; step < steps; ++step) {
    I width = 0;
    for (const Graph& graph : graphs) width += graph.points(step).size();
    bound.narrowest = std::min(bound.narrowest, width);
    bound.widest = std::max(bound.widest, width);
    bound.narrow_steps += width < cores ? 1 : 0;
  }
  // Whatever cannot begin before a time has all cores then.
  Busy busy(cores);
  for (I start = 0, later = never; start != never; start = std::exchange(later, never))
    for (auto& [batches, next] : all) {
      for (; next && next->start == start; next = batches()) {
        busy.add(start, next->tasks);
        bound.tasks += next->tasks;
      }
      if (next) later = std::min(later, next->start);
    }
  bound.time = static_cast<double>(busy.time());
  const bool weighted = std::ranges::any_of(graphs, [](const Graph& graph) { return graph.weights() != nullptr; });
  if (!weighted) return bound;
  // The tasks are of different lengths, so that only this holds.
  bound.time = static_cast<double>(bound.tasks) / static_cast<double>(cores);
  for (const Graph& graph : graphs) bound.time = std::max(bound.time, heaviest_chain(graph, graph.weights().get()));
  return bound;
}

}  // namespace taskgrain
