#pragma once

/// The part of compiling that all policies share: it removes redundant edges and finds an order of the tasks.

#include <cstdint>
#include <string>
#include <vector>

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
  TaskGraph::Record& node(std::uint32_t n) noexcept { return graph.nodes_[n]; }
  int worker(std::uint32_t n) const noexcept { return graph.nodes_[n].worker; }
  bool external(std::uint32_t n) const noexcept { return node(n).kind == Kind::precondition; }
  /// Whether an edge holds as soon as its first node was started, because the device does the rest.
  bool on_device(std::uint32_t from, std::uint32_t to) const noexcept {
    return node(from).kind == Kind::async && node(to).kind == Kind::async;
  }
  std::string text(std::uint32_t n) const { return graph.text(n); }
  const std::string& graph_name() const noexcept { return graph.name_; }

  TaskGraph graph;
  std::vector<std::vector<Out>> out;                         ///< by node
  std::vector<std::uint32_t> level;                          ///< longest path to the node, by node
  std::vector<std::uint32_t> preconditions, postconditions;  ///< nodes, in the order given

 private:
  void collect(int workers);
  void place_postconditions();
  void find_levels();
  void leave_out_implied();
};

}  // namespace taskgrain::rt::detail
