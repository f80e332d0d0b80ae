#pragma once

/// A layered DAG read from a file: what a pattern `from_file` stands on.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "taskgrain/graph.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {

class Dag {
 public:
  /// Reads `{"steps":[{"width":2,"dependences":[[],[]]},{"width":1,"dependences":[[0,1]],"weights":[3]}]}`, or the
  /// lines that `taskgrain graph --format json` prints. \throws InvalidSpec naming the file, the step and the point.
  explicit Dag(const std::string& path);

  /// Of the file's bytes.
  std::int64_t hash() const noexcept { return hash_; }
  std::int64_t steps() const noexcept { return static_cast<std::int64_t>(points_.size()); }
  std::int64_t width() const noexcept { return width_; }
  Interval points(std::int64_t step) const noexcept { return points_[static_cast<std::size_t>(step)]; }
  /// Whether the file says of some task how much longer it is than others.
  bool weighted() const noexcept { return !weights_.empty(); }
  /// How many times as long as the mean of all points a task is; their mean is 1. \pre the graph has the point
  double weight(std::int64_t step, std::int64_t point) const noexcept {
    if (!weighted()) return 1;
    const auto t = static_cast<std::size_t>(step);
    return weights_[t][static_cast<std::size_t>(point - points_[t].first)];
  }

  /// Intervals for each point of a layer: `first_interval` has one entry more than the layer has points.
  struct Layer {
    std::vector<std::int64_t> first_interval;
    std::vector<Interval> intervals;
    Interval next(std::int64_t row, std::int64_t& cursor) const noexcept;
  };
  const Layer& deps(std::int64_t step) const noexcept { return deps_[static_cast<std::size_t>(step)]; }
  /// Of the points of step - 1: the points of `step` that depend on them.
  const Layer& reverse_deps(std::int64_t step) const noexcept { return reverse_deps_[static_cast<std::size_t>(step)]; }

 private:
  std::vector<Interval> points_;
  std::vector<Layer> deps_;
  std::vector<Layer> reverse_deps_;
  std::vector<std::vector<double>> weights_;  ///< of each step's points; of no step where no step has any
  std::int64_t width_ = 0;
  std::int64_t hash_ = 0;
};

/// Of a file's bytes, from 1 to 2^48 - 1. \throws InvalidSpec for what is no regular file or cannot be read
std::int64_t dag_hash(const std::string& path);

/// The file of a graph; null for a pattern that reads none.
/// \throws InvalidSpec for a file that is missing, wrong, not the one of `dag_hash`, or named for a pattern that reads
/// none
std::shared_ptr<const Dag> dag_of(const Pattern& pattern, const GraphSpec& spec);

}  // namespace taskgrain
