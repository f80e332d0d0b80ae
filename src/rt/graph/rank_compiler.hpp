#pragma once

/// Exchanges between ranks that compile a graph together, each rank its own part.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

struct Compiler;

/// Checks the ranks, all of which call it.
/// \throws UsageError  a task calls it; AgreedError on all ranks, if one rank's runtime has another communicator, or
///   its policy is not in_order
void check_ranks(const TaskGraph& graph, Runtime& runtime, Policy policy);
/// The ranks of a graph across ranks.
Messages& ranks_of(const Compiler& graph);

/// Compares what each rank sends with what the others receive. \throws AgreedError on all ranks, with what is wrong
void match_ranks(const Compiler& graph);

/// Exchanges levels between ranks, so that the orders of all ranks' programs fit together. With levels of one rank
/// alone, two ranks could wait for each other.
///
/// A `receive` gets the level of the last node before its `send`. A program is ordered by level; within a level first
/// the records that others wait for, then sends, then the rest. So there is a total order of all ranks' nodes in which
/// each node comes after its predecessors, and each program follows it: the first node that has not run can run.
class LevelsOfRanks {
 public:
  explicit LevelsOfRanks(Compiler& graph);
  /// Sends the other ranks the levels of what they receive. All ranks call it.
  /// \param levelled  nodes whose levels are known now
  /// \param left      how many are not
  /// \returns whether to go on: some rank has nodes left, and some rank has sent a level
  bool exchange(const std::vector<std::uint32_t>& levelled, std::size_t left);
  /// The receives that got their levels in the last exchange.
  const std::vector<std::uint32_t>& received() const noexcept { return received_; }

 private:
  Compiler& graph_;
  std::map<std::pair<int, std::uint64_t>, std::uint32_t> nodes_;  // by rank and tag
  std::vector<std::uint32_t> received_;
};

template <typename T>
void append(std::vector<std::byte>& to, const T& what) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&what);
  to.insert(to.end(), bytes, bytes + sizeof what);
}

/// Reads an object from the front of the bytes, and removes it.
template <typename T>
T take(std::span<const std::byte>& from) {
  T what;
  std::memcpy(&what, from.data(), sizeof what);
  from = from.subspan(sizeof what);
  return what;
}

}  // namespace taskgrain::rt::detail
