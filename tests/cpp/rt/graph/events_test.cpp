/// Chaining: launches after events, pre- and postconditions, from tasks and from other threads.

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "policies.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;

class Events : public testing::TestWithParam<Policy> {
 protected:
  /// A graph of one task on each of the workers.
  std::unique_ptr<CompiledGraph> each_worker(const std::function<void(int)>& body) {
    TaskGraph graph("each");
    for (int w = 0; w < runtime_.workers(); ++w) graph.task(w, [body, w] { body(w); });
    return std::make_unique<CompiledGraph>(runtime_, std::move(graph), GetParam());
  }

  Runtime runtime_{{.workers = 3, .pin = false, .spin = 50us}};
};

TEST(Event, CallsAtOnceWhatComesLate) {
  Event event;
  int calls = 0;
  event.then([&] { ++calls; });
  EXPECT_EQ(calls, 0);
  event.set();
  event.set();
  event.then([&] { ++calls; });
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(event.is_set());
}

TEST_P(Events, ChainGraphs) {
  std::array<int, 3> value{};  // of each worker: no atomics, so the event must order memory between all workers
  const auto add = each_worker([&](int w) { value[static_cast<std::size_t>(w)] += 1; });
  const auto turn = each_worker([&](int w) {
    if (w == 0) value = {value[1], value[2], value[0]};
  });
  Event last;
  last.set();
  for (int k = 0; k < 200; ++k) {
    last = add->launch({.after = {last}}).done;
    last = turn->launch({.after = {last}}).done;
  }
  runtime_.wait();
  EXPECT_THAT(value, Each(200));
}

TEST_P(Events, HappenWhenAFlowHasNoTaskLeft) {
  constexpr int tasks = 300;
  int value = 0, seen = 0, turns = 0;  // the events must order memory
  const auto one = [](int) { return 1; };
  Taskflow<int> chain(runtime_, "chain"), other(runtime_, "other");
  chain.indegree(one).worker([&](int k) { return k % runtime_.workers(); }).run([&](int k) {
    ++value;
    if (k + 1 < tasks) chain.fulfill(k + 1);
  });
  other.indegree(one).run([](int) {});
  std::optional hold(other.hold());
  const auto look = each_worker([&](int w) {
    if (w == 1) seen = value;
  });
  for (int round = 1; round <= 30; ++round) {
    chain.fulfill(0);
    const auto launch = look->launch({.after = {chain.done()}});
    launch.done.then([&] { ++turns; });
    runtime_.wait(launch.done);  // whoever holds the other flow
    EXPECT_EQ(seen, round * tasks);
  }
  chain.fulfill(0);
  const Event done = chain.done();
  chain.wait();
  EXPECT_TRUE(done.is_set());
  hold.reset();
  EXPECT_EQ(turns, 30);
}

TEST_P(Events, OfAFlowMayStartTheFlowAgain) {
  int ran = 0;
  Taskflow<int> flow(runtime_);
  flow.indegree([](int) { return 1; }).worker([](int) { return 2; }).run([&](int) { ++ran; });
  std::function<void()> again = [&] {
    if (ran == 100) return;
    flow.fulfill(ran);
    flow.done().then(again);
  };
  again();
  runtime_.wait();
  EXPECT_EQ(ran, 100);
  Event last;
  {
    Taskflow<int> brief(runtime_);
    brief.indegree([](int) { return 1; }).run([](int) {});
    brief.fulfill(1);
    last = brief.done();
  }
  EXPECT_TRUE(last.is_set());
}

TEST_P(Events, FailWithTheirFlow) {
  const auto graph = each_worker([](int) { FAIL(); });
  Taskflow<int> flow(runtime_, "flow");
  flow.indegree([](int k) { return k == 2 ? 2 : 1; }).run([](int) { throw std::runtime_error("no"); });
  const auto failure_of = [&](int key, auto end) {
    flow.fulfill(key);
    const Event done = flow.done();
    const Event launched = graph->launch({.after = {done}}).done;
    EXPECT_ANY_THROW(end());
    EXPECT_NE(launched.failure(), nullptr);
    EXPECT_ANY_THROW(runtime_.wait(launched));
    return done.failure();
  };
  EXPECT_THROW(std::rethrow_exception(failure_of(1, [&] { flow.wait(); })), TaskFailed);
  EXPECT_THROW(std::rethrow_exception(failure_of(2, [&] { flow.wait(); })), Stuck);
  const Event cancelled = flow.done();
  flow.cancel();
  EXPECT_THROW(std::rethrow_exception(cancelled.failure()), Cancelled);
  flow.wait();
}

TEST_P(Events, AreAllWaitedFor) {
  bool ran = false;
  TaskGraph tasks;
  tasks.task(1, [&] { ran = true; });
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  std::vector<Event> events(5);
  const auto launch = graph.launch({.after = events});
  for (const int k : {4, 0, 2, 1, 3}) {
    EXPECT_FALSE(launch.done.is_set());
    events[static_cast<std::size_t>(k)].set();
  }
  runtime_.wait();
  EXPECT_TRUE(launch.done.is_set());
  EXPECT_TRUE(ran);
}

