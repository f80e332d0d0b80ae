#pragma once

/// Random bodies of loops on several ranks, and what each rank builds of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {

/// A body of tasks on ranks and workers, drawn by chance; the same on all ranks. Each task writes words that depend on
/// its iteration and on what it reads.
struct Body {
  struct Edge {
    std::size_t from;
    bool carried;
  };
  struct Task {
    int rank, worker, sender;  // sender: the worker of its sends
    int unread;                // a rank that gets its words, though perhaps no task there reads them; -1: none
    bool to_itself;            // tasks of its own rank get its words by a send, too
    std::size_t words;
    std::vector<Edge> before;
  };
  std::vector<Task> tasks;

  Body(std::uint64_t seed, int ranks, int workers) {
    Dice dice(seed);
    const std::size_t number = 1 + dice.below(30);
    for (std::size_t k = 0; k < number; ++k) {
      const std::size_t words = dice.below(10) == 0 ? 2000 : dice.below(8);
      tasks.push_back({static_cast<int>(dice.below(static_cast<std::uint64_t>(ranks))),
                       static_cast<int>(dice.below(static_cast<std::uint64_t>(workers))),
                       static_cast<int>(dice.below(static_cast<std::uint64_t>(workers))),
                       dice.below(8) == 0 ? static_cast<int>(dice.below(static_cast<std::uint64_t>(ranks))) : -1,
                       dice.below(3) == 0,
                       words + 1,
                       {}});
      const auto edge = [&](std::size_t from, bool carried) {
        for (const Edge& one : tasks[k].before)
          if (one.from == from && one.carried == carried) return;
        tasks[k].before.push_back({from, carried});
      };
      for (std::size_t e = dice.below(4); e > 0 && k > 0; --e) edge(dice.below(k), false);
      for (std::size_t e = dice.below(3); e > 0; --e) edge(dice.below(number), true);
    }
  }

  /// The word that a task writes first, and with a step of one to each after it.
  static std::uint64_t value(std::size_t k, std::int64_t iteration, std::uint64_t sum) {
    return mixed(sum + mixed(k) + 77 * static_cast<std::uint64_t>(iteration));
  }
  /// The values of the last iteration.
  std::vector<std::uint64_t> expected(std::int64_t iterations) const {
    std::vector<std::uint64_t> last(tasks.size(), 0), now(tasks.size(), 0);
    for (std::int64_t n = 0; n < iterations; ++n, last = now)
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        std::uint64_t sum = 0;
        for (const Edge& edge : tasks[k].before)
          if (!edge.carried || n > 0) sum += (edge.carried ? last : now)[edge.from] + tasks[edge.from].words - 1;
        now[k] = value(k, n, sum);
      }
    return now;
  }
};

/// One rank's share of a body.
class Share {
 public:
  /// \param received  as CompiledGraph::received
  using Received = std::function<std::span<const std::byte>(TaskGraph::Node, const Turn&, int back)>;
  Share(const Body& body, int rank, Received received) : body_(body), rank_(rank), received_(std::move(received)) {}

  /// To be compiled. Its tasks point to this.
  TaskGraph graph(Communicator& comm) {
    for (const auto& task : body_.tasks) outputs_.emplace_back(2 * task.words);  // of even and odd iterations
    TaskGraph graph(comm, "body");
    const Body& body = body_;
    nodes_.resize(body.tasks.size());
    for (std::size_t k = 0; k < body.tasks.size(); ++k)
      if (own(k)) nodes_[k] = graph.task(body.tasks[k].worker, [this, k](const Turn& turn) { run(k, turn); });
    for (std::size_t k = 0; k < body.tasks.size(); ++k)
      for (const auto& [from, carried] : body.tasks[k].before) connect(graph, from, k, carried);
    for (std::size_t k = 0; k < body.tasks.size(); ++k) {
      const auto& task = body.tasks[k];
      if (task.unread < 0) continue;
      if (own(k)) send(graph, k, task.unread);
      if (task.unread == rank_) receive(graph, k);
    }
    // A copy to send, and a task that keeps it as it is until it has gone.
    for (const auto& [at, node] : sends_) graph.carried_edge(node, copies_.at(at.first));
    return graph;
  }

