#pragma once

/// The front end of graph compilation, for all policies: it checks the graph, removes redundant edges, and finds an
/// order of the tasks. The back ends (in_order_compiler.cpp, queued_compiler.cpp) make programs (program.hpp) of it.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "program.hpp"
#include "taskgrain/rt/compiled_graph.hpp"

namespace taskgrain::rt::detail {

struct Compiler {
  using NodeKind = TaskGraph::NodeKind;
  struct Out {
    std::uint32_t to;
    bool carried;
  };

  /// \throws UsageError
  Compiler(TaskGraph graph, int workers, CompileStatistics& statistics);

  std::size_t size() const noexcept { return graph.nodes_.size(); }
  const TaskGraph::Record& node(std::uint32_t n) const noexcept { return graph.nodes_[n]; }
  int worker(std::uint32_t n) const noexcept { return graph.nodes_[n].worker; }
  /// True if no worker of this rank executes the node.
  bool external(std::uint32_t n) const noexcept {
    return node(n).kind == NodeKind::precondition || node(n).kind == NodeKind::receive ||
           node(n).kind == NodeKind::self_receive;
  }
  using Send = TaskGraph::Send;
  using Receive = TaskGraph::Receive;
  /// The sends to other ranks, and the receives from them, by the numbers of their nodes.
  const std::vector<Send>& all_sends() const noexcept { return graph.sends_; }
  const std::vector<Receive>& all_receives() const noexcept { return graph.receives_; }
  const std::string& name() const noexcept { return graph.names_.graph(); }
  /// \pre across_ranks()
  Communicator& ranks() const noexcept { return *graph.ranks_; }
  bool across_ranks() const noexcept { return graph.ranks_ != nullptr; }
  /// True if the device keeps an edge, by an event: the host issues the second node as soon as it has issued the first.
  /// Not if their events are of different types: a device cannot wait for events of another one.
  bool on_device(std::uint32_t from, std::uint32_t to) const noexcept {
    return node(from).kind == NodeKind::async && node(to).kind == NodeKind::async &&
           node(from).start.type == node(to).start.type;
  }
  std::string text(std::uint32_t n) const { return graph.names_.text(n); }
  /// The step of a node in the program of its worker.
  Step step(std::uint32_t n) const;
  /// The device tasks and the edges between them.
  DevicePlan devices() const;
  /// Moves what executors need out of the graph.
  /// \param traced  with its edges
  Outline outline(bool traced) &&;

  TaskGraph graph;
  const int workers;
  std::vector<std::vector<Out>> out;  ///< by node
  std::vector<std::uint32_t> level;   ///< longest path to the node, by node
  /// Nodes, in the order given.
  std::vector<std::uint32_t> asynchronous, preconditions, postconditions, sends, receives;
  std::vector<std::uint32_t> number;  ///< of a node, among those of its list
  std::vector<std::shared_ptr<SelfEdge>> self_edges;

 private:
  void collect();
  void enlist(std::uint32_t n);
  /// \returns how many edges it adds
  std::size_t copy_self_edges();
  void remove_duplicate_edges();
  void place_postconditions();
  void find_levels();
  /// Gives the nodes of `ready`, and those that come after them alone, their levels. \returns those that have one now
  std::vector<std::uint32_t> level_from(std::vector<std::uint32_t> ready, std::vector<std::uint32_t>& before);
  [[noreturn]] void throw_cycle(const std::vector<std::uint32_t>& before) const;
  void remove_implied_edges();
};

}  // namespace taskgrain::rt::detail
