/// What compiling says of a graph, and that it leaves out only what others imply.

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

class Compiling : public testing::TestWithParam<Policy> {
 protected:
  Runtime runtime_{{.workers = 2, .pin = false}};
};

TEST_P(Compiling, CountsEdges) {
  TaskGraph tasks;
  const auto a = tasks.task(0, [] {}), b = tasks.task(1, [] {}), c = tasks.task(1, [] {}), d = tasks.task(0, [] {});
  tasks.edge(a, b);
  tasks.edge(a, b);  // again
  tasks.edge(b, c);
  tasks.edge(a, c);  // implied by b
  tasks.edge(c, d);
  tasks.carried_edge(d, a);
  const CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  const CompileStatistics& said = graph.statistics();
  EXPECT_EQ(said.tasks, 4U);
  EXPECT_EQ(said.edges, 6U);
  EXPECT_EQ(said.implied, 2U);
  EXPECT_EQ(said.local, 2U);     // b → c, d → a
  EXPECT_EQ(said.crossing, 2U);  // a → b, c → d
  EXPECT_EQ(said.messages, 2U);
  EXPECT_GT(said.seconds, 0);
}

TEST_P(Compiling, LeavesOutWhatIsImpliedWhateverTheDegree) {
  for (const std::size_t reach : {2, 8, 9, 40, 200}) {
    TaskGraph tasks;
    std::vector<TaskGraph::Node> nodes;
    std::size_t edges = 0;
    for (std::size_t k = 0; k < 400; ++k) {
      nodes.push_back(tasks.task(static_cast<int>(k % 2), [] {}));
      for (std::size_t back = 1; back <= std::min(k, reach); ++back, ++edges) tasks.edge(nodes[k - back], nodes[k]);
    }
    const CompiledGraph graph(runtime_, std::move(tasks), GetParam());
    EXPECT_EQ(graph.statistics().implied, edges - (nodes.size() - 1)) << reach;
  }
}

TEST_P(Compiling, SendsNoMoreThanAMessageForAnEdge) {
  TaskGraph tasks;
  std::vector<TaskGraph::Node> left, right;
  for (int k = 0; k < 8; ++k) left.push_back(tasks.task(0, [] {})), right.push_back(tasks.task(1, [] {}));
  for (const auto a : left)
    for (const auto b : right) tasks.edge(a, b);
  const CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().crossing, 64U);
  EXPECT_EQ(graph.statistics().messages,
            GetParam() == Policy::in_order ? 1U : 64U);  // in order the last of the left says it all
}

struct Messages {
  const char* what;
  std::vector<int> workers;  ///< of tasks
  std::vector<std::pair<std::size_t, std::size_t>> edges, carried;
  std::size_t in_order, queued;
};

TEST_P(Compiling, SendsTheFewestMessages) {
  const Messages cases[] = {
      {"none within a worker", {0, 0}, {{1, 0}}, {{0, 1}}, 0, 0},
      {"the latest alone", {0, 0, 0, 1, 1}, {{0, 1}, {1, 2}, {3, 4}, {1, 3}, {0, 3}, {2, 4}}, {}, 2, 2},
      {"of the iteration before", {0, 0, 1, 1}, {{0, 1}, {2, 3}, {0, 3}}, {{1, 2}}, 2, 2},
      {"who waits for an iteration waits for all before it", {0, 0, 1}, {{0, 1}, {0, 2}}, {{1, 2}}, 1, 2},
      {"each pair of workers", {0, 1, 2}, {{0, 1}, {0, 2}, {1, 2}}, {{2, 0}}, 3, 3},
  };
  Runtime runtime({.workers = 3, .pin = false});
  for (const auto& [what, workers, edges, carried, in_order, queued] : cases) {
    TaskGraph tasks;
    std::vector<TaskGraph::Node> nodes;
    for (const int worker : workers) nodes.push_back(tasks.task(worker, [] {}));
    for (const auto& [from, to] : edges) tasks.edge(nodes[from], nodes[to]);
    for (const auto& [from, to] : carried) tasks.carried_edge(nodes[from], nodes[to]);
    const CompiledGraph graph(runtime, std::move(tasks), GetParam());
    EXPECT_EQ(graph.statistics().messages, GetParam() == Policy::in_order ? in_order : queued) << what;
  }
}

