#pragma once

/// All that a task needs and causes, looked up: for systems on shared memory that know their graph ahead.
///
/// Outputs lie in memory that all workers share and are kept for two steps (`Outputs`), so task (t, i) writes over the
/// output of (t-2, i). It comes after the tasks whose outputs it reads, and after those that read (t-2, i); if none
/// does, after a task of step t-1 that comes after (t-2, i). So all that a task comes after is in the step before.
/// Where a point of a `dag` is missing for a while, there is no such chain: all outputs of such a graph are kept.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "taskgrain/graph.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/step_classes.hpp"

namespace taskgrain {

class TaskTable {
 public:
  struct Task {
    std::byte* output;
    std::span<const std::byte* const> inputs;  ///< as execute_point wants them
    std::span<const std::int64_t> before;      ///< points of the step before that it comes after
  };

  /// \throws Unsupported  if too many steps differ
  explicit TaskTable(const Graph& graph)
      : graph_(&graph), classes_(graph), depth_(depth(graph)), outputs_(graph, depth_) {
    for (const std::int64_t step : classes_.representatives()) rows_.push_back(row(step));
  }

  const Graph& graph() const noexcept { return *graph_; }
  /// \pre the task exists
  const Task& operator()(std::int64_t step, std::int64_t point) const noexcept {
    return rows_[classes_[step]].tasks[static_cast<std::size_t>(point)];
  }
  /// Points of the next step that come after a task.
  std::span<const std::int64_t> after(std::int64_t step, std::int64_t point) const noexcept {
    if (step + 1 >= graph_->steps()) return {};
    return rows_[classes_[step + 1]].after[static_cast<std::size_t>(point)];
  }
  /// Where all outputs lie, for those that keep a copy elsewhere.
  std::span<std::byte> memory() const noexcept { return outputs_.memory(); }
  struct Root {
    std::int64_t step, point;
  };
  /// The tasks that come after none. Where all points exist at all steps, all of them are in step 0 or 1.
  std::vector<Root> roots() const {
    std::vector<Root> roots;
    for (std::int64_t step = 0;
         step < (graph_->uniform() ? std::min<std::int64_t>(2, graph_->steps()) : graph_->steps()); ++step)
      for (const std::int64_t point : rows_[classes_[step]].roots) roots.push_back({step, point});
    return roots;
  }
  /// After so many steps the table repeats itself, from step 2 on; 0 if it need not.
  std::int64_t period() const noexcept { return classes_.period(); }

 private:
  /// The tasks of a class of steps, and of the class before it what comes after its tasks.
  struct Row {
    std::vector<Task> tasks;
    std::vector<std::span<const std::int64_t>> after;
    std::vector<std::int64_t> roots;
    std::vector<const std::byte*> input_memory;
    std::vector<std::int64_t> before_memory, after_memory;
  };

