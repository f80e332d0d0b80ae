/// What goes wrong is said, with names, and leaves a runtime that is as new.

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "policies.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Failures : public testing::TestWithParam<Policy> {
 protected:
  template <typename Error, typename F>
  static std::string message(F&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }

  Runtime runtime_{{.workers = 3, .pin = false, .spin = 50us}};
};

TEST_P(Failures, ATaskThatThrowsIsNamed) {
  bool fails = true;
  std::atomic<int> ran{0};
  TaskGraph tasks("mesh");
  std::vector<TaskGraph::Node> nodes;
  for (int k = 0; k < 9; ++k)
    nodes.push_back(tasks.task(
        k % 3,
        [&, k](const Turn& turn) {
          if (fails && k == 4 && turn.iteration == 2) throw std::runtime_error("no bread");
          ran.fetch_add(1, std::memory_order_relaxed);
        },
        "cell " + std::to_string(k)));
  for (std::size_t k = 1; k < 9; ++k) tasks.edge(nodes[k - 1], nodes[k]);
  tasks.carried_edge(nodes[8], nodes[0]);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 20; ++round) {
    fails = true;
    ran = 0;
    std::vector<Event> done;
    for (int k = 0; k < 3; ++k) done.push_back(graph.launch({.iterations = 4}).done);
    try {
      runtime_.wait();
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.task(), "mesh cell 4");
      EXPECT_THAT(error.what(), HasSubstr("no bread"));
      EXPECT_THROW(error.rethrow_nested(), std::runtime_error);
    }
    EXPECT_EQ(ran.load(), 2 * 9 + 4);
    runtime_.wait();  // nothing of it is left
    for (const Event& event : done) EXPECT_FALSE(event.is_set());
    fails = false;
    ran = 0;
    const auto launch = graph.launch({.iterations = 4});
    runtime_.wait();
    EXPECT_EQ(ran.load(), 4 * 9);
    EXPECT_TRUE(launch.done.is_set());
  }
}

