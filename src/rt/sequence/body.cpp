#include "sequence/body.hpp"

#include <algorithm>
#include <map>

#include "graph/graph_actors.hpp"
#include "sequence/dependences.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

bool Body::alike(const Body& other, bool workers) const noexcept {
  // What a body makes for its results is new each time: the k-th is the k-th.
  const auto same = [&](const Access& a, const Access& b) {
    return a.mode == b.mode && (a.id == b.id || (result(a.id) >= 0 && result(a.id) == other.result(b.id)));
  };
  return tasks.size() == other.tasks.size() && std::ranges::equal(accesses, other.accesses, same) &&
         std::ranges::equal(tasks, other.tasks, [workers](const Task& a, const Task& b) {
           return a.accesses == b.accesses && (a.worker == b.worker || !workers) && a.event == b.event &&
                  a.rank == b.rank;
         });
}

Body Body::shape() const {
  Body shape{{}, accesses, results, {}, {}};
  for (const Task& task : tasks)
    shape.tasks.push_back(
        {{}, task.accesses, task.worker, task.given_worker, task.priority, task.name, task.event, task.rank});
  return shape;
}

/// A node, and what it uses.
struct CompiledBody::Step {
  TaskGraph::Node node;
  std::span<const Access> accesses;
  Access access{};  // instead, of a transfer
};

CompiledBody::CompiledBody(Runtime& runtime, std::shared_ptr<DataRegistry> registry, const Body& body,
                           const std::string& name, Communicator* ranks,
                           const std::vector<std::vector<Transfer>>& transfers)
    : ranks_(ranks), registry_(std::move(registry)), graph_(runtime, graph_of(body, name, transfers)) {
  if (ranks_ == nullptr)  // otherwise it ends the launch on all ranks
    graph_.actors_->tell_failures([this](std::uint32_t node, std::int64_t iteration) { fail(node, iteration); });
}

Access CompiledBody::extra(std::span<const Region> regions, const std::string& name, Mode mode) {
  extra_.reserve(extra_.size() + 1);
  const std::uint32_t index = registry_->add(regions, name, 0);
  extra_.push_back({(*registry_)[index].id, index, mode});
  return extra_.back();
}

CompiledBody::Step CompiledBody::step_of(TaskGraph& graph, const Body& body, const Transfer& given, std::uint64_t tag) {
  Transfer& transfer = transfers_.emplace_back(given);
  bool moves = false;
  for (std::size_t k = 0; k < transfer.regions.size(); ++k)
    if (const auto result = body.result((*registry_)[transfer.data[k]].id); result >= 0) {
      const auto number = static_cast<std::size_t>(result);
      moves_.push_back({&transfer.regions[k], number, transfer.regions[k].begin - body.places[number]});
      moves = true;
    }
  const std::string name = "data from rank " + std::to_string(transfer.from) + " to " + std::to_string(transfer.to);
  const int worker = (*registry_)[transfer.data.front()].home;
  if (transfer.to == ranks_->rank()) {
    const TaskGraph::Node receive = graph.receive(transfer.from, tag, transfer.bytes(), name);
    const TaskGraph::Node unpack = graph.task(
        worker,
        [this, receive, &transfer](const Turn& turn) { transfer.unpack(graph_.received(receive, turn).data()); }, name);
    graph.edge(receive, unpack);
    return {unpack, {}, extra(transfer.regions, name, Mode::write)};
  }
  const Access access = extra(transfer.regions, name, Mode::read);
  if (const auto bytes = transfer.in_place(); !bytes.empty() && !moves)
    return {graph.send(worker, transfer.to, tag, bytes, name), {}, access};
  std::vector<std::byte>& buffer = buffers_.emplace_back(transfer.bytes());
  const TaskGraph::Node pack = graph.task(worker, [&transfer, to = buffer.data()] { transfer.pack(to); }, name);
  const TaskGraph::Node send = graph.send(worker, transfer.to, tag, buffer, name);
  graph.edge(pack, send);
  graph.carried_edge(send, pack);
  return {pack, {}, access};
}

namespace {

std::string name_of(const Body::Task& task, std::size_t k) {
  return task.name.empty() ? "task " + std::to_string(k) : task.name;
}

}  // namespace

TaskGraph::Node CompiledBody::node_of(TaskGraph& graph, const Body::Task& task, std::size_t k) {
  const std::string name = ranks_ == nullptr ? task.name : name_of(task, k);            // else `fail` says it
  if (task.event == nullptr) return graph.task(task.worker, [](const Turn&) {}, name);  // each launch brings it
  OfIteration& start = starts_.emplace_back(OfIteration{this, k});
  return graph.add({task.worker, TaskGraph::NodeKind::async, {}, {task.event, &start, &OfIteration::start}}, name);
}

