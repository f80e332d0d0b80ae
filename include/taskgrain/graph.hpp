#pragma once

/// Task graphs: `steps` × `width` points; task (t, i) depends on tasks of step t-1 only.
///
/// Meaning and names are those of Task Bench (Slaughter et al., SC'20, section II), graph for graph;
/// docs/reference/patterns.md has the definitions. Queries allocate nothing, cost O(number of intervals) and are safe
/// from any thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "taskgrain/kernel.hpp"

namespace taskgrain {

class Dag;
class ForkTree;
class Graph;
struct Pattern;

/// Points `first` to `last`, both included; empty if `last < first`.
struct Interval {
  std::int64_t first;
  std::int64_t last;

  constexpr std::int64_t size() const noexcept { return last < first ? 0 : last - first + 1; }
  constexpr bool contains(std::int64_t point) const noexcept { return first <= point && point <= last; }
  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

inline constexpr Interval no_points{0, -1};

/// fields.hpp describes each of these members to requests, flags and Python.
struct GraphSpec {
  std::string pattern = "stencil_1d";
  std::int64_t steps = 1000;
  std::int64_t width = 4;
  /// Dependences per task of `nearest` and `spread`, candidates of `random_nearest` and `random_spread`. The task's
  /// own point is one of them.
  std::int64_t radix = 3;
  /// Number of dependence sets of `spread` and the random patterns; 0: 3, or what `spread` allows if that is less.
  std::int64_t period = 0;
  /// Share of the candidates that a random pattern keeps, 0 to 1.
  double fraction = 0.25;
  /// Changes the random patterns and the load imbalance; 0 gives Task Bench's.
  std::uint64_t seed = 0;
  /// File of the `dag` pattern; it determines steps and width.
  std::string dag{};
  /// Of the file's bytes, so that all processes run the same graph; 0: whatever is in the file.
  std::int64_t dag_hash = 0;
  /// Size of what a task hands to its successors; at least 16.
  std::size_t output_bytes = 16;
  KernelSpec kernel;

  friend bool operator==(const GraphSpec&, const GraphSpec&) = default;
};

/// The points that a task depends on (or that depend on it): intervals, disjoint and increasing.
///
///     for (Interval deps : graph.deps(t, i))
///       for (std::int64_t j = deps.first; j <= deps.last; ++j) …
class Points {
 public:
  /// Yields the next interval of a pattern and advances the cursor, to `end` after the last.
  using Next = Interval (*)(const Graph&, std::int64_t step, std::int64_t point, std::int64_t& cursor);
  static constexpr std::int64_t end_cursor = -1;

  /// The intervals that `next` yields, clipped to `existing`.
  Points(const Graph& graph, Next next, std::int64_t step, std::int64_t point, Interval existing) noexcept
      : graph_(&graph), next_(next), step_(step), point_(point), existing_(existing) {}
  /// One interval, which may be empty.
  explicit Points(Interval interval) noexcept : existing_(interval) {}

  class Iterator;
  Iterator begin() const noexcept;
  std::default_sentinel_t end() const noexcept { return {}; }

  /// Number of points.
  std::int64_t count() const noexcept;

  /// Calls `body` on each interval; quicker than a loop where there is but one.
  template <typename Body>
  void for_each(Body body) const;

 private:
  const Graph* graph_ = nullptr;
  Next next_ = nullptr;
  std::int64_t step_ = 0;
  std::int64_t point_ = 0;
  Interval existing_;
};

/// Holds the range by value, so that all of it can stay in registers.
class Points::Iterator {
 public:
  using value_type = Interval;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(const Points& points) noexcept : points_(points), cursor_(end_cursor), current_(points.existing_) {
    if (points.next_ == nullptr || points.existing_.last < points.existing_.first) return;
    cursor_ = 0;
    advance();
  }
  Interval operator*() const noexcept { return current_; }
  Iterator& operator++() noexcept {
    advance();
    return *this;
  }
  void operator++(int) noexcept { advance(); }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept {
    return it.current_.last < it.current_.first;
  }

 private:
  void advance() noexcept {
    while (cursor_ != end_cursor) {
      std::int64_t cursor = cursor_;  // a copy: only it must have an address
      const Interval raw = points_.next_(*points_.graph_, points_.step_, points_.point_, cursor);
      cursor_ = cursor;
      current_ = {std::max(raw.first, points_.existing_.first), std::min(raw.last, points_.existing_.last)};
      if (current_.last >= current_.first) return;
    }
    current_ = no_points;
  }

