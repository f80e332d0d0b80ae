#include "sequence/body.hpp"

#include <algorithm>
#include <map>

#include "graph/graph_actors.hpp"
#include "sequence/dependences.hpp"

namespace taskgrain::rt::detail {

bool Body::alike(const Body& other) const noexcept {
  // What a body makes for its results is new each time: the k-th is the k-th.
  const auto place = [](const Body& of, const Access& access) {
    const auto at = std::ranges::lower_bound(of.results, access.id);
    return at != of.results.end() && *at == access.id ? at - of.results.begin() : -1;
  };
  const auto same = [&](const Access& a, const Access& b) {
    return a.mode == b.mode && (a.id == b.id || (place(*this, a) >= 0 && place(*this, a) == place(other, b)));
  };
  return tasks.size() == other.tasks.size() && std::ranges::equal(accesses, other.accesses, same) &&
         std::ranges::equal(tasks, other.tasks, [](const Task& a, const Task& b) {
           return a.accesses == b.accesses && a.worker == b.worker;
         });
}

Body Body::shape() const {
  Body shape{{}, accesses, results};
  for (const Task& task : tasks)
    shape.tasks.push_back({{}, task.accesses, task.worker, task.given_worker, task.priority, task.name});
  return shape;
}

CompiledBody::CompiledBody(Runtime& runtime, std::shared_ptr<DataRegistry> registry, const Body& body,
                           const std::string& name)
    : registry_(std::move(registry)), order_(registry_->add({}, name, 0)),
      graph_(runtime, graph_of(*registry_, body, name)) {
  graph_.actors_->tell_failures([this](std::uint32_t task, std::int64_t iteration) { fail(task, iteration); });
  std::map<std::uint64_t, Use> uses;
  for (std::size_t at = 0; at < body.accesses.size(); ++at) {
    const Access& access = body.accesses[at];
    const auto [it, first] = uses.try_emplace(access.id, Use{at, access.mode});
    if (!first && it->second.mode != access.mode) it->second.mode = Mode::read_write;
  }
  for (const auto& [id, use] : uses) uses_.push_back({use.at, use.mode == Mode::read ? Mode::read : Mode::read_write});
}

TaskGraph CompiledBody::graph_of(const DataRegistry& registry, const Body& body, const std::string& name) {
  TaskGraph graph(name);
  std::vector<TaskGraph::Node> nodes;
  for (const Body::Task& task : body.tasks)  // each launch brings the functions
    nodes.push_back(graph.task(task.worker, [](const Turn&) {}, task.name));
  Dependences dependences(registry);
  std::vector<Access> accesses;
  const auto never = [](std::uint64_t) { return false; };
  // The second pass finds the edges from one iteration to the next. Edges over more iterations follow from these,
  // because each iteration uses the same data in the same way.
  const std::uint64_t tasks = nodes.size();
  for (std::uint64_t number = 0; number < 2 * tasks; ++number) {
    const std::size_t k = number % tasks;
    const auto of = body.accesses_of(k);
    accesses.assign(of.begin(), of.end());
    for (Access& access : accesses)  // a graph has one order
      if (access.mode == Mode::commutative) access.mode = Mode::read_write;
    dependences.enter(number, accesses, never, [&](std::uint64_t before) {
      if (number < tasks)
        graph.edge(nodes[before], nodes[k]);
      else if (before < tasks)
        graph.carried_edge(nodes[before], nodes[k]);
    });
  }
  return graph;
}

std::vector<Access> CompiledBody::accesses(const Body& of) const {
  std::vector<Access> found;
  for (const Use& use : uses_) {
    found.push_back(of.accesses[use.at]);
    found.back().mode = use.mode;
  }
  found.push_back({(*registry_)[order_].id, order_, Mode::read_write});
  return found;
}

CompiledGraph::Launch CompiledBody::launch(std::vector<std::shared_ptr<Body>> bodies, std::int64_t iterations) {
  bodies_ = std::move(bodies);
  failed_.store(false, std::memory_order_relaxed);
  failure_ = nullptr;
  CompiledGraph::LaunchOptions options;
  options.iterations = iterations;
  std::vector<std::shared_ptr<void>> none;
  graph_.actors_->each_action([&](std::uint32_t task, Action& action) {
    action = bodies_.size() == 1 ? bodies_[0]->tasks[task].function.action() : Action(OfIteration{this, task}, none);
  });
  if (bodies_.size() > 1) options.iterations = static_cast<std::int64_t>(bodies_.size());
  return graph_.launch(std::move(options));
}

void CompiledBody::fail(std::size_t task, std::int64_t iteration) noexcept {
  if (failed_.exchange(true)) return;
  const auto failed = [&](const char* message) {
    const std::string& name = bodies_[bodies_.size() == 1 ? 0 : static_cast<std::size_t>(iteration)]->tasks[task].name;
    failure_ = std::make_exception_ptr(TaskFailed(name.empty() ? "task " + std::to_string(task) : name, message));
  };
  try {
    throw;
  } catch (const std::exception& error) {
    failed(message_of(error));
  } catch (...) {
    failed("an exception of an unknown type");
  }
  stop();
}

}  // namespace taskgrain::rt::detail
