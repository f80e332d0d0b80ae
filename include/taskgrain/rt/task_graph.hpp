#pragma once

/// A graph of tasks on workers, to be compiled. Building it is cheap; it may have millions of tasks.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/graph_node.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/issue.hpp"

namespace taskgrain::rt {

class Communicator;

namespace detail {
class CompiledBody;
struct Compiler;

/// Never given twice.
std::uint32_t new_graph_number() noexcept;
}  // namespace detail

/// Arguments of a task: its iteration and its worker.
struct Turn {
  std::int64_t iteration;  ///< its number in the launch, from 0
  int worker;              ///< the worker that runs it
  std::int64_t overall;    ///< the number of the iteration among those of all launches, from 0
};

class TaskGraph {
 public:
  struct Node {
    std::uint32_t index = UINT32_MAX;
    /// The number of its graph; 0: not said, and compiling finds whether there is such a node.
    std::uint32_t graph = 0;
  };

  /// \param name  of the graph, for errors and traces
  explicit TaskGraph(std::string name = "graph") : names_(std::move(name)) {}
  /// This rank's share of a graph across all ranks. Each of them gives its own tasks, and what it sends and receives;
  /// then all compile at the same time, and launch as many iterations as often.
  explicit TaskGraph(Communicator& ranks, std::string name = "graph") : names_(std::move(name)), ranks_(&ranks) {}

  /// A task of a worker: `function(turn)` or `function()`.
  /// \param name  for errors and traces; empty: its number
  template <typename F>
  Node task(int worker, F function, std::string name = {}) {
    if constexpr (std::invocable<F&, const Turn&>)
      return add({worker, NodeKind::task, detail::Action(std::move(function), owned_), {}}, std::move(name));
    else
      return task(worker, [function = std::move(function)](const Turn&) mutable { function(); }, std::move(name));
  }
  /// A task whose work a device does: `start(turn, issue)` gives it to the device and returns at once, with the
  /// device's event. A task after it that has events of the same type is started when this one has been, and waits on
  /// the device; any other waits until the device is done.
  /// \tparam E  the type of the event
  template <DeviceEvent E, typename F>
    requires std::is_invocable_r_v<E, F&, const Turn&, const Issue<E>&>
  Node async_task(int worker, F start, std::string name = {}) {
    detail::check_function<F>();
    const auto function = std::make_shared<F>(std::move(start));
    owned_.push_back(function);
    return add({worker, NodeKind::async, {}, detail::Start::of<E>(*function)}, std::move(name));
  }
  /// A precondition: tasks after it wait for an event that you pass to each launch.
  Node precondition(std::string name = {}) { return add({0, NodeKind::precondition, {}, {}}, std::move(name)); }
  /// An event for outside that comes after tasks; each launch returns one. With iterations, that of the last.
  Node postcondition(std::string name = {}) { return add({0, NodeKind::postcondition, {}, {}}, std::move(name)); }

  /// An edge to a rank, and the bytes that it carries: when the nodes before it are done, the worker copies `from`
  /// to the rank, which has a node `receive` of the same tag. The rank may be this one. What writes `from` again comes
  /// after this node.
  /// \param worker  of this rank
  /// \param tag     one of your choice; it names this edge among those from this rank to the other
  /// \throws UsageError  the graph has no communicator
  Node send(int worker, int rank, std::uint64_t tag, std::span<const std::byte> from, std::string name = {}) {
    need_ranks();
    sends_.push_back({rank, tag, from});
    return add({worker, NodeKind::send, {}, {}}, std::move(name));
  }
  /// The other end: nodes after it find the bytes at CompiledGraph::received.
  Node receive(int rank, std::uint64_t tag, std::size_t bytes, std::string name = {}) {
    need_ranks();
    receives_.push_back({rank, tag, bytes});
    return add({0, NodeKind::receive, {}, {}}, std::move(name));
  }

  /// `to` starts after `from` is done. The same edge twice is one edge.
  /// \throws UsageError  a node of another graph. A copy of a graph has the nodes of its original.
  void edge(Node from, Node to) { edges_.push_back({index(from), index(to), false}); }
  /// `to` of the next iteration starts after `from` of this one is done.
  /// \throws as edge
  void carried_edge(Node from, Node to) { edges_.push_back({index(from), index(to), true}); }

  std::size_t nodes() const noexcept { return nodes_.size(); }
  /// The ranks of the graph; null if it is one of this rank alone.
  Communicator* ranks() const noexcept { return ranks_; }

 private:
  friend class detail::CompiledBody;
  friend struct detail::Compiler;

  enum class NodeKind : std::uint8_t { task, async, precondition, postcondition, send, receive, self_receive };
  struct Record {
    int worker;
    NodeKind kind;
    detail::Action action;
    detail::Start start;
  };
  struct Send {
    int rank;
    std::uint64_t tag;
    std::span<const std::byte> from;
  };
  struct Receive {
    int rank;
    std::uint64_t tag;
    std::size_t bytes;
  };
  struct Edge {
    std::uint32_t from, to;
    bool carried;
  };

  std::uint32_t index(Node node) const {
    if (node.graph != 0 && node.graph != number_) [[unlikely]]
      throw UsageError(names_.graph() + ": an edge names node " + std::to_string(node.index) + " of another graph");
    return node.index;
  }
  void need_ranks() const {
    if (ranks_ == nullptr)
      throw UsageError(names_.graph() + " has no communicator: make it with TaskGraph(communicator, name)");
  }
  Node add(Record record, std::string name) {
    if (nodes_.empty()) number_ = detail::new_graph_number();  // another one after all nodes have been moved away
    nodes_.push_back(std::move(record));
    names_.name(nodes_.size() - 1, std::move(name));
    return {static_cast<std::uint32_t>(nodes_.size() - 1), number_};
  }

  detail::TaskNames names_;
  std::uint32_t number_ = 0;  // from the first node on
  std::vector<Record> nodes_;
  std::vector<Edge> edges_;
  Communicator* ranks_ = nullptr;
  std::vector<Send> sends_;  // in the order of their nodes
  std::vector<Receive> receives_;
  std::vector<std::shared_ptr<void>> owned_;
};

}  // namespace taskgrain::rt