TEST_P(Events, LaunchFromATaskOfAnotherGraphAndOfItself) {
  std::atomic<int> ran{0};
  const auto inner = each_worker([&](int) { ran.fetch_add(1, std::memory_order_relaxed); });
  CompiledGraph* self = nullptr;
  int times = 0;
  TaskGraph tasks;
  tasks.task(2, [&] {
    inner->launch({.iterations = 2});
    if (++times < 50) self->launch();
  });
  CompiledGraph outer(runtime_, std::move(tasks), GetParam());
  self = &outer;
  outer.launch();
  runtime_.wait();
  EXPECT_EQ(times, 50);
  EXPECT_EQ(ran.load(), 50 * 2 * 3);
}

TEST_P(Events, ManyLaunchesWithoutIterationsMayWait) {
  const auto graph = each_worker([](int) { FAIL(); });
  CompiledGraph empty(runtime_, TaskGraph(), GetParam());
  OneLoop loop, loop_too;
  Event go;
  Event done, done_too;
  for (int k = 0; k < 600; ++k) {
    done = graph->launch({.iterations = 0, .after = {go}}).done;
    done_too = empty.launch({.iterations = 3, .after = {go}}).done;
    done.then([&] { loop.call(); });
    done_too.then([&] { loop_too.call(); });
  }
  go.set();
  EXPECT_TRUE(done.is_set());
  EXPECT_TRUE(done_too.is_set());
}

TEST_P(Events, PreconditionsAreOfOneLaunchEach) {
  std::vector<int> seen;
  int value = 0;
  TaskGraph tasks;
  const auto first = tasks.precondition("first"), second = tasks.precondition("second");
  const auto task = tasks.task(1, [&] { seen.push_back(value); });
  tasks.edge(first, task);
  tasks.edge(second, task);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  std::array<std::array<Event, 2>, 3> events;
  std::vector<CompiledGraph::Launch> launches;
  for (const auto& [one, other] : events)
    launches.push_back(graph.launch({.preconditions = {{second, other}, {first, one}}}));
  events[2][0].set();  // of a launch that has not started
  for (std::size_t k = 0; k < 3; ++k) {
    value = static_cast<int>(k);
    events[k][1].set();
    events[k][0].set();
    runtime_.work_until([&] { return launches[k].done.is_set(); });
  }
  runtime_.wait();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

TEST_P(Events, PostconditionsComeBeforeTheEnd) {
  std::atomic<bool> go{false};
  int value = 0;
  TaskGraph tasks;
  const auto early = tasks.task(1, [&] { ++value; });
  const auto late = tasks.task(2, [&] {
    while (!go.load()) std::this_thread::yield();
  });
  const auto half = tasks.postcondition("half"), whole = tasks.postcondition("whole");
  tasks.edge(early, half);
  tasks.edge(early, whole);
  tasks.edge(late, whole);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  const auto launch = graph.launch();
  launch.postcondition(half).then([&] {
    EXPECT_EQ(value, 1);
    EXPECT_FALSE(launch.postcondition(whole).is_set());
    go = true;
  });
  runtime_.wait();
  EXPECT_TRUE(launch.postcondition(whole).is_set());
}

TEST_P(Events, APostconditionStartsTheNextGraph) {
  std::vector<int> order;
  TaskGraph first_tasks("first"), second_tasks("second");
  const auto a = first_tasks.task(1, [&] { order.push_back(1); });
  const auto out = first_tasks.postcondition();
  first_tasks.edge(a, out);
  first_tasks.carried_edge(a, a);  // or else an iteration may come after the last
  const auto in = second_tasks.precondition();
  const auto b = second_tasks.task(2, [&] { order.push_back(2); });
  second_tasks.edge(in, b);
  CompiledGraph first(runtime_, std::move(first_tasks), GetParam()),
      second(runtime_, std::move(second_tasks), GetParam());
  for (int k = 0; k < 100; ++k) {
    const auto launch = first.launch({.iterations = 1 + k % 3});
    second.launch({.preconditions = {{in, launch.postcondition(out)}}});
    runtime_.wait();
    ASSERT_EQ(order.size(), static_cast<std::size_t>(2 + k % 3));
    EXPECT_EQ(order.back(), 2);
    order.clear();
  }
}

TEST_P(Events, TheDestructorWaits) {
  std::atomic<int> ran{0};
  {
    const auto graph = each_worker([&](int) { ran.fetch_add(1, std::memory_order_relaxed); });
    graph->launch({.iterations = 100});
    graph->launch({.iterations = 100});
  }
  EXPECT_EQ(ran.load(), 600);
}

INSTANTIATE_TEST_SUITE_P(Policies, Events, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
