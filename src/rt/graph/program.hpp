#pragma once

/// Programs: what each worker does in an iteration of a compiled graph, as plain data. Compilers write them
/// (in_order_compiler.cpp, queued_compiler.cpp); executors run them (in_order.cpp, queued.cpp) and know no TaskGraph.
///
/// The instructions of a worker are
///   run     call a task of the host,
///   issue   give an asynchronous task to its device,
///   post    set a postcondition, in the last iteration,
///   send    copy the bytes of several nodes to another rank,
/// and between them what keeps the edges: wait and signal. These differ. In order, a wait is for the value of a
/// channel, and a signal is a value stored to one (in_order_program.hpp). Otherwise a wait is a number of arrivals at a
/// record, and a signal is one arrival (queued_program.hpp). What both share is here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "taskgrain/rt/detail/graph_node.hpp"
#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt::detail {

enum class Instruction : std::uint8_t { run, issue, post, send };

/// Of a record among those of its worker.
using RecordIndex = std::uint32_t;

/// One of these four. Programs derive their records from it, a cache line each.
struct Step {
  Action action;          ///< run: what to call
  std::uint32_t node;     ///< of the graph, for its name
  std::uint32_t operand;  ///< issue: which device task; post: which postcondition; send: which group of sends
  Instruction instruction;
};

/// An edge between two device tasks with events of one type, which the device keeps: the second is issued once the
/// first has been.
struct DeviceEdge {
  std::uint32_t from, to;  ///< device tasks
  bool carried;
  bool operator==(const DeviceEdge&) const = default;
};

/// An asynchronous task.
struct DeviceTask {
  std::uint32_t node;
  int worker;  ///< that issues it
  Start start;
  std::vector<std::uint32_t> before, after;  ///< device edges to it and from it
};

/// What a device does, and in which order.
struct DevicePlan {
  std::vector<DeviceTask> tasks;
  std::vector<DeviceEdge> edges;
};

/// What is left of a graph beside its programs.
struct Outline {
  TaskNames names;
  std::uint32_t graph;                                       ///< the number that its nodes carry
  std::size_t nodes;                                         ///< how many there were
  std::vector<std::uint32_t> preconditions, postconditions;  ///< nodes, ascending
  std::vector<std::uint32_t> receives;                       ///< nodes, ascending
  std::vector<int> members;                                  ///< workers that have a program, ascending
  std::vector<std::shared_ptr<void>> owned;                  ///< what actions point to
};

}  // namespace taskgrain::rt::detail
