#pragma once

/// All that a task needs and causes, looked up: for systems on shared memory that know their graph ahead.
///
/// Outputs lie in memory that all workers share, in a ring of d steps (`Outputs`), so task (t, i) writes over the
/// output of (t-d, i). It comes after the tasks whose outputs it reads, and after those that read what it writes over.
///
/// With two steps these are in the step before: those that read (t-2, i); if none does, a task of step t-1 that comes
/// after (t-2, i). Where a point of a `dag` is missing for a while, there is no such chain: all outputs of such a graph
/// are kept.
///
/// With more steps only each (d/2)-th of them looks at readers. With f = d/2 and t = k·f + r, 0 ≤ r < f:
///   - (t, i) comes after (t-1, i)                                                        (t ≥ 1),
///   - (k·f, i) comes after (k·f - f, j) for each j that reads i in any step              (k ≥ 1).
/// What (t, i) writes over is read at step t-d+1 ≤ k·f - f, so its readers end before those (k·f - f, j), which end
/// before (k·f, i), which ends before (t, i). This holds where a point that exists in a step exists in all that
/// follow. Those (k·f - f, j) that come before (k·f, i) by the dependences of the steps between are left out.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>
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
    std::span<const std::int64_t> far_before;  ///< points of the step `far()` before that it comes after, too
  };

  /// How many steps of outputs are kept, where nothing is far. Steps that repeat themselves (v_cycle, fork_join) lead
  /// through a step of one point, which comes after all before it.
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

  /// \param cores  that share the columns in blocks (`Outputs`): then more than two steps of outputs are kept while
  ///               they are small. With 0, two steps are kept, and nothing is far.
  /// \param most   steps of outputs that are kept, a power of two
  /// \throws Unsupported  if too many steps differ
  explicit TaskTable(const Graph& graph, std::int64_t cores = 0, std::int64_t most = 16)
      : graph_(&graph), far_(far(graph, cores, most)), classes_(graph, std::max<std::int64_t>(2, 2 * far_)),
        depth_(far_ > 0 ? static_cast<std::size_t>(2 * far_) : depth(graph)), outputs_(graph, depth_, cores) {
    for (std::int64_t point = 0; cores > 0 && point < graph.width(); ++point)
      owners_.push_back(static_cast<int>(Outputs::owner(graph, point, cores)));
    const auto readers = far_ > 0 ? all_readers(graph) : Points2d();
    for (const std::int64_t step : classes_.representatives()) {
      const Memory& row = memory_.emplace_back(compile(step, readers));
      if (!row.far_before.memory.empty()) far_mask_ = far_ - 1;
      rows_.push_back({row.tasks.data(), row.after.of.data(), row.far_after.of.data(), row.after_by_core.of.data(),
                       row.far_after_by_core.of.data()});
    }
    period_ = classes_.period();
    if (cores > 0 && !graph.uniform()) period_ = period_of_grown(graph, std::max<std::int64_t>(2, 2 * far_));
    const std::int64_t end = graph.uniform() ? std::min<std::int64_t>(2, graph.steps()) : graph.steps();
    for (std::int64_t step = 0; step < end; ++step)
      for (const std::int64_t point : memory_[classes_[step]].roots) roots_.push_back({step, point});
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
  /// Points of the step `far()` ahead that come after a task, too.
  std::span<const std::int64_t> far_after(std::int64_t step, std::int64_t point) const noexcept {
    if ((step & (far_ - 1)) != 0 || step + far_ >= graph_->steps()) return {};
    return rows_[classes_[step + far_]].far_after[static_cast<std::size_t>(point)];
  }
  /// A power of two; 0 if there are no such tasks.
  std::int64_t far() const noexcept { return far_; }
  /// All that a task comes after, near and far: `body(steps before, point)`.
  template <typename Body>
  void each_before(std::int64_t step, std::int64_t point, const Body& body) const {
    const Task& task = (*this)(step, point);
    for (const std::int64_t other : task.before) body(std::int64_t{1}, other);
    for (const std::int64_t other : task.far_before) body(far_, other);
  }
  /// All that comes after a task: `body(core, step, points)` for each core that owns some of it, in ascending order;
  /// first that of the next step, then that of `far()` ahead. Prefetches the output of the task, because who asks what
  /// comes after a task reads it soon. \pre cores > 0
  template <typename Body>
  void each_after_by_core(std::int64_t step, std::int64_t point, const Body& body) const {
    const auto at = static_cast<std::size_t>(point);
    if (step + 1 < graph_->steps()) {
      const auto& [output, parts] = rows_[classes_[step + 1]].after_by_core[at];
      __builtin_prefetch(output);
      for (const Part& part : parts) body(part.core, step + 1, part.points);
    }
    if ((step & far_mask_) == 0 && step + far_ < graph_->steps())
      for (const Part& part : rows_[classes_[step + far_]].far_after_by_core[at].parts)
        body(part.core, step + far_, part.points);
  }
  /// The core that writes the outputs of a point. \pre cores > 0
  int owner(std::int64_t point) const noexcept { return owners_[static_cast<std::size_t>(point)]; }
  /// Where all outputs lie, for those that keep a copy elsewhere.
  std::span<std::byte> memory() const noexcept { return outputs_.memory(); }
  struct Root {
    std::int64_t step, point;
  };
  /// The tasks that come after none. Where all points exist at all steps, all of them are in step 0 or 1.
  const std::vector<Root>& roots() const noexcept { return roots_; }
  /// After so many steps the table repeats itself, from step 2 on; 0 if it need not. If columns have owners and points
  /// come later than step 0, then as `period_of_grown` says.
  std::int64_t period() const noexcept { return period_; }

 private:
  using Points2d = std::vector<std::vector<std::int64_t>>;

  /// Lists of points, one for each point.
  struct Lists {
    std::vector<std::int64_t> memory;
    std::vector<std::span<const std::int64_t>> of;

    explicit Lists(const Points2d& lists) {
      for (const auto& list : lists) memory.insert(memory.end(), list.begin(), list.end());
      std::size_t begin = 0;
      for (const auto& list : lists) {
        of.emplace_back(memory.data() + begin, list.size());
        begin += list.size();
      }
    }
    /// For each point, those whose list it is in.
    static Lists inverse(const Points2d& lists) {
      Points2d found(lists.size());
      for (std::size_t point = 0; point < lists.size(); ++point)
        for (const std::int64_t other : lists[point])
          found[static_cast<std::size_t>(other)].push_back(static_cast<std::int64_t>(point));
      return Lists(found);
    }
  };

  /// Points of one core.
  struct Part {
    int core;
    std::span<const std::int64_t> points;
  };
  struct ByCore {
    const std::byte* output;  // of the task that these points come after
    std::span<const Part> parts;
  };
  /// Lists, which ascend, by core.
  struct Parts {
    std::vector<Part> memory;
    std::vector<ByCore> of;

    /// \param output  of a point
    template <typename Output>
    Parts(const Lists& lists, const std::vector<int>& owners, const Output& output) {
      if (owners.empty()) return;
      const auto owner = [&](std::int64_t point) { return owners[static_cast<std::size_t>(point)]; };
      std::vector<std::size_t> ends;
      for (std::span<const std::int64_t> left : lists.of) {
        while (!left.empty()) {
          const auto end = std::ranges::find_if(left, [&](auto point) { return owner(point) != owner(left[0]); });
          const auto number = static_cast<std::size_t>(end - left.begin());
          memory.push_back({owner(left[0]), left.first(number)});
          left = left.subspan(number);
        }
        ends.push_back(memory.size());
      }
      for (std::size_t begin = 0; const std::size_t end : ends) {
        of.push_back({output(static_cast<std::int64_t>(of.size())), {memory.data() + begin, end - begin}});
        begin = end;
      }
    }
  };

  /// The tasks of a class of steps, and of the steps before what comes after their tasks.
  struct Memory {
    Lists before, far_before, after, far_after;
    Parts after_by_core, far_after_by_core;
    std::vector<const std::byte*> inputs;
    std::vector<Task> tasks;
    std::vector<std::int64_t> roots;
  };
  /// The same, as it is looked up: by point.
  struct Row {
    const Task* tasks;
    const std::span<const std::int64_t>*after, *far_after;
    const ByCore *after_by_core, *far_after_by_core;
  };

  Memory compile(std::int64_t step, const Points2d& readers) const {
    const std::int64_t width = graph_->width();
    Points2d before(static_cast<std::size_t>(width)), far_before(before.size());
    std::vector<std::int64_t> roots;
    std::vector<const std::byte*> inputs, space;
    std::vector<std::size_t> inputs_end;
    for (std::int64_t point = 0; point < width; ++point) {
      if (const auto p = static_cast<std::size_t>(point); graph_->contains(step, point)) {
        outputs_.inputs(step, point, space);
        inputs.insert(inputs.end(), space.begin(), space.end());
        points_before(step, point, before[p]);
        if (far_ > 0 && step >= far_ && step % far_ == 0)
          std::ranges::copy_if(readers[p], std::back_inserter(far_before[p]),
                               [&](std::int64_t reader) { return graph_->contains(step - far_, reader); });
        if (before[p].empty() && far_before[p].empty()) roots.push_back(point);
      }
      inputs_end.push_back(inputs.size());
    }
    leave_out_implied(step, before, far_before);
    Lists after = Lists::inverse(before), far_after = Lists::inverse(far_before);
    const auto output = [&](std::int64_t point) { return outputs_.at(step - 1, point); };
    Parts by_core(after, owners_, output), far_by_core(far_after, owners_, output);
    Memory memory{Lists(before),      Lists(far_before),      std::move(after),  std::move(far_after),
                  std::move(by_core), std::move(far_by_core), std::move(inputs), {},
                  std::move(roots)};
    for (std::size_t point = 0, begin = 0; point < before.size(); begin = inputs_end[point++])
      memory.tasks.push_back({outputs_.at(step, static_cast<std::int64_t>(point)),
                              {memory.inputs.data() + begin, inputs_end[point] - begin},
                              memory.before.of[point],
                              memory.far_before.of[point]});
    return memory;
  }

  /// Leaves out those far before a task that come before it by the dependences of the steps between, too.
  void leave_out_implied(std::int64_t step, const Points2d& before, Points2d& far_before) const {
    constexpr std::size_t most_work = std::size_t{1} << 24;
    if (far_ == 0 || step < far_ || step % far_ != 0) return;
    // Else the steps between may differ from one step of this class to another.
    if (!graph_->uniform() && (graph_->dependence_sets() > 1 || graph_->points(step - far_) != graph_->points(step)))
      return;
    const std::size_t width = before.size(), words = (width + 63) / 64;
    std::size_t edges = 0;
    for (const auto& list : before) edges += list.size();
    if (edges * words > most_work / static_cast<std::size_t>(far_)) return;
    // For each point of a step, those of step - far_ that come before it, as bits.
    std::vector<std::vector<std::uint64_t>> earlier(width, std::vector<std::uint64_t>(words)), next;
    for (std::size_t point = 0; point < width; ++point) earlier[point][point / 64] |= std::uint64_t{1} << point % 64;
    for (std::int64_t at = step - far_ + 1; at <= step; ++at) {
      next.assign(width, std::vector<std::uint64_t>(words));
      for (std::size_t point = 0; point < width; ++point)
        for (const std::int64_t other : at == step ? before[point] : memory_[classes_[at]].before.of[point])
          for (std::size_t word = 0; word < words; ++word)
            next[point][word] |= earlier[static_cast<std::size_t>(other)][word];
      std::swap(earlier, next);
    }
    for (std::size_t point = 0; point < width; ++point)
      std::erase_if(far_before[point], [&](std::int64_t other) {
        return (earlier[point][static_cast<std::size_t>(other) / 64] >> other % 64 & 1) != 0;
      });
  }

  void points_before(std::int64_t step, std::int64_t point, std::vector<std::int64_t>& before) const {
    before.clear();
    const auto add = [&](Points points) {
      for (const Interval interval : points)
        for (std::int64_t other = interval.first; other <= interval.last; ++other) before.push_back(other);
    };
    add(graph_->deps(step, point));
    if (far_ > 0) {
      if (graph_->contains(step - 1, point)) before.push_back(point);
    } else if (depth_ < 3) {
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

  /// Half of the steps of outputs that are kept, where these are more than two; else 0. Many while they and the table
  /// are small: a worker may run ahead, and its outputs stay in its cache.
  static std::int64_t far(const Graph& graph, std::int64_t cores, std::int64_t most) {
    constexpr std::size_t most_bytes = std::size_t{1} << 15, most_inputs = std::size_t{1} << 20;
    if (cores == 0 || graph.dependence_sets() >= graph.steps()) return 0;
    if (!graph.uniform() && period_of_grown(graph, 1) == 0) return 0;
    const auto width = static_cast<std::size_t>(graph.width());
    const std::size_t columns = (width - 1) / static_cast<std::size_t>(cores) + 1;
    for (auto depth = static_cast<std::size_t>(most); depth > 2; depth /= 2) {
      if (Outputs::stride_of(graph, cores) > most_bytes / columns / depth || width > most_inputs / depth) continue;
      std::size_t inputs = 0, sets = static_cast<std::size_t>(graph.dependence_sets());
      const std::int64_t last = graph.steps() - 1;
      for (std::int64_t step = std::max<std::int64_t>(0, last + 1 - graph.dependence_sets()); step <= last; ++step)
        for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point)
          inputs += static_cast<std::size_t>(graph.deps(step, point).count());
      if (inputs / sets <= most_inputs / depth / sets) return static_cast<std::int64_t>(depth / 2);
    }
    return 0;
  }
  /// The points that read each point in any step.
  Points2d all_readers(const Graph& graph) const {
    Points2d readers(static_cast<std::size_t>(graph.width()));
    for (const std::int64_t step : classes_.representatives())
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point)
        for (const Interval deps : graph.deps(step, point))
          for (std::int64_t dep = deps.first; dep <= deps.last; ++dep)
            readers[static_cast<std::size_t>(dep)].push_back(point);
    for (auto& list : readers) {
      std::ranges::sort(list);
      list.erase(std::ranges::unique(list).begin(), list.end());
    }
    return readers;
  }

  const Graph* graph_;
  std::int64_t far_;
  std::int64_t far_mask_ = -1;  // far_ - 1 if anything is far
  StepClasses classes_;
  std::size_t depth_;
  Outputs outputs_;
  std::int64_t period_ = 0;
  std::vector<int> owners_;     // by point
  std::vector<Memory> memory_;  // by class
  std::vector<Row> rows_;       // by class
  std::vector<Root> roots_;
};

}  // namespace taskgrain
