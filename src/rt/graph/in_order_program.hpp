#pragma once

/// Programs of policy in_order: each worker does one thing after another, and waits only for other workers, events and
/// devices.
///
/// A channel from worker a to worker b is written by a alone. In iteration n (counted over all launches) a stores
///   n · S + k   after the record that is the k-th of the S in its program for which b waits,
/// and b waits for  n · S + k,  or for  (n - 1) · S + k  where the edge is carried. Because both programs are linear,
/// of all that a record waits for from one worker only the last matters, and nothing that an earlier record of the
/// program has waited for: what is stored and waited for is the least that keeps all edges.
///
/// The channel of a device task counts the iterations that its device has done, from the first without a gap; that of a
/// precondition is n for iterations below n. S = 1 for both. They are written by threads that run no program.

#include <vector>

#include "graph_compiler.hpp"
#include "program.hpp"

namespace taskgrain::rt::detail {

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
  bool operator==(const Signal&) const = default;
};

/// Its waits and signals begin where those of the record before end.
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
  /// What one record sends to one rank: numbers of sends.
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

}  // namespace taskgrain::rt::detail
