#pragma once

/// What errors and traces call the tasks of a graph.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace taskgrain::rt::detail {

class TaskNames {
 public:
  explicit TaskNames(std::string graph) : graph_(std::move(graph)) {}

  const std::string& graph() const noexcept { return graph_; }
  /// \param name  empty: the task is called by its number
  void name(std::size_t task, std::string name) {
    if (name.empty()) return;
    if (names_.size() <= task) names_.resize(task + 1);
    names_[task] = std::move(name);
  }
  std::string text(std::size_t task) const {
    const bool named = task < names_.size() && !names_[task].empty();
    return graph_ + " " + (named ? names_[task] : std::to_string(task));
  }

 private:
  std::string graph_;
  std::vector<std::string> names_;  // as far as any was given
};

}  // namespace taskgrain::rt::detail
