#include "rank_compiler.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "graph_compiler.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

using Bytes = std::vector<std::byte>;

/// Calls `body` for each object that `append` has appended.
template <typename T, typename Body>
void for_each_of(std::span<const std::byte> bytes, const Body& body) {
  while (!bytes.empty()) body(take<T>(bytes));
}

struct Sent {
  std::uint64_t tag, bytes;
};

/// \throws AgreedError on all ranks, if any rank has an error text
void agree(Messages& ranks, const std::string& wrong) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(wrong.data());
  const auto all = ranks.exchange({Bytes(bytes, bytes + wrong.size())}, "CompiledGraph");
  for (const Bytes& one : all)
    if (!one.empty()) throw AgreedError(std::string(reinterpret_cast<const char*>(one.data()), one.size()));
}

}  // namespace

void check_ranks(const TaskGraph& graph, Runtime& runtime, Policy policy) {
  if (engine_of(runtime).here() != nullptr)
    throw UsageError("a task cannot compile a graph across ranks: it would wait for the others");
  std::string wrong;
  if (runtime.options().communicator != graph.ranks())
    wrong = "a graph across ranks is compiled for a runtime that has another communicator, or none";
  else if (policy != Policy::in_order)
    wrong = "the policy of a graph across ranks is ready_queue or stealing, allowed is in_order";
  agree(graph.ranks()->messages(), wrong);
}

Messages& ranks_of(const Compiler& graph) { return graph.ranks().messages(); }

void match_ranks(const Compiler& graph) {
  Messages& ranks = ranks_of(graph);
  const std::string mine = "rank " + std::to_string(ranks.rank());
  std::string wrong;
  const auto find_wrong = [&](const std::string& what) {
    if (wrong.empty()) wrong = graph.name() + ": " + what;
  };
  const auto check_bytes = [&](const char* what, std::size_t bytes) {
    constexpr std::size_t most = std::size_t{1} << 48;
    if (bytes > most)
      find_wrong("an edge of " + mine + " " + what + " " + std::to_string(bytes) + " bytes, allowed are up to 2^48");
  };
  for (const auto& send : graph.all_sends()) check_bytes("sends", send.from.size());
  for (const auto& receive : graph.all_receives()) check_bytes("receives", receive.bytes);
  const auto exists = [&](int rank) {
    const bool is = rank >= 0 && rank < ranks.ranks();
    if (!is)
      find_wrong("an edge of " + mine + " names rank " + std::to_string(rank) + ", allowed are 0 to " +
                 std::to_string(ranks.ranks() - 1));
    return is;
  };

  Messages::Gathered sends(static_cast<std::size_t>(ranks.ranks()));
  for (const auto& send : graph.all_sends())
    if (exists(send.rank)) append(sends[static_cast<std::size_t>(send.rank)], Sent{send.tag, send.from.size()});
  const auto sent = ranks.exchange(sends, "CompiledGraph");

  std::map<std::pair<int, std::uint64_t>, std::pair<std::uint64_t, bool>> expected;  // bytes, and whether it is sent
  const auto edge = [&](int rank, std::uint64_t tag) {
    return "tag " + std::to_string(tag) + " from rank " + std::to_string(rank) + " to " + mine;
  };
  for (const auto& receive : graph.all_receives())
    if (exists(receive.rank) && !expected.try_emplace({receive.rank, receive.tag}, receive.bytes, false).second)
      find_wrong(edge(receive.rank, receive.tag) + " is received twice, allowed is once");
  for (int rank = 0; rank < ranks.ranks(); ++rank)
    for_each_of<Sent>(sent[static_cast<std::size_t>(rank)], [&](const Sent& one) {
      const auto found = expected.find({rank, one.tag});
      if (found == expected.end()) return find_wrong(edge(rank, one.tag) + " is sent and not received");
      auto& [bytes, is_sent] = found->second;
      if (std::exchange(is_sent, true)) find_wrong(edge(rank, one.tag) + " is sent twice, allowed is once");
      if (bytes != one.bytes)
        find_wrong(edge(rank, one.tag) + " is sent with " + std::to_string(one.bytes) + " bytes and received with " +
                   std::to_string(bytes));
    });
  for (const auto& [key, value] : expected)
    if (!value.second) find_wrong(edge(key.first, key.second) + " is received and not sent");
  agree(ranks, wrong);
}

LevelsOfRanks::LevelsOfRanks(Compiler& graph) : graph_(graph) {
  for (const std::uint32_t n : graph.receives) {
    const auto& receive = graph.all_receives()[graph.number[n]];
    nodes_.emplace(std::pair(receive.rank, receive.tag), n);
  }
}

bool LevelsOfRanks::exchange(const std::vector<std::uint32_t>& levelled, std::size_t left) {
  if (!graph_.across_ranks()) return false;
  struct State {
    bool any_left;  // nodes without a level
    bool tells;     // levels of what others receive
  };
  struct Level {
    std::uint64_t tag, level;
  };
  std::vector<std::uint32_t> sends;
  std::ranges::copy_if(levelled, std::back_inserter(sends),
                       [&](std::uint32_t n) { return graph_.node(n).kind == Compiler::NodeKind::send; });
  Messages& ranks = ranks_of(graph_);
  Messages::Gathered sent(static_cast<std::size_t>(ranks.ranks()));
  for (Bytes& bytes : sent) append(bytes, State{left > 0, !sends.empty()});
  for (const std::uint32_t n : sends) {
    const auto& send = graph_.all_sends()[graph_.number[n]];
    append(sent[static_cast<std::size_t>(send.rank)], Level{send.tag, graph_.level[n] == 0 ? 0 : graph_.level[n] - 1});
  }
  const auto received = ranks.exchange(sent, "CompiledGraph");
  bool any_left = false, any_tells = false;
  received_.clear();
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    std::span<const std::byte> bytes = received[static_cast<std::size_t>(rank)];
    const auto state = take<State>(bytes);
    any_left = any_left || state.any_left;
    any_tells = any_tells || state.tells;
    for_each_of<Level>(bytes, [&](const Level& one) {
      const std::uint32_t n = nodes_.at({rank, one.tag});
      graph_.level[n] = static_cast<std::uint32_t>(one.level);
      received_.push_back(n);
    });
  }
  return any_tells && any_left;
}

}  // namespace taskgrain::rt::detail
