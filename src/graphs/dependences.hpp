#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace taskgrain::graphs {

/// The dependences of a graph of any shape, whose tasks have numbers: what is asked of millions of them.
class Dependences {
 public:
  using Numbers = std::vector<std::uint32_t>;

  /// \param before  the tasks that each task depends on
  /// \throws std::out_of_range  for one that is not there
  explicit Dependences(const std::vector<Numbers>& before);

  /// The tasks, each after those that it depends on: those in cycles, and after these, are not among them.
  const Numbers& order() const noexcept { return order_; }

  /// When each task of the order ends if each begins as early as it can. \pre there is no cycle
  std::vector<double> ends(const std::vector<double>& durations) const;

  /// The step of each task, in as few steps as there can be, and that of the last which reads its output; -1 if none
  /// does. A task that others wait for comes later than it could, where fewer points then pass outputs on: its own is
  /// passed on for fewer steps, and those that it reads are passed on for others anyway. \pre there is no cycle
  std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> late() const;

 private:
  /// The tasks that a task depends on.
  std::span<const std::uint32_t> before(std::uint32_t task) const noexcept {
    return std::span(before_).subspan(first_[task], first_[task + 1] - first_[task]);
  }

  std::vector<std::size_t> first_{0};  ///< Where those of each task begin, and where the last end.
  Numbers before_, order_;
};

}  // namespace taskgrain::graphs