TEST_P(Compiling, CarriedEdgesImplyNothing) {
  TaskGraph tasks;
  int at = 0, wrong = 0;
  const auto a = tasks.task(0, [&](const Turn& turn) { wrong += at++ != 3 * turn.iteration; });
  const auto b = tasks.task(1, [&](const Turn& turn) { wrong += at++ != 3 * turn.iteration + 1; });
  const auto c = tasks.task(0, [&](const Turn& turn) { wrong += at++ != 3 * turn.iteration + 2; });
  tasks.edge(a, b);
  tasks.edge(b, c);
  tasks.edge(a, c);  // implied
  tasks.carried_edge(c, a);
  tasks.carried_edge(a, b);  // another than a → b
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().implied, 1U);
  graph.launch({.iterations = 1000});
  runtime_.wait();
  EXPECT_EQ(at, 3000);
  EXPECT_EQ(wrong, 0);
}

TEST_P(Compiling, CompletionOfAsynchronousTasksIsNotImplied) {
  TaskGraph tasks;
  const auto start = [](const Turn&, const Issue<int>& issue) -> int {
    issue.done();
    return 0;
  };
  const auto a = tasks.async_task<int>(0, start), b = tasks.async_task<int>(1, start);
  const auto c = tasks.task(0, [] {});
  tasks.edge(a, b);
  tasks.edge(b, c);
  tasks.edge(a, c);
  const CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().implied, 0U);
}

TEST_P(Compiling, EventsMayBeAllThereIs) {
  TaskGraph tasks;
  const auto before = tasks.precondition(), after = tasks.postcondition(), free = tasks.postcondition(),
             idle = tasks.precondition();
  tasks.edge(before, after);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  const Event in, other;
  const auto launch = graph.launch({.iterations = 2, .preconditions = {{idle, other}, {before, in}}});
  EXPECT_FALSE(launch.postcondition(after).is_set());
  in.set();
  runtime_.wait();
  EXPECT_TRUE(launch.done.is_set());
  EXPECT_TRUE(launch.postcondition(after).is_set());
  EXPECT_TRUE(launch.postcondition(free).is_set());
  other.set();
}

TEST_P(Compiling, ActionsMayBeLargeOrOwnSomething) {
  const auto owned = std::make_shared<int>(0);
  std::array<int, 64> large{};
  large.fill(1);
  std::int64_t sum = 0;
  {
    TaskGraph tasks;
    const auto a = tasks.task(0, [owned] { ++*owned; });
    const auto b = tasks.task(
        1, [large, &sum](const Turn& turn) { sum += large[static_cast<std::size_t>(turn.iteration)] + turn.worker; });
    tasks.edge(a, b);
    tasks.carried_edge(b, b);
    CompiledGraph graph(runtime_, std::move(tasks), GetParam() == Policy::stealing ? Policy::ready_queue : GetParam());
    graph.launch({.iterations = 10});
    runtime_.wait();
    EXPECT_GT(owned.use_count(), 1);
  }
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(sum, 20);
}

TEST(TaskGraphs, RefuseNodesOfOtherGraphs) {
  using testing::HasSubstr;
  using testing::ThrowsMessage;
  TaskGraph one("one"), two("two");
  const auto a = one.task(0, [] {}), b = two.task(0, [] {}), c = two.task(0, [] {});
  const auto refused = [](const std::string& graph) {
    return ThrowsMessage<UsageError>(graph + ": an edge names node 0 of another graph");
  };
  EXPECT_THAT([&] { one.edge(a, b); }, refused("one"));
  EXPECT_THAT([&] { one.carried_edge(b, a); }, refused("one"));
  EXPECT_THAT([&] { two.edge(a, c); }, refused("two"));
  EXPECT_THAT([&] { TaskGraph("empty").edge(a, a); }, refused("empty"));
  const auto gone = TaskGraph("gone").task(0, [] {});
  EXPECT_THAT([&] { one.edge(a, gone); }, refused("one"));
  two.edge(b, c);
  two.edge(b, TaskGraph::Node());  // found when compiling
  Runtime runtime({.workers = 1, .pin = false});
  EXPECT_THAT([&] { CompiledGraph(runtime, std::move(two)); },
              ThrowsMessage<UsageError>(HasSubstr("two: an edge names node")));
}