  bool own(std::size_t k) const { return body_.tasks[k].rank == rank_; }
  std::span<std::uint64_t> output(std::size_t k, std::int64_t iteration) {
    const std::size_t words = body_.tasks[k].words;
    return std::span(outputs_[k]).subspan(static_cast<std::size_t>(iteration & 1) * words, words);
  }
  /// Of all that a task reads.
  std::uint64_t sum(std::size_t k, const Turn& turn) {
    std::uint64_t sum = 0;
    for (const auto& [from, carried] : body_.tasks[k].before) {
      if (carried && turn.iteration == 0) continue;
      if (own(from) && !body_.tasks[from].to_itself) {
        sum += output(from, turn.iteration - carried).back();
      } else {
        const auto bytes = received_(receives_.at(from), turn, carried);
        sum += reinterpret_cast<const std::uint64_t*>(bytes.data())[body_.tasks[from].words - 1];
      }
    }
    return sum;
  }
  /// The task of a node; none if the node is something else.
  std::optional<std::size_t> task_of(std::uint32_t node) const {
    const auto found = std::ranges::find(nodes_, node, &TaskGraph::Node::index);
    if (found == nodes_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - nodes_.begin());
  }

 private:
  void connect(TaskGraph& graph, std::size_t from, std::size_t to, bool carried) {
    const auto edge = [&](TaskGraph::Node a, TaskGraph::Node b, bool is_carried) {
      is_carried ? graph.carried_edge(a, b) : graph.edge(a, b);
    };
    if (own(from) && own(to) && !body_.tasks[from].to_itself) {
      edge(nodes_[from], nodes_[to], carried);
      // It reads the iteration before while the next one is written, but not the one after that.
      graph.carried_edge(nodes_[to], nodes_[from]);
      return;
    }
    if (own(from)) send(graph, from, body_.tasks[to].rank);
    if (own(to)) edge(receive(graph, from), nodes_[to], carried);
  }
  TaskGraph::Node receive(TaskGraph& graph, std::size_t from) {
    const auto [found, fresh] = receives_.try_emplace(from);
    const auto& task = body_.tasks[from];
    if (fresh) found->second = graph.receive(task.rank, from, task.words * sizeof(std::uint64_t));
    return found->second;
  }
  void send(TaskGraph& graph, std::size_t k, int rank) {
    const auto [found, fresh] = sends_.try_emplace({k, rank});
    if (!fresh) return;
    const auto [copy, first] = copies_.try_emplace(k);
    const int worker = body_.tasks[k].worker;
    if (first) {
      copied_[k].resize(body_.tasks[k].words);
      copy->second = graph.task(
          worker, [this, k](const Turn& turn) { std::ranges::copy(output(k, turn.iteration), copied_[k].begin()); });
      graph.edge(nodes_[k], copy->second);
      graph.carried_edge(copy->second, nodes_[k]);
    }
    found->second = graph.send(body_.tasks[k].sender, rank, k, std::as_bytes(std::span(copied_[k])));
    graph.edge(copy->second, found->second);
  }
  void run(std::size_t k, const Turn& turn) {
    std::uint64_t word = Body::value(k, turn.iteration, sum(k, turn));
    for (std::uint64_t& out : output(k, turn.iteration)) out = word++;
  }

  const Body& body_;
  const int rank_;
  const Received received_;
  std::vector<std::vector<std::uint64_t>> outputs_;
  std::map<std::size_t, std::vector<std::uint64_t>> copied_;
  std::vector<TaskGraph::Node> nodes_;
  std::map<std::size_t, TaskGraph::Node> copies_, receives_;
  std::map<std::pair<std::size_t, int>, TaskGraph::Node> sends_;
};

class CompiledShare : public Share {
 public:
  CompiledShare(const Body& body, Communicator& comm, Runtime& runtime)
      : Share(
            body, comm.rank(),
            [this](TaskGraph::Node node, const Turn& turn, int back) { return compiled_.received(node, turn, back); }),
        compiled_(runtime, graph(comm)) {}

  CompiledGraph& compiled() { return compiled_; }

 private:
  CompiledGraph compiled_;
};

}  // namespace taskgrain::rt