  Row row(std::int64_t step) const {
    Row row;
    const auto width = static_cast<std::size_t>(graph_->width());
    std::vector<std::size_t> inputs_end(width), before_end(width), after_count(width);
    std::vector<const std::byte*> inputs;
    std::vector<std::int64_t> before;
    for (std::size_t point = 0; point < width; ++point) {
      if (graph_->contains(step, static_cast<std::int64_t>(point))) {
        outputs_.inputs(step, static_cast<std::int64_t>(point), inputs);
        row.input_memory.insert(row.input_memory.end(), inputs.begin(), inputs.end());
        points_before(step, static_cast<std::int64_t>(point), before);
        row.before_memory.insert(row.before_memory.end(), before.begin(), before.end());
        for (const std::int64_t other : before) ++after_count[static_cast<std::size_t>(other)];
        if (before.empty()) row.roots.push_back(static_cast<std::int64_t>(point));
      }
      inputs_end[point] = row.input_memory.size();
      before_end[point] = row.before_memory.size();
    }
    row.after_memory.resize(row.before_memory.size());
    for (std::size_t point = 0, inputs_begin = 0, before_begin = 0, after_begin = 0; point < width; ++point) {
      row.tasks.push_back({outputs_.at(step, static_cast<std::int64_t>(point)),
                           {row.input_memory.data() + inputs_begin, row.input_memory.data() + inputs_end[point]},
                           {row.before_memory.data() + before_begin, row.before_memory.data() + before_end[point]}});
      row.after.emplace_back(row.after_memory.data() + after_begin, after_count[point]);
      inputs_begin = inputs_end[point];
      before_begin = before_end[point];
      after_begin += after_count[point];
    }
    std::vector<std::size_t> filled(width);
    for (std::size_t point = 0; point < width; ++point)
      for (const std::int64_t other : row.tasks[point].before) {
        const auto o = static_cast<std::size_t>(other);
        const auto begin = static_cast<std::size_t>(row.after[o].data() - row.after_memory.data());
        row.after_memory[begin + filled[o]++] = static_cast<std::int64_t>(point);
      }
    return row;
  }

  void points_before(std::int64_t step, std::int64_t point, std::vector<std::int64_t>& before) const {
    before.clear();
    const auto add = [&](Points points) {
      for (const Interval interval : points)
        for (std::int64_t other = interval.first; other <= interval.last; ++other) before.push_back(other);
    };
    add(graph_->deps(step, point));
    if (depth_ < 3) {
      if (graph_->contains(step - 2, point)) {
        if (is_read(step - 2, point))
          add(graph_->reverse_deps(step - 2, point));
        else
          before.push_back(witness(step - 1, point));
      }
      const Interval now = graph_->points(step), earlier = graph_->points(step - 1);
      const std::int64_t first = point == now.first ? earlier.first : point,
                         last = point == now.last ? earlier.last : point;
      for (std::int64_t other = first; other <= last; ++other)  // those whose witness it is
        if (earlier.contains(other) && !is_read(step - 1, other)) before.push_back(other);
    }
    std::ranges::sort(before);
    before.erase(std::ranges::unique(before).begin(), before.end());
  }

  bool is_read(std::int64_t step, std::int64_t point) const {
    const Points readers = graph_->reverse_deps(step, point);
    return readers.begin() != readers.end();
  }
  /// If no task reads the output of `point`, the task of this point of the next step comes after it instead.
  std::int64_t witness(std::int64_t step, std::int64_t point) const {
    const Interval points = graph_->points(step);
    return std::clamp(point, points.first, points.last);
  }

  /// How many steps of outputs are kept. Steps that repeat themselves (v_cycle, fork_join) lead through a step of one
  /// point, which comes after all before it.
  static std::size_t depth(const Graph& graph) {
    if (graph.uniform() || graph.dependence_sets() < graph.steps()) return 2;
    const auto each_missing = [](Interval in, Interval from, auto body) {
      for (std::int64_t point = from.first; point <= std::min(from.last, in.first - 1); ++point) body(point);
      for (std::int64_t point = std::max(from.first, in.last + 1); point <= from.last; ++point) body(point);
    };
    std::vector<bool> gone(static_cast<std::size_t>(graph.width()));
    bool back = false;
    for (std::int64_t step = 1; step < graph.steps() && !back; ++step) {
      const Interval before = graph.points(step - 1), now = graph.points(step);
      each_missing(before, now, [&](std::int64_t point) { back |= gone[static_cast<std::size_t>(point)]; });
      each_missing(now, before, [&](std::int64_t point) { gone[static_cast<std::size_t>(point)] = true; });
    }
    return back ? std::bit_ceil(static_cast<std::size_t>(graph.steps())) : 2;
  }

  const Graph* graph_;
  StepClasses classes_;
  std::size_t depth_;
  Outputs outputs_;
  std::vector<Row> rows_;  // by class
};

}  // namespace taskgrain