TaskGraph CompiledBody::graph_of(const Body& body, const std::string& name,
                                 const std::vector<std::vector<Transfer>>& transfers) {
  TaskGraph graph = ranks_ == nullptr ? TaskGraph(name) : TaskGraph(*ranks_, name);
  const int here = ranks_ == nullptr ? 0 : ranks_->rank();
  extra({}, name, Mode::read_write);
  std::vector<Step> steps;
  std::map<std::uint64_t, Use> uses;
  std::uint64_t tag = 0;
  for (std::size_t k = 0; k < body.tasks.size(); ++k) {
    if (k < transfers.size())
      for (const Transfer& transfer : transfers[k]) {
        if (transfer.from == here || transfer.to == here) steps.push_back(step_of(graph, body, transfer, tag));
        ++tag;
      }
    const Body::Task& task = body.tasks[k];
    if (task.rank != here) continue;
    const auto accesses = body.accesses_of(k);
    steps.push_back({node_of(graph, task, k), accesses});
    task_of_.resize(steps.back().node.index + 1, no_task);
    task_of_.back() = k;
    for (const Access& access : accesses) {
      const Use use{static_cast<std::size_t>(&access - body.accesses.data()), access.mode};
      const auto [it, first] = uses.try_emplace(access.id, use);
      if (!first && it->second.mode != access.mode) it->second.mode = Mode::read_write;
    }
    for (std::size_t t = 0; k < transfers.size() && t < transfers[k].size(); ++t)
      for (const std::uint32_t data : transfers[k][t].data)  // what has come was written here
        if (transfers[k][t].to == here) uses.at((*registry_)[data].id).mode = Mode::read_write;
  }
  for (const auto& [id, use] : uses) uses_.push_back({use.at, use.mode == Mode::read ? Mode::read : Mode::read_write});

  Dependences dependences(*registry_);
  std::vector<Access> accesses;
  const auto never = [](std::uint64_t) { return false; };
  // The second pass finds the edges from one iteration to the next. Edges over more iterations follow from these,
  // because each iteration uses the same data in the same way.
  const std::uint64_t number_of_steps = steps.size();
  for (std::uint64_t number = 0; number < 2 * number_of_steps; ++number) {
    const Step& step = steps[number % number_of_steps];
    accesses.assign(step.accesses.begin(), step.accesses.end());
    if (step.access.id != 0) accesses.push_back(step.access);
    for (Access& access : accesses)  // a graph has one order
      if (access.mode == Mode::commutative) access.mode = Mode::read_write;
    const auto follow = [&](std::uint64_t before) {  // counted from 1
      if (number < number_of_steps)
        graph.edge(steps[before - 1].node, step.node);
      else if (before <= number_of_steps)
        graph.carried_edge(steps[before - 1].node, step.node);
    };
    dependences.find(number + 1, accesses, never, [&](const WholeGroup& group) { group.each(follow); });
    dependences.enter(number + 1, accesses, 0);
  }
  return graph;
}

std::uint64_t CompiledBody::first_traced() const noexcept { return graph_.actors_->first_traced(); }

std::vector<Access> CompiledBody::accesses(const Body& of) const {
  std::vector<Access> found;
  for (const Use& use : uses_) {
    found.push_back(of.accesses[use.at]);
    found.back().mode = use.mode;
  }
  found.insert(found.end(), extra_.begin(), extra_.end());
  return found;
}

CompiledGraph::Launch CompiledBody::launch(std::vector<std::shared_ptr<Body>> bodies, std::int64_t iterations) {
  bodies_ = std::move(bodies);
  failed_.store(false, std::memory_order_relaxed);
  failure_ = nullptr;
  iterations_ = iterations;
  for (const Move& move : moves_) move.region->begin = bodies_[0]->places[move.result] + move.offset;
  CompiledGraph::LaunchOptions options;
  options.iterations = iterations;
  std::vector<std::shared_ptr<void>> none;
  graph_.actors_->each_action([&](std::uint32_t node, Action& action) {
    const std::size_t task = node < task_of_.size() ? task_of_[node] : no_task;
    if (task == no_task) return;
    action = bodies_.size() == 1 ? bodies_[0]->tasks[task].function.action() : Action(OfIteration{this, task}, none);
  });
  if (bodies_.size() > 1) options.iterations = static_cast<std::int64_t>(bodies_.size());
  return graph_.launch(std::move(options));
}

void CompiledBody::fail(std::uint32_t node, std::int64_t iteration) noexcept {
  if (failed_.exchange(true)) return;
  const bool joined = bodies_.size() > 1;
  const std::size_t task = task_of_[node];
  const auto& tasks = bodies_[joined ? static_cast<std::size_t>(iteration) : 0]->tasks;
  failed_task_ = surely([&] {
    std::string text = name_of(tasks[task], task);
    if (!joined && iterations_ > 1) text += " of iteration " + std::to_string(iteration);
    return text;
  });
  failure_ = std::current_exception();
  stop();
}

}  // namespace taskgrain::rt::detail
