#pragma once

/// Programs: what each worker executes in an iteration of a compiled graph, as plain data. Compilers write them
/// (in_order_compiler.cpp, queued_compiler.cpp); executors run them (in_order.cpp, queued.cpp) and know no TaskGraph.
///
/// The instructions of a worker are
///   run     call a task of the host,
///   issue   give an asynchronous task to its device,
///   post    set a postcondition, in the last iteration,
///   send    copy the bytes of several nodes to another rank,
/// and between them waits and signals, which keep the edges. With policy in_order, a record waits for values of
/// channels, and signals by storing one. With the other policies, a record waits for a number of arrivals, and signals
/// by an arrival at another record. The parts that both share come first.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/detail/graph_node.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt::detail {

enum class Instruction : std::uint8_t { run, issue, post, send };

/// The index of a record in the program of its worker.
using RecordIndex = std::uint32_t;

/// One instruction. Programs derive their records from it, each one cache line.
struct Step {
  Action action;          ///< run: what to call
  std::uint32_t node;     ///< of the graph, for its name
  std::uint32_t operand;  ///< issue: which device task; post: which postcondition; send: which group of sends
  Instruction instruction;
};

/// An edge between two device tasks that the device keeps, by an event: the second may be issued once the first has
/// been.
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

/// The device tasks, and the edges that devices keep.
struct DevicePlan {
  std::vector<DeviceTask> tasks;
  std::vector<DeviceEdge> edges;
};

/// The memory of an edge from a rank to itself: iteration n writes block n mod 2.
struct SelfEdge {
  SelfEdge(std::uint32_t node, std::size_t bytes)
      : receive(node), size(bytes), block((bytes + apart - 1) / apart * apart) {
    memory.resize(2 * block);
  }
  std::span<std::byte> at(std::int64_t iteration) noexcept {
    return {memory.data() + static_cast<std::size_t>(iteration & 1) * block, size};
  }
  std::uint32_t receive;  ///< its node
  std::size_t size, block;
  std::vector<std::byte, ApartAllocator<std::byte>> memory;
};

/// The parts of a graph that executors need beside the programs.
struct Outline {
  TaskNames names;
  std::uint32_t graph;                                       ///< its number, as in TaskGraph::Node
  std::size_t nodes;                                         ///< how many there were
  std::vector<std::uint32_t> preconditions, postconditions;  ///< nodes, ascending
  std::vector<std::uint32_t> receives;                       ///< nodes, ascending: from other ranks
  std::vector<std::shared_ptr<SelfEdge>> self_edges;         ///< by receive, ascending
  std::vector<int> members;                                  ///< workers that have a program, ascending
  std::vector<std::shared_ptr<void>> owned;                  ///< what actions point to
  std::vector<Trace::Edge> edges;                            ///< for a trace

  /// The edge of a receive from this rank; null if the node is something else.
  SelfEdge* self_edge(std::uint32_t node) const noexcept {
    const auto found = std::ranges::lower_bound(self_edges, node, {}, [](const auto& edge) { return edge->receive; });
    return found != self_edges.end() && (*found)->receive == node ? found->get() : nullptr;
  }
};

// -- in order
//
// Programs of policy in_order: each worker does one thing after another, and waits only for other workers, events and
// devices.
//
// A channel from worker a to worker b is written by a alone. In iteration n (counted over all launches) a stores
//   n · S + k   after the record that is the k-th of the S in its program for which b waits,
// and b waits for  n · S + k,  or for  (n - 1) · S + k  where the edge is carried. Because both programs are linear,
// a record needs to wait only for the last of its predecessors on each worker, and not if an earlier record of its
// program has waited for that: so stores and waits are the fewest that keep all edges.
//
// The channel of a device task counts the iterations that its device has done, from the first without a gap; that of a
// precondition is n for iterations below n. S = 1 for both. They are written by threads that run no program.

struct Wait {
  std::int64_t offset, stride;  ///< until iteration · stride + offset is passed
  std::uint32_t channel;
  bool external;         ///< written by no program
  bool by_rank = false;  ///< by another rank (rank_edges.hpp)
  bool operator==(const Wait&) const = default;
};

struct Signal {
  std::int64_t offset, stride;  ///< iteration · stride + offset
  std::uint32_t channel;
};

/// A record of an InOrderProgram. Its waits and signals begin where those of the previous record end.
struct alignas(64) InOrderRecord : Step {
  std::uint32_t waits_end = 0, signals_end = 0;
};

struct InOrderProgram {
  std::vector<InOrderRecord> records;
  std::vector<Wait> waits;
  std::vector<Signal> signals;
};

struct ChannelEnds {
  int writer;                ///< -1: external
  std::vector<int> readers;  ///< one, unless it is external
  bool operator==(const ChannelEnds&) const = default;
};

struct InOrderPrograms {
  std::vector<InOrderProgram> workers;
  DevicePlan devices;
  /// First those of the device tasks, then those of the preconditions, of what is received, of credits from the ranks
  /// to which this one sends, and then those between workers.
  std::vector<ChannelEnds> channels;
  std::vector<int> target_ranks;  ///< to which this one sends, ascending
  /// The sends of one record to one rank, by their numbers.
  struct Group {
    int rank;
    std::vector<std::uint32_t> sends;
  };
  std::vector<Group> groups;
  std::uint32_t first_receive = 0, first_credit = 0;

  static std::uint32_t channel_of_device_task(std::uint32_t d) noexcept { return d; }
  static std::uint32_t channel_of_precondition(std::size_t k, const DevicePlan& devices) noexcept {
    return static_cast<std::uint32_t>(devices.tasks.size() + k);
  }
};

InOrderPrograms compile_in_order(const Compiler& graph, CompileStatistics& statistics);

// -- by readiness
//
// Programs of policies ready_queue and stealing: each worker runs those of its records that are ready.
//
// A record waits for as many arrivals as it has edges; with the last it is ready. A signal is one arrival: at a record
// of the same worker, or by a message at one of another.

/// A flag of a signal: it arrives in the next iteration.
inline constexpr RecordIndex next_iteration = RecordIndex{1} << 31;

struct Remote {
  RecordIndex place;
  int worker;
};

/// Its signals begin where those of the previous record end.
struct alignas(64) QueuedRecord : Step {
  std::uint32_t local_end = 0, remote_end = 0;
};

/// A record, and by how many its arrivals differ from the indegree.
using Correction = std::pair<RecordIndex, std::int32_t>;

struct QueuedProgram {
  std::vector<QueuedRecord> records;
  std::vector<RecordIndex> local;      ///< signals to records of this worker
  std::vector<Remote> remote;          ///< and of others
  std::vector<std::int32_t> indegree;  ///< by record: arrivals that it waits for in an iteration
  std::vector<Correction> first;       ///< in the first iteration of a launch: events come, carried edges do not
  std::vector<Correction> second;      ///< in the second: events come before that, too
  std::vector<RecordIndex> roots;      ///< records that wait for nothing of the graph
};

struct QueuedPrograms {
  std::vector<QueuedProgram> workers;
  DevicePlan devices;
  std::vector<RecordIndex> device_places;               ///< of the records that issue, by device task
  std::vector<std::vector<Remote>> after_precondition;  ///< the records that wait for each, of all workers
};

QueuedPrograms compile_queued(const Compiler& graph, CompileStatistics& statistics);

}  // namespace taskgrain::rt::detail
