#pragma once

/// Programs of policies ready_queue and stealing: each worker runs those of its records that are ready.
///
/// A record waits for as many arrivals as it has edges; with the last it is ready. A signal is one arrival: at a record
/// of the same worker, or by a message at one of another.

#include <utility>
#include <vector>

#include "graph_compiler.hpp"
#include "program.hpp"

namespace taskgrain::rt::detail {

/// Of a signal: the record is one of the next iteration.
inline constexpr RecordIndex next_iteration = RecordIndex{1} << 31;

struct Remote {
  RecordIndex place;
  int worker;
  bool operator==(const Remote&) const = default;
};

/// Its signals begin where those of the record before end.
struct alignas(64) QueuedRecord : Step {
  std::uint32_t local_end = 0, remote_end = 0;
};

/// More or fewer arrivals at a record.
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
