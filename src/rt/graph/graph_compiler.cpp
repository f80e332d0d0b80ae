#include "graph_compiler.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "rank_compiler.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/task_graph.hpp"

namespace taskgrain::rt::detail {

Compiler::Compiler(TaskGraph given, int number_of_workers, CompileStatistics& statistics)
    : graph(std::move(given)), workers(number_of_workers) {
  statistics.edges = graph.edges_.size();
  collect();
  if (across_ranks()) match_ranks(*this);
  statistics.edges += copy_self_edges();
  remove_duplicate_edges();
  place_postconditions();
  find_levels();
  remove_implied_edges();
  std::size_t left = 0;
  for (std::uint32_t n = 0; n < size(); ++n) {
    if (node(n).kind == NodeKind::task || node(n).kind == NodeKind::async) ++statistics.tasks;
    left += out[n].size();
    for (const Out& edge : out[n]) {
      ++(worker(n) == worker(edge.to) && !external(n) ? statistics.local : statistics.crossing);
      statistics.on_device += on_device(n, edge.to);
    }
  }
  statistics.tasks -= self_edges.size();
  statistics.implied = statistics.edges - left;
}

Step Compiler::step(std::uint32_t n) const {
  const Instruction instruction = node(n).kind == NodeKind::async           ? Instruction::issue
                                  : node(n).kind == NodeKind::postcondition ? Instruction::post
                                  : node(n).kind == NodeKind::send          ? Instruction::send
                                                                            : Instruction::run;
  return {node(n).action, n, number[n], instruction};
}

DevicePlan Compiler::devices() const {
  DevicePlan plan;
  for (const std::uint32_t n : asynchronous) plan.tasks.push_back({n, worker(n), node(n).start, {}, {}});
  for (const std::uint32_t n : asynchronous)
    for (const Out& edge : out[n])
      if (on_device(n, edge.to)) {
        const auto e = static_cast<std::uint32_t>(plan.edges.size());
        plan.edges.push_back({number[n], number[edge.to], edge.carried});
        plan.tasks[number[n]].after.push_back(e);
        plan.tasks[number[edge.to]].before.push_back(e);
      }
  return plan;
}

Outline Compiler::outline(bool traced) && {
  Outline left{std::move(graph.names_),
               0,
               size(),
               std::move(preconditions),
               std::move(postconditions),
               std::move(receives),
               std::move(self_edges),
               {},
               {},
               {}};
  for (std::uint32_t n = 0; traced && n < size(); ++n)
    for (const Out& edge : out[n]) left.edges.push_back({n, edge.to, edge.carried});
  left.graph = graph.number_;
  left.owned = std::move(graph.owned_);
  std::vector<bool> member(static_cast<std::size_t>(workers), false);
  for (std::uint32_t n = 0; n < size(); ++n)
    if (!external(n)) member[static_cast<std::size_t>(worker(n))] = true;
  for (int w = 0; w < workers; ++w)
    if (member[static_cast<std::size_t>(w)]) left.members.push_back(w);
  return left;
}

void Compiler::collect() {
  out.resize(size());
  number.resize(size(), 0);
  for (std::uint32_t n = 0; n < size(); ++n) {
    if (worker(n) < 0 || worker(n) >= workers)
      throw UsageError(text(n) + ": worker is " + std::to_string(worker(n)) + ", allowed are 0 to " +
                       std::to_string(workers - 1));
    enlist(n);
  }
  for (const auto& [from, to, carried] : graph.edges_) {
    if (from >= size() || to >= size())
      throw UsageError(graph.names_.graph() + ": an edge names node " + std::to_string(std::max(from, to)) +
                       ", there are " + std::to_string(size()));
    if (external(to))
      throw UsageError(text(to) + (node(to).kind == NodeKind::precondition
                                       ? " is a precondition: nothing of the graph comes before it"
                                       : " is received: nothing of this rank comes before it"));
    if (node(from).kind == NodeKind::postcondition)
      throw UsageError(text(from) + " is a postcondition: nothing of the graph comes after it");
    if (node(from).kind == NodeKind::receive && node(to).kind == NodeKind::async)
      throw UsageError(text(to) + " is asynchronous and comes after " + text(from) +
                       ", whose bytes are there until the tasks of the host have run: let one of them copy the bytes");
    if (carried && node(from).kind == NodeKind::precondition)
      throw UsageError(text(from) + " is a precondition: it has no iterations");
    out[from].push_back({to, carried});
  }
  graph.edges_ = {};
}

void Compiler::remove_duplicate_edges() {
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> seen(2 * size(), none);  // [2 * to + carried] = the last node with this edge
  for (std::uint32_t n = 0; n < size(); ++n)
    std::erase_if(out[n], [&](const Out& edge) { return std::exchange(seen[2 * edge.to + edge.carried], n) == n; });
}

void Compiler::enlist(std::uint32_t n) {
  std::vector<std::uint32_t>* const list = node(n).kind == NodeKind::async           ? &asynchronous
                                           : node(n).kind == NodeKind::precondition  ? &preconditions
                                           : node(n).kind == NodeKind::postcondition ? &postconditions
                                           : node(n).kind == NodeKind::send          ? &sends
                                           : node(n).kind == NodeKind::receive       ? &receives
                                                                                     : nullptr;
  if (list == nullptr) return;
  number[n] = static_cast<std::uint32_t>(list->size());
  list->push_back(n);
}

/// Edges from this rank to itself: the send becomes a task that copies the bytes, and successors of the receive become
/// successors of the copy. The copy of iteration n writes block n mod 2, which is read in n, and by carried edges in
/// n + 1. An added carried edge from each reader to the copy makes the copy of n + 2 wait for all of them.
std::size_t Compiler::copy_self_edges() {
  std::map<std::uint64_t, std::uint32_t> own_sends;  // by tag
  const auto is_own = [this](int rank) { return rank == ranks_of(*this).rank(); };
  for (const std::uint32_t n : sends)
    if (const Send& send = graph.sends_[number[n]]; is_own(send.rank)) own_sends.emplace(send.tag, n);
  if (own_sends.empty()) return 0;
  std::size_t added = 0;
  for (const std::uint32_t n : receives) {
    const Receive& receive = graph.receives_[number[n]];
    if (!is_own(receive.rank)) continue;
    const std::uint32_t from = own_sends.at(receive.tag);
    SelfEdge* const edge = self_edges.emplace_back(std::make_shared<SelfEdge>(n, receive.bytes)).get();
    const auto copy = [edge, bytes = graph.sends_[number[from]].from](const Turn& turn) {
      std::ranges::copy(bytes, edge->at(turn.overall).begin());
    };
    graph.nodes_[from].kind = NodeKind::task;
    graph.nodes_[from].action = Action(copy, graph.owned_);
    graph.nodes_[n].kind = NodeKind::self_receive;
    for (const Out& reader : std::exchange(out[n], {})) {
      out[from].push_back(reader);
      if (node(reader.to).kind == NodeKind::postcondition) continue;  // it reads nothing
      out[reader.to].push_back({from, true});
      ++added;
    }
  }
  std::erase_if(graph.sends_, [&](const Send& send) { return is_own(send.rank); });
  std::erase_if(graph.receives_, [&](const Receive& receive) { return is_own(receive.rank); });
  for (auto* const list : {&asynchronous, &preconditions, &postconditions, &sends, &receives}) list->clear();
  for (std::uint32_t n = 0; n < size(); ++n) enlist(n);
  return added;
}

/// Assigns each postcondition to the worker of its first predecessor.
void Compiler::place_postconditions() {
  if (postconditions.empty()) return;
  std::vector<bool> placed(size(), false);
  for (std::uint32_t n = 0; n < size(); ++n)
    for (const Out& edge : out[n])
      if (node(edge.to).kind == NodeKind::postcondition && !external(n) && !placed[edge.to]) {
        graph.nodes_[edge.to].worker = worker(n);
        placed[edge.to] = true;
      }
}

void Compiler::find_levels() {
  std::vector<std::uint32_t> before(size(), 0), ready;
  level.assign(size(), 0);
  for (const auto& edges : out)
    for (const Out& edge : edges) before[edge.to] += !edge.carried;
  for (std::uint32_t n = 0; n < size(); ++n)
    if (before[n] == 0 && node(n).kind != NodeKind::receive) ready.push_back(n);
  std::vector<std::uint32_t> levelled = level_from(std::move(ready), before);
  std::size_t left = size() - levelled.size();
  for (LevelsOfRanks ranks(*this); ranks.exchange(levelled, left); left -= levelled.size())
    levelled = level_from(ranks.received(), before);
  if (left > 0) throw_cycle(before);
}

std::vector<std::uint32_t> Compiler::level_from(std::vector<std::uint32_t> ready, std::vector<std::uint32_t>& before) {
  for (std::size_t k = 0; k < ready.size(); ++k)
    for (const Out& edge : out[ready[k]]) {
      if (edge.carried) continue;
      // A send that directly follows a receive gets a level above that, so that it comes later in the order of all
      // ranks.
      const bool relays = node(ready[k]).kind == NodeKind::receive && node(edge.to).kind == NodeKind::send;
      level[edge.to] = std::max(level[edge.to], level[ready[k]] + (relays ? 2 : 1));
      if (--before[edge.to] == 0) ready.push_back(edge.to);
    }
  return ready;
}

void Compiler::throw_cycle(const std::vector<std::uint32_t>& before) const {
  // A node without a level is in a cycle, or after one. So walking back from any of them ends in a cycle, here or on
  // another rank.
  std::vector<std::uint32_t> back(size(), UINT32_MAX);
  std::uint32_t start = UINT32_MAX;
  for (std::uint32_t n = 0; n < size(); ++n)
    if (before[n] != 0)
      for (const Out& edge : out[n])
        if (!edge.carried && before[edge.to] != 0) back[start = edge.to] = n;
  std::vector<bool> visited(size(), false);
  for (; start != UINT32_MAX && !visited[start]; start = back[start]) visited[start] = true;
  if (start == UINT32_MAX)
    throw UsageError(graph.names_.graph() + ": a cycle that leads through several ranks. Of this one, " +
                     std::to_string(std::ranges::count_if(before, [](auto left) { return left != 0; })) +
                     " nodes come after themselves, or after such a cycle");
  std::vector<std::uint32_t> cycle{start};
  for (std::uint32_t n = back[start]; n != start; n = back[n]) cycle.push_back(n);
  std::string names;
  constexpr std::size_t most = 10;
  for (std::size_t k = cycle.size(); k-- > 0 && cycle.size() - k <= most;) names += text(cycle[k]) + " → ";
  throw UsageError("a cycle of " + std::to_string(cycle.size()) + (cycle.size() == 1 ? " task: " : " tasks: ") + names +
                   (cycle.size() > most ? "…" : text(cycle.back())));
}

/// Removes edges a → c where there are edges a → b → c. It examines at most edges_per_edge edges for each edge of the
/// graph, so its time is linear. A node passes the rest of its budget on to the next ones.
void Compiler::remove_implied_edges() {
  constexpr std::size_t edges_per_edge = 64;
  constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> after(size(), none), implied(size(), none);  // [c]: the last a with a → c; a → b → c
  std::vector<std::uint32_t> between;
  std::size_t budget = 0;
  for (std::uint32_t a = 0; a < size(); ++a) {
    if (external(a) || node(a).kind == NodeKind::async || out[a].size() < 2) continue;
    budget += edges_per_edge * out[a].size();
    std::uint32_t deepest = 0;
    std::size_t left = 0;  // edges that others may imply
    for (const Out& edge : out[a]) {
      if (edge.carried) continue;
      after[edge.to] = a;
      deepest = std::max(deepest, level[edge.to]);
      left += level[edge.to] > level[a] + 1;
    }
    between.clear();
    for (const Out& edge : out[a])
      if (!edge.carried && level[edge.to] < deepest && node(edge.to).kind == NodeKind::task) between.push_back(edge.to);
    // The nearest successor first: most successors of a come after that one.
    std::ranges::sort(between, {}, [this](std::uint32_t b) { return std::pair(level[b], b); });
    for (const std::uint32_t b : between) {
      if (left == 0) break;
      if (out[b].size() > budget) continue;
      budget -= out[b].size();
      for (const Out& next : out[b])
        if (!next.carried && std::exchange(implied[next.to], a) != a && after[next.to] == a) --left;
    }
    std::erase_if(out[a], [&](const Out& edge) { return !edge.carried && implied[edge.to] == a; });
  }
}

std::uint32_t new_graph_number() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace taskgrain::rt::detail
