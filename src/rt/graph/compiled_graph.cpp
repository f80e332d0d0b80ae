#include "taskgrain/rt/compiled_graph.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "graph_actors.hpp"
#include "graph_compiler.hpp"
#include "in_order_program.hpp"
#include "queued_program.hpp"

namespace taskgrain::rt {

namespace {

std::shared_ptr<detail::GraphActors> compile(Runtime& runtime, TaskGraph graph, Policy policy,
                                             CompileStatistics& statistics) {
  const auto begin = std::chrono::steady_clock::now();
  detail::Compiler compiler(std::move(graph), runtime.workers(), statistics);
  std::shared_ptr<detail::GraphActors> actors;
  if (policy == Policy::in_order) {
    auto programs = detail::compile_in_order(compiler, statistics);
    actors = detail::in_order_actors(runtime, std::move(compiler).outline(), std::move(programs));
  } else {
    auto programs = detail::compile_queued(compiler, statistics);
    actors =
        detail::queued_actors(runtime, std::move(compiler).outline(), std::move(programs), policy == Policy::stealing);
  }
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
    : engine_(detail::engine_of(runtime)), actors_(compile(runtime, std::move(graph), policy, statistics_)) {
  engine_.add(actors_);
}

CompiledGraph::~CompiledGraph() { engine_.remove(actors_); }

CompiledGraph::Launch CompiledGraph::launch(LaunchOptions options) { return actors_->launch(std::move(options)); }

void CompiledGraph::cancel() noexcept { actors_->cancel(); }

const Event& CompiledGraph::Launch::postcondition(TaskGraph::Node node) const {
  const auto found = std::ranges::lower_bound(postconditions_, node.index, {}, &std::pair<std::uint32_t, Event>::first);
  if (found == postconditions_.end() || found->first != node.index || (node.graph != 0 && node.graph != graph_))
    throw UsageError("node " + std::to_string(node.index) + " is no postcondition of the graph that was launched");
  return found->second;
}

}  // namespace taskgrain::rt