TEST_P(Failures, OfOneGraphDropTheOthers) {
  TaskGraph bad("bad"), good("good");
  bad.task(2, [] { throw std::logic_error("no"); });
  std::atomic<int> ran{0};
  for (int w = 0; w < 3; ++w) good.task(w, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
  CompiledGraph first(runtime_, std::move(bad), GetParam()), second(runtime_, std::move(good), GetParam());
  for (int round = 0; round < 50; ++round) {
    second.launch({.after = {first.launch().done}});
    second.launch({.iterations = 1000});
    EXPECT_THROW(runtime_.wait(), TaskFailed);
  }
  ran = 0;
  second.launch({.iterations = 5});
  runtime_.wait();
  EXPECT_EQ(ran.load(), 15);
}

TEST_P(Failures, ACycleIsNamed) {
  TaskGraph tasks("ring");
  const auto a = tasks.task(
                 0, [] {}, "ape"),
             b = tasks.task(1, [] {}, "bee"), c = tasks.task(2, [] {}, "cow"), d = tasks.task(0, [] {}, "dog");
  tasks.edge(a, b);
  tasks.edge(b, c);
  tasks.edge(c, b);
  tasks.edge(c, d);
  EXPECT_THAT(message<UsageError>([&] { CompiledGraph(runtime_, std::move(tasks), GetParam()); }),
              AllOf(HasSubstr("cycle of 2"), HasSubstr("ring bee"), HasSubstr("ring cow"), Not(HasSubstr("ape")),
                    Not(HasSubstr("dog"))));
}

TEST_P(Failures, ATaskAfterItselfIsACycleUnlessCarried) {
  TaskGraph tasks;
  const auto a = tasks.task(0, [] {}, "ape");
  tasks.carried_edge(a, a);
  CompiledGraph(runtime_, tasks, GetParam()).launch({.iterations = 3});
  tasks.edge(a, a);
  EXPECT_THAT(message<UsageError>([&] { CompiledGraph(runtime_, tasks, GetParam()); }), HasSubstr("cycle of 1"));
}

TEST_P(Failures, AWorkerThatDoesNotExist) {
  for (const int worker : {-1, 3}) {
    TaskGraph tasks("grid");
    tasks.task(worker, [] {}, "far");
    EXPECT_THAT(message<UsageError>([&] { CompiledGraph(runtime_, std::move(tasks), GetParam()); }),
                AllOf(HasSubstr("grid far"), HasSubstr(std::to_string(worker)), HasSubstr("0 to 2")));
  }
}

TEST_P(Failures, EdgesTheWrongWay) {
  const auto refused = [&](auto add) {
    TaskGraph tasks;
    const auto task = tasks.task(0, [] {}), before = tasks.precondition("before"), after = tasks.postcondition("after");
    add(tasks, task, before, after);
    EXPECT_THROW(CompiledGraph(runtime_, std::move(tasks), GetParam()), UsageError);
  };
  refused([](TaskGraph& tasks, auto task, auto before, auto) { tasks.edge(task, before); });
  refused([](TaskGraph& tasks, auto task, auto, auto after) { tasks.edge(after, task); });
  refused([](TaskGraph& tasks, auto task, auto before, auto) { tasks.carried_edge(before, task); });
  refused([](TaskGraph& tasks, auto task, auto, auto) { tasks.edge(task, {17}); });
}

TEST_P(Failures, LaunchesAreChecked) {
  TaskGraph tasks;
  tasks.edge(tasks.precondition(), tasks.task(0, [] {}));
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_THAT(message<UsageError>([&] { graph.launch({.iterations = -1, .preconditions = {Event()}}); }),
              HasSubstr("-1"));
  EXPECT_THAT(message<UsageError>([&] { graph.launch(); }), HasSubstr("0 events"));
  EXPECT_THAT(message<UsageError>([&] { graph.launch({.preconditions = {Event(), Event()}}); }), HasSubstr("2 events"));
  runtime_.wait();  // nothing was launched
}

/// A precondition of one task, with others on other workers before, beside and after it.
TEST_P(Failures, APreconditionThatIsNeverSetIsStuck) {
  for (const std::int64_t iterations : {1, 2, 5}) {
    std::atomic<int> ran{0};
    TaskGraph tasks("net");
    const auto count = [&] { ran.fetch_add(1, std::memory_order_relaxed); };
    const auto event = tasks.precondition("fish");
    const auto before = tasks.task(0, count, "before"), waits = tasks.task(1, count, "waits"),
               after = tasks.task(2, count, "after"), last = tasks.task(0, count, "last");
    tasks.task(2, count, "free");
    tasks.edge(event, waits);
    tasks.edge(before, waits);
    tasks.edge(waits, after);
    tasks.edge(after, last);
    CompiledGraph graph(runtime_, std::move(tasks), GetParam());
    const Event never;
    const auto launch = graph.launch({.iterations = iterations, .preconditions = {never}});
    const auto queued = graph.launch({.preconditions = {never}});
    try {
      runtime_.wait();
      FAIL() << "nothing was thrown";
    } catch (const Stuck& error) {
      EXPECT_THAT(error.what(), HasSubstr("net waits"));
      EXPECT_GE(error.total(), 1U);
    }
    never.set();  // too late: it was given up
    runtime_.wait();
    EXPECT_FALSE(launch.done.is_set());
    EXPECT_FALSE(queued.done.is_set());
    ran = 0;
    const Event now;
    now.set();
    graph.launch({.iterations = iterations, .preconditions = {now}});
    runtime_.wait();
    EXPECT_EQ(ran.load(), 5 * iterations);
  }
}

TEST_P(Failures, TwoGraphsMayBeStuckOnTheSameWorkers) {
  std::vector<std::unique_ptr<CompiledGraph>> graphs;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}}) {
    TaskGraph tasks("net");
    const auto event = tasks.precondition();
    const auto first = tasks.task(from, [] {}), second = tasks.task(to, [] {});
    tasks.edge(event, first);
    tasks.edge(first, second);
    graphs.push_back(std::make_unique<CompiledGraph>(runtime_, std::move(tasks), GetParam()));
  }
  for (const auto& graph : graphs) graph->launch({.iterations = 4, .preconditions = {Event()}});
  EXPECT_THROW(runtime_.wait(), Stuck);
}

TEST_P(Failures, AnEventBeforeALaunchThatIsNeverSetIsStuck) {
  TaskGraph tasks("net");
  bool fails = false;
  tasks.task(1, [&] {
    if (fails) throw std::runtime_error("no");
  });
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 3; ++round) {
    graph.launch();
    graph.launch({.after = {Event()}});
    EXPECT_THAT(message<Stuck>([&] { runtime_.wait(); }), HasSubstr("net"));
    fails = true;  // also where a launch was cut off before
    graph.launch();
    EXPECT_THROW(runtime_.wait(), TaskFailed);
    fails = false;
  }
}

TEST_P(Failures, EventsMayOutliveTheGraph) {
  const Event never, neither;
  {
    TaskGraph tasks;
    tasks.edge(tasks.precondition(), tasks.task(1, [] { FAIL(); }));
    CompiledGraph graph(runtime_, std::move(tasks), GetParam());
    graph.launch({.preconditions = {never}});
    graph.launch({.after = {neither}, .preconditions = {never}});
    EXPECT_THROW(runtime_.wait(), Stuck);
    graph.launch({.after = {neither}, .preconditions = {never}});
  }
  never.set();
  neither.set();
  runtime_.wait();
}

INSTANTIATE_TEST_SUITE_P(Policies, Failures, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
