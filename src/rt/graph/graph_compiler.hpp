#pragma once

/// The part of compiling that all policies share: it removes redundant edges and finds an order of the tasks. A
/// compiler to Programs (in_order_program.hpp, queued_program.hpp) reads the result.

#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"
#include "taskgrain/rt/compiled_graph.hpp"

namespace taskgrain::rt::detail {

struct Compiler {
  using Kind = TaskGraph::Kind;
  struct Out {
    std::uint32_t to;
    bool carried;
  };

  /// \throws UsageError
  Compiler(TaskGraph graph, int workers, CompileStatistics& statistics);

  std::size_t size() const noexcept { return graph.nodes_.size(); }
  const TaskGraph::Record& node(std::uint32_t n) const noexcept { return graph.nodes_[n]; }
  int worker(std::uint32_t n) const noexcept { return graph.nodes_[n].worker; }
  bool external(std::uint32_t n) const noexcept { return node(n).kind == Kind::precondition; }
  /// Whether an edge holds as soon as its first node was started, because the device does the rest. A device cannot
  /// wait for events of another type; the host does then.
  bool on_device(std::uint32_t from, std::uint32_t to) const noexcept {
    return node(from).kind == Kind::async && node(to).kind == Kind::async &&
           node(from).start.type == node(to).start.type;
  }
  std::string text(std::uint32_t n) const { return graph.names_.text(n); }
  /// What its worker does at a node.
  Step step(std::uint32_t n) const;
  /// What devices do.
  DevicePlan devices() const;
  /// What is left of the graph, which is gone then.
  Outline outline() &&;

  TaskGraph graph;
  const int workers;
  std::vector<std::vector<Out>> out;                                       ///< by node
  std::vector<std::uint32_t> level;                                        ///< longest path to the node, by node
  std::vector<std::uint32_t> asynchronous, preconditions, postconditions;  ///< nodes, in the order given
  std::vector<std::uint32_t> number;                                       ///< of a node, among those of its list

 private:
  void collect();
  void place_postconditions();
  void find_levels();
  void leave_out_implied();
};

}  // namespace taskgrain::rt::detail
