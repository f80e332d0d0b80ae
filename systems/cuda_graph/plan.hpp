#pragma once

/// The nodes and edges of a graph as CUDA wants them: one for each task, in an order in which each comes after those it
/// depends on.
///
/// Outputs are kept for two steps, so a task also comes after those that read what it writes over (`TaskTable`).
/// Without CUDA, so that a test can take the place of the device.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "booking.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/task_table.hpp"

class Plan {
 public:
  struct Node {
    std::int64_t step, point;
    std::byte* output;
    std::size_t first_input, inputs_number;  ///< among `inputs()`
    std::vector<std::size_t> after;          ///< the nodes it comes after
  };

  /// A node takes some kilobytes of host and device memory.
  static constexpr std::int64_t most_nodes = std::int64_t{1} << 20;

  /// \throws Unsupported if there are too many tasks
  explicit Plan(const taskgrain::Graph& graph) : table_(graph) {
    if (graph.tasks() > most_nodes)
      throw taskgrain::Unsupported("cuda_graph: " + std::to_string(graph.tasks()) + " tasks, a node each; at most " +
                                   std::to_string(most_nodes));
    std::map<const void*, std::size_t> known;  // inputs of tasks that share them, in steps of one class
    std::vector<std::size_t> before, now;
    for (std::int64_t step = 0; step < graph.steps(); ++step) {
      now.assign(static_cast<std::size_t>(graph.width()), 0);
      for (std::int64_t point = graph.points(step).first; point <= graph.points(step).last; ++point) {
        const taskgrain::TaskTable::Task& task = table_(step, point);
        std::size_t first = inputs_.size();
        if (!task.inputs.empty()) {
          const auto [entry, fresh] = known.try_emplace(task.inputs.data(), first);
          first = entry->second;
          if (fresh) taskgrain::device::append_inputs(graph, step, point, task.inputs, inputs_);
        }
        now[static_cast<std::size_t>(point)] = nodes_.size();
        Node& node =
            nodes_.emplace_back(step, point, task.output, first, task.inputs.size(), std::vector<std::size_t>());
        for (const std::int64_t other : task.before) node.after.push_back(before[static_cast<std::size_t>(other)]);
      }
      before.swap(now);
    }
  }

  /// Where outputs and inputs point into, as it must be before the first run.
  std::span<std::byte> memory() const noexcept { return table_.memory(); }
  const std::vector<taskgrain::device::Input>& inputs() const noexcept { return inputs_; }
  const std::vector<Node>& nodes() const noexcept { return nodes_; }

 private:
  taskgrain::TaskTable table_;
  std::vector<taskgrain::device::Input> inputs_;
  std::vector<Node> nodes_;
};
