#pragma once

/// The part of compiling that all policies share: it removes redundant edges and finds an order of the tasks. A
/// compiler to programs (program.hpp) reads the result.

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
  /// What no worker of this rank does.
  bool external(std::uint32_t n) const noexcept {
    return node(n).kind == NodeKind::precondition || node(n).kind == NodeKind::receive ||
           node(n).kind == NodeKind::self_receive;
  }
  using Send = TaskGraph::Send;
  using Receive = TaskGraph::Receive;
  /// To and from other ranks, by the numbers of their nodes.
  const std::vector<Send>& all_sends() const noexcept { return graph.sends_; }
  const std::vector<Receive>& all_receives() const noexcept { return graph.receives_; }
  const std::string& name() const noexcept { return graph.names_.graph(); }
  /// \pre across_ranks()
  Communicator& ranks() const noexcept { return *graph.ranks_; }
  bool across_ranks() const noexcept { return graph.ranks_ != nullptr; }
  /// Whether an edge holds as soon as its first node was started, because the device does the rest. A device cannot
  /// wait for events of another type; the host does then.
  bool on_device(std::uint32_t from, std::uint32_t to) const noexcept {
    return node(from).kind == NodeKind::async && node(to).kind == NodeKind::async &&
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
  std::vector<std::vector<Out>> out;  ///< by node
  std::vector<std::uint32_t> level;   ///< longest path to the node, by node
  /// Nodes, in the order given.
  std::vector<std::uint32_t> asynchronous, preconditions, postconditions, sends, receives;
  std::vector<std::uint32_t> number;  ///< of a node, among those of its list
  std::vector<std::shared_ptr<SelfEdge>> self_edges;

 private:
  void collect();
  void enlist(std::uint32_t n);
  /// \returns how many edges that adds
  std::size_t copy_to_itself();
  void leave_out_repeated();
  void place_postconditions();
  void find_levels();
  /// Gives the nodes of `ready`, and those that come after them alone, their levels. \returns those that have one now
  std::vector<std::uint32_t> level_from(std::vector<std::uint32_t> ready, std::vector<std::uint32_t>& before);
  [[noreturn]] void refuse_cycle(const std::vector<std::uint32_t>& before) const;
  void leave_out_implied();
};

}  // namespace taskgrain::rt::detail
