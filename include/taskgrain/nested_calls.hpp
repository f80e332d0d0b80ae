#pragma once

/// Runs a graph of nested forks as a program that calls itself, instead of step by step: for systems that fork and
/// join. The program calls the root of each period, one after the other.
///
///     void call(const NestedCalls& calls, NestedCalls::Call one) {
///       calls.begin(context, one);
///       const Interval children = calls.children(one);
///       … fork call(calls, calls.child(one, k)) for each k of them, and join
///       calls.end(context, one);
///     }
///
/// The tasks are those of the graph, once each. What a call writes stays where its children, and then its parent, read
/// it. Which call calls which is worked out ahead, as a program would know it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/execution.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {

class NestedCalls {
 public:
  NestedCalls(NestedCalls&&) = default;  // but no copy: the outputs lie in the memory

  /// Those of each graph of a run. \throws Unsupported
  static std::vector<NestedCalls> of(Execution& run) {
    std::vector<NestedCalls> all;
    for (std::size_t g = 0; g < run.graphs().size(); ++g) all.emplace_back(run, g);
    return all;
  }

  /// A point of a step that forks, and of the one that joins what it has forked. Its number counts the calls of a
  /// period, level by level.
  struct Call {
    std::int64_t root, level, number;  ///< the root's step
  };

  /// \param g  which graph of the run
  /// \throws Unsupported if its periods are not nested forks
  NestedCalls(Execution& run, std::size_t g)
      : run_(&run), graph_(&run.graphs()[g]), g_(g), depth_(graph_->fork_depth()) {
    if (depth_ < 0) throw Unsupported(refusal());
    for (std::int64_t level = 0; level <= depth_; ++level)
      levels_.push_back(levels_.back() + graph_->points(level).size());
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level)
      for (std::int64_t number = levels_[level]; number < levels_[level + 1]; ++number) {
        const std::int64_t step = static_cast<std::int64_t>(level);
        const std::int64_t children = step < depth_ ? graph_->reverse_deps(step, number - levels_[level]).count() : 0;
        children_.push_back(children_.back() + children);
        parents_.insert(parents_.end(), static_cast<std::size_t>(children), number);
      }
    const std::size_t calls = parents_.size(), lines = Outputs::stride_of(*graph_, 0) / sizeof(Line);
    if (lines > SIZE_MAX / sizeof(Line) / calls) throw std::bad_alloc();
    Line none;
    none.bytes.fill(std::byte{0xff});  // no task's output: what runs early is caught
    memory_.assign(calls * lines, none);
    for (std::size_t number = 0; number < calls; ++number) outputs_.push_back(memory_[number * lines].bytes.data());
  }

  /// Periods, the last of which may be cut: each begins when the one before has ended.
  std::int64_t periods() const noexcept { return (graph_->steps() - 1) / (2 * depth_) + 1; }
  Call root(std::int64_t period) const noexcept { return {2 * depth_ * period, 0, 0}; }

  /// The numbers of those that a call calls; none at the leaves, and where the steps end.
  Interval children(Call call) const noexcept {
    return call.root + call.level + 1 < graph_->steps() ? below(call) : no_points;
  }
  static Call child(Call call, std::int64_t number) noexcept { return {call.root, call.level + 1, number}; }

  /// The task before the forks. A root's is the one that has joined the period before, if there is one.
  void begin(ThreadContext& context, Call call) const {
    const bool joins = call.level == 0;
    execute(context, call, call.root + call.level,
            !joins          ? Interval{parent(call), parent(call)}
            : call.root > 0 ? below(call)
                            : no_points);
  }
  /// The task after the join; a root has none of its own.
  void end(ThreadContext& context, Call call) const {
    const std::int64_t step = call.root + 2 * depth_ - call.level;
    if (call.level > 0 && call.level < depth_ && step < graph_->steps()) execute(context, call, step, below(call));
  }

 private:
  std::string refusal() const {
    std::string names;
    for (const Pattern& pattern : patterns())
      if (pattern.fork_depth != nullptr) names += (names.empty() ? "" : ", ") + std::string(pattern.name);
    return "pattern '" + graph_->spec().pattern + "' of width " + std::to_string(graph_->width()) +
           " has no nested forks, which are in " + names + " of width 2 or more";
  }

  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };

  std::int64_t parent(Call call) const noexcept { return parents_[static_cast<std::size_t>(call.number)]; }
  Interval below(Call call) const noexcept {
    const auto number = static_cast<std::size_t>(call.number);
    return {children_[number], children_[number + 1] - 1};
  }
  void execute(ThreadContext& context, Call call, std::int64_t step, Interval inputs) const {
    run_->execute_point(context, g_, step, call.number - levels_[static_cast<std::size_t>(call.level)],
                        outputs_[static_cast<std::size_t>(call.number)],
                        {outputs_.data() + inputs.first, static_cast<std::size_t>(inputs.size())});
  }

  Execution* run_;
  const Graph* graph_;
  std::size_t g_;
  std::int64_t depth_;
  std::vector<std::int64_t> levels_{0};    // the number of the first call of each, and at last of all
  std::vector<std::int64_t> children_{1};  // the number of the first child of each call: they follow one another
  std::vector<std::int64_t> parents_{0};   // that of each call; the root has none
  std::vector<Line> memory_;
  std::vector<std::byte*> outputs_;
};

}  // namespace taskgrain
