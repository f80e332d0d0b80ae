/// What goes wrong is said, with names, and leaves a runtime that is as new.

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "rt/stress.hpp"

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

TEST_P(Failures, EndLaterIterationsAndLaunches) {
  std::atomic<int> ran{0};
  TaskGraph tasks("mesh");
  std::vector<TaskGraph::Node> nodes;
  for (int k = 0; k < 9; ++k)
    nodes.push_back(tasks.task(
        k % 3,
        [&, k](const Turn& turn) {
          if (k == 4 && turn.iteration == 2) throw std::runtime_error("no bread");
          ran.fetch_add(1, std::memory_order_relaxed);
        },
        "cell " + std::to_string(k)));
  for (std::size_t k = 1; k < 9; ++k) tasks.edge(nodes[k - 1], nodes[k]);
  tasks.carried_edge(nodes[8], nodes[0]);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 20; ++round) {
    ran = 0;
    std::vector<Event> done;
    for (int k = 0; k < 3; ++k) done.push_back(graph.launch({.iterations = 4}).done);
    EXPECT_THAT(message<TaskFailed>([&] { runtime_.wait(); }),
                AllOf(HasSubstr("mesh cell 4 of iteration 2"), HasSubstr("no bread")));
    EXPECT_EQ(ran.load(), 2 * 9 + 4);
    runtime_.wait();  // nothing of it is left
    for (const Event& event : done) EXPECT_FALSE(event.is_set());
  }
  graph.launch({.iterations = 2});
  runtime_.wait();
  EXPECT_EQ(ran.load(), 2 * 9 + 4 + 2 * 9);
}

TEST_P(Failures, OfOneGraphLeaveTheOthers) {
  TaskGraph bad("bad"), good("good"), dependent("dependent");
  bad.task(2, [] { throw std::logic_error("no"); });
  std::atomic<int> ran{0};
  for (int w = 0; w < 3; ++w) {
    good.task(w, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
    dependent.task(w, [] { FAIL(); });
  }
  CompiledGraph first(runtime_, std::move(bad), GetParam()), second(runtime_, std::move(good), GetParam()),
      third(runtime_, std::move(dependent), GetParam());
  for (std::int64_t round = 0; round < rounds(50); ++round) {
    ran = 0;
    const Event go;
    const auto goes_on = second.launch({.iterations = 1000});
    const auto fails = first.launch({.after = {go}}), follows = third.launch({.after = {fails.done}});
    const auto queued = third.launch();
    go.set();
    EXPECT_THROW(runtime_.wait(fails.done), TaskFailed);
    runtime_.wait(goes_on.done);
    EXPECT_EQ(ran, 3000);
    for (const auto& launch : {follows, queued}) {
      EXPECT_THROW(runtime_.wait(launch.done), TaskFailed);
      EXPECT_FALSE(launch.done.is_set());
    }
    runtime_.wait();
  }
}

TEST_P(Failures, OfACallbackIsTold) {
  TaskGraph tasks("graph");
  tasks.task(1, [] {});
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 20; ++round) {
    Event go;
    const auto launch = graph.launch({.after = {go}});
    bool called = false;
    launch.done.then([] { throw std::runtime_error("a bad call"); });
    launch.done.then([&] { called = true; });
    go.set();
    EXPECT_THAT(message<TaskFailed>([&] { runtime_.wait(); }), AllOf(HasSubstr("graph"), HasSubstr("a bad call")));
    EXPECT_TRUE(launch.done.is_set());
    EXPECT_TRUE(called);
    runtime_.wait();
  }
}

TEST_P(Failures, AGraphMayEndInItsOwnCallback) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    TaskGraph tasks("graph");
    for (int w = 0; w < 3; ++w) tasks.task(w, [&] { ++ran; });
    auto graph = std::make_unique<CompiledGraph>(runtime_, std::move(tasks), GetParam());
    Event go;
    const auto launch = graph->launch({.after = {go}});
    if (round % 2 == 0) graph->launch();
    launch.done.then([&] { graph.reset(); });
    if (round % 3 == 0) {
      std::thread([&, hold = runtime_.hold()] { go.set(); }).join();
    } else {
      go.set();
    }
    runtime_.wait();
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(ran, round % 2 == 0 ? 6 : 3);
  }
}

TEST_P(Failures, AnEventThatFailsFailsWhatComesAfter) {
  TaskGraph tasks("graph");
  const auto before = tasks.precondition(), task = tasks.task(1, [] { FAIL(); });
  tasks.edge(before, task);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (const bool early : {true, false}) {
    const Event event;
    const auto why = std::make_exception_ptr(std::runtime_error("no fish"));
    if (early) event.fail(why);
    const auto launch = graph.launch({.preconditions = {{before, event}}});
    if (!early) event.fail(why);
    EXPECT_EQ(message<std::runtime_error>([&] { runtime_.wait(launch.done); }), "no fish");
  }
  runtime_.wait();
}

TEST_P(Failures, IterationsThatCannotBeCountedAreRefused) {
  TaskGraph tasks("graph");
  for (int k = 0; k < 10; ++k) tasks.task(k % 3, [] {});
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  graph.launch({.iterations = 5});
  EXPECT_THAT(message<UsageError>([&] { graph.launch({.iterations = INT64_MAX}); }), HasSubstr("allowed are 0 to"));
  runtime_.wait();
}

TEST_P(Failures, AChainOfManyLaunchesEndsWithoutCallsWithinCalls) {
  std::vector<std::unique_ptr<CompiledGraph>> graphs;
  OneLoop loop;
  const Event first;
  Event last = first;
  for (int k = 0; k < 600; ++k) {
    TaskGraph tasks;
    tasks.task(k % 3, [] { FAIL(); });
    graphs.push_back(std::make_unique<CompiledGraph>(runtime_, std::move(tasks), GetParam()));
    last = graphs.back()->launch({.after = {last}}).done;
    last.then([&] { loop.call(); });
  }
  first.fail(nullptr);
  EXPECT_THROW(runtime_.wait(last), std::invalid_argument);
}

