#pragma once

/// Groups steps that look alike, so that a system compiles each kind of step once.

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/graph.hpp"

namespace taskgrain {

/// After how many steps a graph has all its points, if they come and then stay, as in a tree. From there on it repeats
/// itself after as many steps: they are a multiple of `depth` and of the number of its dependence sets. A task of an
/// earlier step depends on no other points than the tasks of its point in later steps do. 0 if a point vanishes, or
/// dependences do not repeat.
inline std::int64_t period_of_grown(const Graph& graph, std::int64_t depth) {
  const std::int64_t steps = graph.steps(), sets = graph.dependence_sets();
  if (sets >= steps) return 0;
  std::int64_t grown = 2;
  for (std::int64_t step = 1; step < steps; ++step) {
    const Interval before = graph.points(step - 1), now = graph.points(step);
    if (before.first < now.first || before.last > now.last) return 0;
    if (!(before == now)) grown = std::max(grown, step + 1);
  }
  const std::int64_t one = std::lcm(depth, sets);
  return (grown + one - 1) / one * one;
}

/// Two steps are of one class if their tasks have the same dependences, the tasks of the two steps before them and of
/// that half a `depth` before were the same, and they are equal modulo `depth`, so that a program with addresses in a
/// ring of so many steps fits both.
class StepClasses {
 public:
  explicit StepClasses(const Graph& graph, std::int64_t depth = 2) {
    if (graph.uniform()) {
      const std::int64_t sets = graph.dependence_sets();
      period_ = sets < graph.steps() ? std::lcm(depth, sets) : graph.steps();  // or each step is a class
      const std::int64_t classes = std::min(graph.steps(), 2 + period_);
      if (classes > most_classes) throw too_many(graph);
      for (std::int64_t step = 0; step < classes; ++step) representatives_.push_back(step);
      // A division takes longer than the rest of a look-up.
      kept_ = std::min(graph.steps(), most_kept);
      for (std::int64_t step = 0; step < kept_; ++step)
        class_of_step_.push_back(static_cast<std::uint32_t>(repeated(step)));
      return;
    }
    if (graph.steps() > most_steps) throw too_many(graph);
    kept_ = graph.steps();
    std::map<Signature, std::uint32_t> known;
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      const auto next = static_cast<std::uint32_t>(representatives_.size());
      const auto [entry, fresh] = known.try_emplace(signature(graph, step, depth), next);
      if (fresh) representatives_.push_back(step);
      class_of_step_.push_back(entry->second);
    }
  }

  /// The first step of each class.
  const std::vector<std::int64_t>& representatives() const noexcept { return representatives_; }

  std::size_t operator[](std::int64_t step) const noexcept {
    return step < kept_ ? class_of_step_[static_cast<std::size_t>(step)] : repeated(step);
  }

  /// From step 2 on, the classes repeat after so many steps; 0 if they need not.
  std::int64_t period() const noexcept { return period_; }

 private:
  std::size_t repeated(std::int64_t step) const noexcept {
    return static_cast<std::size_t>(step < 2 ? step : 2 + (step - 2) % period_);
  }

  static constexpr std::int64_t most_kept = std::int64_t{1} << 16;
  static constexpr std::int64_t most_steps = std::int64_t{1} << 26;
  static constexpr std::int64_t most_classes = std::int64_t{1} << 20;
  using Signature = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  static Unsupported too_many(const Graph& graph) {
    return Unsupported("this system compiles graphs ahead and cannot do so with " + std::to_string(graph.steps()) +
                       " different steps of pattern " + graph.spec().pattern);
  }

  static Signature signature(const Graph& graph, std::int64_t step, std::int64_t depth) {
    const Interval now = graph.points(step), before = graph.points(step - 1), earlier = graph.points(step - 2),
                   far = graph.points(step - depth / 2);
    return {step % depth,  graph.dependence_set(step),
            now.first,     now.last,
            before.first,  before.last,
            earlier.first, earlier.last,
            far.first,     far.last};
  }

  std::int64_t kept_ = 0;    ///< steps whose class is looked up
  std::int64_t period_ = 0;  ///< of a uniform graph, from step 2 on; 0: look it up
  std::vector<std::int64_t> representatives_;
  std::vector<std::uint32_t> class_of_step_;  ///< of the first steps; of all where they do not repeat
};

}  // namespace taskgrain