TEST(TaskGraphs, KeepTheirNodesWhenTheyAreCopiedOrMoved) {
  Runtime runtime({.workers = 1, .pin = false});
  TaskGraph graph("first");
  int ran = 0;
  const auto a = graph.task(0, [&] { ++ran; }), b = graph.task(0, [&] { ++ran; });
  TaskGraph copy = graph;
  copy.edge(a, b);
  TaskGraph moved = std::move(graph);
  moved.edge(a, b);
  const auto after_move = graph.task(0, [] {});
  graph.task(0, [] {});
  EXPECT_THROW(graph.edge(a, b), UsageError);
  EXPECT_THROW(moved.edge(after_move, b), UsageError);
  graph = TaskGraph("second");
  graph.task(0, [] {});
  EXPECT_THROW(graph.edge(a, b), UsageError);
  CompiledGraph one(runtime, std::move(copy)), two(runtime, std::move(moved));
  one.launch();
  two.launch();
  runtime.wait();
  EXPECT_EQ(ran, 4);
}

/// A million tasks with three million edges: anything that is not linear would never end.
TEST_P(Compiling, AMillionTasks) {
  constexpr std::size_t width = 1000;
  const auto steps = static_cast<std::size_t>(rounds(1000));
  TaskGraph tasks;
  // Each iteration has its own values, because iterations may overlap.
  constexpr int iterations = 2;
  std::array<std::vector<std::uint32_t>, iterations> values;
  for (auto& value : values) value.assign(width * steps, 0);
  std::vector<TaskGraph::Node> row, last;
  for (std::size_t step = 0; step < steps; ++step) {
    last.swap(row);
    row.clear();
    for (std::size_t point = 0; point < width; ++point) {
      row.push_back(tasks.task(point < width / 2 ? 0 : 1, [&values, step, point](const Turn& turn) {
        std::uint32_t* mine = &values[static_cast<std::size_t>(turn.iteration)][step * width + point];
        *mine = (step == 0 ? 0 : *(mine - width)) + 1;
      }));
      if (step == 0) continue;
      for (std::size_t from = point == 0 ? 0 : point - 1; from <= point + 1 && from < width; ++from)
        tasks.edge(last[from], row[point]);
    }
  }
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().tasks, width * steps);
  graph.launch({.iterations = iterations});
  runtime_.wait();
  for (const auto& value : values)
    for (std::size_t k = 0; k < value.size(); ++k) ASSERT_EQ(value[k], k / width + 1) << k;
}

/// A node with as many edges as there are tasks must not be looked at for each of them.
TEST_P(Compiling, AFanOfAMillion) {
  TaskGraph tasks;
  const auto out = tasks.task(0, [] {}), in = tasks.task(1, [] {});
  for (std::int64_t k = 0; k < rounds(1'000'000); ++k) {
    const auto leaf = tasks.task(static_cast<int>(k % 2), [] {});
    tasks.edge(out, leaf);
    tasks.edge(leaf, in);
  }
  tasks.edge(out, in);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().implied, 1U);
  graph.launch({.iterations = 2});
  runtime_.wait();
}

TEST(Policies, HaveNames) {
  std::istringstream names(policy_names);
  std::set<Policy> found;
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    const auto policy = policy_from_name(name);
    ASSERT_TRUE(policy) << name;
    found.insert(*policy);
  }
  EXPECT_EQ(found, (std::set{Policy::in_order, Policy::ready_queue, Policy::stealing}));
  for (const char* name : {"", "fifo", "In_order", "in_order "}) EXPECT_FALSE(policy_from_name(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(Policies, Compiling, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