  Points points_;
  std::int64_t cursor_;
  Interval current_;
};

inline Points::Iterator Points::begin() const noexcept { return Iterator(*this); }

template <typename Body>
void Points::for_each(Body body) const {
  if (next_ == nullptr) return body(existing_);
  for (const Interval interval : *this) body(interval);
}

inline std::int64_t Points::count() const noexcept {
  std::int64_t sum = 0;
  for_each([&](Interval interval) { sum += interval.size(); });
  return sum;
}

/// One graph of a run. Immutable.
class Graph {
 public:
  /// \param index  the graph's place in its run; part of the random patterns' seed.
  /// \throws InvalidSpec
  explicit Graph(const GraphSpec& spec, std::int64_t index = 0);

  const GraphSpec& spec() const noexcept { return spec_; }
  std::int64_t index() const noexcept { return index_; }
  std::int64_t steps() const noexcept { return spec_.steps; }
  std::int64_t width() const noexcept { return spec_.width; }
  std::size_t output_bytes() const noexcept { return spec_.output_bytes; }

  /// The points that exist at `step`; none outside 0 … steps-1.
  Interval points(std::int64_t step) const noexcept {
    if (step < 0 || step >= spec_.steps) return no_points;
    return points_ == nullptr ? Interval{0, spec_.width - 1} : points_(*this, step);
  }
  /// Whether all points exist at all steps.
  bool uniform() const noexcept { return points_ == nullptr; }
  bool contains(std::int64_t step, std::int64_t point) const noexcept { return points(step).contains(point); }

  /// The points of step - 1 that task (step, point) depends on. \pre contains(step, point)
  Points deps(std::int64_t step, std::int64_t point) const noexcept {
    return around(window_, deps_, step, point, points(step - 1));
  }
  /// The points of step + 1 that depend on task (step, point). \pre contains(step, point)
  Points reverse_deps(std::int64_t step, std::int64_t point) const noexcept {
    return around({-window_.last, -window_.first}, reverse_deps_, step + 1, point, points(step + 1));
  }

  /// Steps with the same dependence set have the same dependences, except for points that do not exist.
  std::int64_t dependence_sets() const noexcept;
  std::int64_t dependence_set(std::int64_t step) const noexcept;

  /// After so many steps the shape repeats after each `dependence_sets()` steps.
  std::int64_t ramp() const noexcept;
  /// Whether a graph of another number of steps has another shape.
  bool whole() const noexcept;

  /// The depth of nested calls, if each period is one. With depth d, the points of step t < d fork those that depend on
  /// them, and the same points of step 2d - t join them; that of step 2d is the next period's root. -1: the periods are
  /// no such calls.
  std::int64_t fork_depth() const noexcept;

  /// Number of tasks; O(1) where all points exist at all steps, else O(steps).
  std::int64_t tasks() const noexcept;

  // What the pattern table reads.
  const Dag& dag() const noexcept { return *dag_; }
  /// The file, if it has weights; else null.
  std::shared_ptr<const Dag> weights() const;
  /// Sides of the folded width of `stencil_2d` and `stencil_3d`: the box of least surface, x longest.
  struct Fold {
    std::int64_t x, y, z;
  };
  const Fold& fold() const noexcept { return fold_; }
  const ForkTree& tree() const noexcept { return *tree_; }

 private:
  void check() const;

  Points around(Interval window, Points::Next next, std::int64_t step, std::int64_t point,
                Interval existing) const noexcept {
    if (next != nullptr) return {*this, next, step, point, existing};
    return Points({std::max(point + window.first, existing.first), std::min(point + window.last, existing.last)});
  }

  GraphSpec spec_;
  std::int64_t index_;
  const Pattern* pattern_;
  // The pattern's, at hand for the queries.
  Interval (*points_)(const Graph&, std::int64_t step);
  Points::Next deps_;
  Points::Next reverse_deps_;
  Interval window_ = no_points;  ///< of patterns without functions
  std::shared_ptr<const Dag> dag_;
  Fold fold_{1, 1, 1};
  std::shared_ptr<const ForkTree> tree_;
};

}  // namespace taskgrain
