#pragma once

/// A graph of tasks on workers, to be compiled. Building it is cheap; it may have millions of tasks.

#include <any>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/action.hpp"

namespace taskgrain::rt {

namespace detail {
struct Compiler;
}

/// Arguments of a task: its iteration and its worker.
struct Turn {
  std::int64_t iteration;  ///< of the launch, from 0
  int worker;              ///< that runs it
};

/// The device's own event for the work of a task. Later work on the device waits for it.
using DeviceEvent = std::any;

/// The device side of an asynchronous task.
struct Issue {
  /// Events of the asynchronous tasks before this one. The device must wait for them.
  std::span<const DeviceEvent> after;
  /// Call it once, from any thread, when the device is done.
  std::function<void()> done;
};

class TaskGraph {
 public:
  struct Node {
    std::uint32_t index;
  };

  /// \param name  of the graph, for errors and traces
  explicit TaskGraph(std::string name = "graph") : name_(std::move(name)) {}

  /// A task of a worker: `function(turn)` or `function()`.
  /// \param name  for errors and traces; empty: its number
  template <typename F>
  Node task(int worker, F function, std::string name = {}) {
    if constexpr (std::invocable<F&, const Turn&>)
      return add({worker, Kind::task, detail::Action(std::move(function), owned_), {}}, std::move(name));
    else
      return task(worker, [function = std::move(function)](const Turn&) mutable { function(); }, std::move(name));
  }
  /// A task whose work a device does: `start` gives it to the device and returns at once. A task after it that is
  /// asynchronous too is started when this one has been, and waits on the device; any other waits until the device is
  /// done.
  Node async_task(int worker, std::function<DeviceEvent(const Turn&, const Issue&)> start, std::string name = {}) {
    return add({worker, Kind::async, {}, std::move(start)}, std::move(name));
  }
  /// A precondition: tasks after it wait for an event that you pass to each launch, in the order of these calls.
  Node precondition(std::string name = {}) { return add({0, Kind::precondition, {}, {}}, std::move(name)); }
  /// An event for outside that comes after tasks; returned by each launch, in the order of these calls. With
  /// iterations, that of the last.
  Node postcondition(std::string name = {}) { return add({0, Kind::postcondition, {}, {}}, std::move(name)); }

  /// `to` starts after `from` is done. The same edge twice is one edge.
  void edge(Node from, Node to) { edges_.push_back({from.index, to.index, false}); }
  /// `to` of the next iteration starts after `from` of this one is done.
  void carried_edge(Node from, Node to) { edges_.push_back({from.index, to.index, true}); }

  std::size_t nodes() const noexcept { return nodes_.size(); }

 private:
  friend struct detail::Compiler;

  enum class Kind : std::uint8_t { task, async, precondition, postcondition };
  struct Record {
    int worker;
    Kind kind;
    detail::Action action;
    std::function<DeviceEvent(const Turn&, const Issue&)> start;
  };
  struct Edge {
    std::uint32_t from, to;
    bool carried;
  };

  Node add(Record record, std::string name) {
    nodes_.push_back(std::move(record));
    if (!name.empty()) {
      names_.resize(nodes_.size());
      names_.back() = std::move(name);
    }
    return {static_cast<std::uint32_t>(nodes_.size() - 1)};
  }
  std::string text(std::size_t node) const {
    const bool named = node < names_.size() && !names_[node].empty();
    return name_ + " " + (named ? names_[node] : std::to_string(node));
  }

  std::string name_;
  std::vector<Record> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::string> names_;  // as far as any was given
  std::vector<std::shared_ptr<void>> owned_;
};

}  // namespace taskgrain::rt
