#include "taskgrain/rt/compiled_graph.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "graph_actors.hpp"
#include "graph_compiler.hpp"
#include "program.hpp"
#include "rank_compiler.hpp"
#include "rank_edges.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt {

namespace {

std::shared_ptr<detail::GraphActors> compile(Runtime& runtime, TaskGraph graph, Policy policy,
                                             CompileStatistics& statistics) {
  const auto begin = std::chrono::steady_clock::now();
  const bool across_ranks = graph.ranks() != nullptr;
  const bool traced = !runtime.options().trace.empty();
  detail::Compiler compiler(std::move(graph), runtime.workers(), statistics);
  std::shared_ptr<detail::GraphActors> actors;
  if (policy == Policy::in_order) {
    auto programs = detail::compile_in_order(compiler, statistics);
    std::unique_ptr<detail::RankEdges> ranks;
    if (across_ranks) ranks = std::make_unique<detail::RankEdges>(detail::ranks_of(compiler), compiler, programs);
    actors =
        detail::in_order_actors(runtime, std::move(compiler).outline(traced), std::move(programs), std::move(ranks));
  } else {
    auto programs = detail::compile_queued(compiler, statistics);
    actors = detail::queued_actors(runtime, std::move(compiler).outline(traced), std::move(programs),
                                   policy == Policy::stealing);
  }
  statistics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return actors;
}

/// All ranks compile together: if one cannot, the others must not wait for it.
std::shared_ptr<detail::GraphActors> compile_with_ranks(Runtime& runtime, TaskGraph graph, Policy policy,
                                                        CompileStatistics& statistics) {
  Communicator* const ranks = graph.ranks();
  if (ranks == nullptr) return compile(runtime, std::move(graph), policy, statistics);
  try {
    detail::check_ranks(graph, runtime, policy);
    return compile(runtime, std::move(graph), policy, statistics);
  } catch (const detail::AgreedError& error) {
    throw UsageError(error.what());
  } catch (const std::exception& error) {
    ranks->messages().progress_engine().fail(detail::message_of(error));
    throw;
  }
}

}  // namespace

std::optional<Policy> policy_from_name(std::string_view name) noexcept {
  if (name == "in_order") return Policy::in_order;
  if (name == "ready_queue") return Policy::ready_queue;
  if (name == "stealing") return Policy::stealing;
  return std::nullopt;
}

CompiledGraph::CompiledGraph(Runtime& runtime, TaskGraph graph, Policy policy)
    : engine_(detail::engine_of(runtime)), actors_(compile_with_ranks(runtime, std::move(graph), policy, statistics_)) {
  engine_.add(actors_);
  actors_->listen();
}

CompiledGraph::~CompiledGraph() { detail::Engine::remove(engine_, actors_); }

CompiledGraph::Launch CompiledGraph::launch(LaunchOptions options) { return actors_->launch(std::move(options)); }

std::span<const std::byte> CompiledGraph::received(TaskGraph::Node receive, const Turn& turn, int back) const {
  return actors_->received(receive, turn, back);
}

void CompiledGraph::cancel() noexcept { actors_->cancel(); }

const Event& CompiledGraph::Launch::postcondition(TaskGraph::Node node) const {
  const auto found = std::ranges::lower_bound(postconditions_, node.index, {}, &std::pair<std::uint32_t, Event>::first);
  if (found == postconditions_.end() || found->first != node.index || (node.graph != 0 && node.graph != graph_))
    throw UsageError("node " + std::to_string(node.index) + " is no postcondition of the graph that was launched");
  return found->second;
}

}  // namespace taskgrain::rt