TEST_P(Failures, AStartThatThrowsAfterDoneEndsItsLaunchAlone) {
  bool fails = true;
  TaskGraph tasks("graph");
  const auto first = tasks.async_task<int>(
      0,
      [&](const Turn&, const Issue<int>& issue) -> int {
        issue.done();
        if (fails) throw std::runtime_error("too late");
        return {};
      },
      "first");
  tasks.edge(first, tasks.task(0, [] {}));
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 20; ++round) {
    fails = round % 2 == 0;
    const auto launch = graph.launch({.iterations = 3});
    if (fails)
      EXPECT_THAT(message<TaskFailed>([&] { runtime_.wait(launch.done); }),
                  testing::ContainsRegex("graph first of iteration [012] failed: too late"));
    else
      runtime_.wait(launch.done);
    runtime_.wait();
  }
}

/// Nothing else is left of the launch when its device is done, in its start.
TEST_P(Failures, AStartThatThrowsAfterDoneDoesNotFailTheNextLaunch) {
  int starts = 0;
  TaskGraph tasks("graph");
  tasks.async_task<int>(0, [&](const Turn&, const Issue<int>& issue) -> int {
    issue.done();
    if (++starts % 2 == 1) throw std::runtime_error("too late");
    return {};
  });
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 20; ++round) {
    const auto first = graph.launch();
    EXPECT_THAT(message<TaskFailed>([&] { runtime_.wait(first.done); }), HasSubstr("graph 0 failed: too late"));
    const auto second = graph.launch();
    runtime_.wait(second.done);
    runtime_.wait();
  }
  EXPECT_EQ(starts, 40);
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
  TaskGraph tasks("net"), others("other");
  const auto fish = tasks.precondition("fish"), chips = tasks.precondition("chips"), out = tasks.postcondition("out"),
             task = tasks.task(0, [] {});
  const auto elsewhere = others.precondition();
  tasks.edge(fish, task);
  tasks.edge(task, out);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  const auto refused = [&](std::vector<std::pair<TaskGraph::Node, Event>> events, std::int64_t iterations = 1) {
    return message<UsageError>([&] { graph.launch({.iterations = iterations, .preconditions = events}); });
  };
  const Event event;
  EXPECT_THAT(refused({{fish, event}, {chips, event}}, -1), HasSubstr("-1"));
  EXPECT_THAT(refused({{fish, event}}), HasSubstr("net chips is a precondition and has no event"));
  EXPECT_THAT(refused({{fish, event}, {chips, event}, {fish, event}}), HasSubstr("net fish has two events"));
  EXPECT_THAT(refused({{fish, event}, {task, event}}), HasSubstr("node 3 is no precondition"));
  EXPECT_THAT(refused({{elsewhere, event}, {chips, event}}), HasSubstr("node 0 of another graph"));
  runtime_.wait();  // nothing was launched
  event.set();
  const auto launch = graph.launch({.preconditions = {{chips, event}, {fish, event}}});
  runtime_.wait();
  EXPECT_TRUE(launch.postcondition(out).is_set());
  EXPECT_THROW(launch.postcondition(task), UsageError);
  EXPECT_THROW(launch.postcondition({out.index, elsewhere.graph}), UsageError);
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
    const auto launch = graph.launch({.iterations = iterations, .preconditions = {{event, never}}});
    const auto queued = graph.launch({.preconditions = {{event, never}}});
    EXPECT_THAT([&] { runtime_.wait(); },
                testing::Throws<Stuck>(testing::AllOf(testing::Property(&Stuck::what, HasSubstr("net waits")),
                                                      testing::Property(&Stuck::total, testing::Ge(1U)))));
    never.set();  // too late: it was given up
    runtime_.wait();
    EXPECT_FALSE(launch.done.is_set());
    EXPECT_FALSE(queued.done.is_set());
    ran = 0;
    const Event now;
    now.set();
    graph.launch({.iterations = iterations, .preconditions = {{event, now}}});
    runtime_.wait();
    EXPECT_EQ(ran.load(), 5 * iterations);
  }
}

TEST_P(Failures, TwoGraphsMayBeStuckOnTheSameWorkers) {
  std::vector<std::unique_ptr<CompiledGraph>> graphs;
  std::vector<TaskGraph::Node> events;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}}) {
    TaskGraph tasks("net");
    const auto event = events.emplace_back(tasks.precondition());
    const auto first = tasks.task(from, [] {}), second = tasks.task(to, [] {});
    tasks.edge(event, first);
    tasks.edge(first, second);
    graphs.push_back(std::make_unique<CompiledGraph>(runtime_, std::move(tasks), GetParam()));
  }
  for (std::size_t k = 0; k < graphs.size(); ++k)
    graphs[k]->launch({.iterations = 4, .preconditions = {{events[k], Event()}}});
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
    const auto before = tasks.precondition();
    tasks.edge(before, tasks.task(1, [] { FAIL(); }));
    CompiledGraph graph(runtime_, std::move(tasks), GetParam());
    graph.launch({.preconditions = {{before, never}}});
    graph.launch({.after = {neither}, .preconditions = {{before, never}}});
    EXPECT_THROW(runtime_.wait(), Stuck);
    graph.launch({.after = {neither}, .preconditions = {{before, never}}});
  }
  never.set();
  neither.set();
  runtime_.wait();
}

INSTANTIATE_TEST_SUITE_P(Policies, Failures, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
