#include "taskgrain/rt/compiled_graph.hpp"

#include <chrono>
#include <utility>

#include "graph_actors.hpp"

namespace taskgrain::rt {

namespace {

std::unique_ptr<detail::GraphActors> compile(Runtime& runtime, TaskGraph graph, Policy policy,
                                             CompileStatistics& statistics) {
  const auto begin = std::chrono::steady_clock::now();
  detail::Compiler compiler(std::move(graph), runtime.workers(), statistics);
  auto actors = policy == Policy::in_order
                    ? detail::in_order_actors(runtime, std::move(compiler), statistics)
                    : detail::queued_actors(runtime, std::move(compiler), policy == Policy::stealing, statistics);
  statistics.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return actors;
}

}  // namespace

std::optional<Policy> policy_from_name(std::string_view name) noexcept {
  if (name == "in_order") return Policy::in_order;
  if (name == "ready_queue") return Policy::ready_queue;
  if (name == "stealing") return Policy::stealing;
  return std::nullopt;
}

CompiledGraph::CompiledGraph(Runtime& runtime, TaskGraph graph, Policy policy)
    : actors_(compile(runtime, std::move(graph), policy, statistics_)) {}

CompiledGraph::~CompiledGraph() = default;

CompiledGraph::Launch CompiledGraph::launch(LaunchOptions options) { return actors_->launch(std::move(options)); }

}  // namespace taskgrain::rt
