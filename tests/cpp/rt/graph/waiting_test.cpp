/// Waiting for one thing ends when that has come, whatever else goes on and whoever else is at work.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "policies.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

/// Tasks of worker 1 that go on until they are told to end.
class Endless {
 public:
  explicit Endless(Runtime& runtime) : flow_(runtime, "endless") {
    flow_.indegree([](int) { return 1; }).worker([](int) { return 1; }).bound([](int) { return true; });
    flow_.priority([](int) { return -1; });  // or the newest task, which is always of this flow, would go first
    flow_.run([this](int k) {
      if (!end_) flow_.fulfill(k + 1);
    });
    flow_.fulfill(0);
  }
  ~Endless() { end_ = true; }

 private:
  std::atomic<bool> end_{false};
  Taskflow<int> flow_;
};

/// Worker 0 sleeps at once, and nobody wakes it: worker 1 never becomes idle.
class BesideABusyWorker : public testing::TestWithParam<Policy> {
 protected:
  Runtime runtime_{{.workers = 2, .spin = 0ns}};
  Endless endless_{runtime_};
};

TEST_P(BesideABusyWorker, AFlowIsWaitedFor) {
  Taskflow<int> flow(runtime_);
  flow.indegree([](int) { return 1; }).worker([](int) { return 1; });
  flow.run([](int) { std::this_thread::sleep_for(5ms); });
  flow.fulfill(1);
  flow.wait();
}

TEST_P(BesideABusyWorker, AFlowEnds) {
  Taskflow<int> flow(runtime_);
  flow.indegree([](int) { return 1; }).worker([](int) { return 1; });
  flow.run([](int) { std::this_thread::sleep_for(5ms); });
  flow.fulfill(1);
}

TEST_P(BesideABusyWorker, AGraphEnds) {
  TaskGraph tasks;
  tasks.task(1, [] { std::this_thread::sleep_for(5ms); });
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  graph.launch();
}

TEST_P(BesideABusyWorker, WhatNobodyTellsIsFound) {
  std::atomic<bool> come{false};
  std::thread outside([&] {
    std::this_thread::sleep_for(5ms);
    come = true;
  });
  runtime_.work_until([&] { return come.load(); });
  outside.join();
}

INSTANTIATE_TEST_SUITE_P(Policies, BesideABusyWorker, every_policy, policy_name);

/// The only worker has more to do when what its thread waits for has come.
class WithMoreToDo : public testing::TestWithParam<Policy> {
 protected:
  Runtime runtime_{{.workers = 1}};
};

TEST_P(WithMoreToDo, AWaitEndsThoughALaunchGoesOn) {
  std::atomic<std::int64_t> ran{0};
  TaskGraph tasks;
  tasks.task(0, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  const auto launch = graph.launch({.iterations = std::int64_t{1} << 40});
  Taskflow<int> flow(runtime_);
  flow.indegree([](int) { return 1; }).run([](int) {});
  flow.fulfill(1);
  flow.wait();
  EXPECT_FALSE(launch.done.is_set());
  runtime_.work_until([&, before = ran.load()] { return ran > before + 1000; });
  EXPECT_FALSE(launch.done.is_set());
  graph.cancel();
  EXPECT_THROW(runtime_.wait(launch.done), Cancelled);
}

TEST(WithMoreLongTasks, AWaitEndsAfterFewOfManyLongTasks) {
  Runtime runtime({.workers = 1, .order = Order::oldest});
  Taskflow<int> flow(runtime), others(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 1; }).run([](int) {});
  others.indegree([](int) { return 1; }).run([&](int) {
    std::this_thread::sleep_for(1ms);
    ++ran;
  });
  flow.fulfill(0);
  for (int k = 0; k < 250; ++k) others.fulfill(k);
  flow.wait();
  EXPECT_LT(ran, 10);
  runtime.wait();
  EXPECT_EQ(ran, 250);
}

INSTANTIATE_TEST_SUITE_P(Policies, WithMoreToDo, every_policy, policy_name);

/// However long a worker that waits may spin, it does what others wait for.
class OfWorkersThatSpinForEver : public testing::TestWithParam<Policy> {
 protected:
  static RuntimeOptions options(int workers) { return {.workers = workers, .spin = std::chrono::nanoseconds::max()}; }
};

TEST_P(OfWorkersThatSpinForEver, MessagesAreSent) {
  for (int from = 0; from < 3; ++from) {
    Runtime runtime(options(3));
    TaskGraph tasks;
    tasks.edge(tasks.task(from, [] {}), tasks.task(2, [] {}));
    CompiledGraph graph(runtime, std::move(tasks), GetParam());
    graph.launch({.iterations = 20});
    runtime.wait();
  }
}

TEST_P(OfWorkersThatSpinForEver, OneIsInAGraphAndItsThreadWaitsForSomethingElse) {
  Runtime runtime(options(2));
  std::atomic<bool> begun{false}, go{false};
  TaskGraph tasks;
  const auto first = tasks.task(1, [&] {
    begun = true;
    while (!go) std::this_thread::yield();
  });
  tasks.edge(first, tasks.task(0, [] {}));
  CompiledGraph graph(runtime, std::move(tasks), GetParam());
  graph.launch();
  const Event event;
  std::thread outside([&, hold = runtime.hold()] {
    std::this_thread::sleep_for(1ms);
    event.set();
  });
  while (!begun) std::this_thread::yield();  // or this thread might steal the task that waits for it
  runtime.wait(event);
  go = true;
  runtime.wait();
  outside.join();
}

INSTANTIATE_TEST_SUITE_P(Policies, OfWorkersThatSpinForEver, every_policy, policy_name);

/// The mutexes of a graph and of the engine.
class OfAGraphThatWasDestroyed : public testing::TestWithParam<Policy> {};

TEST_P(OfAGraphThatWasDestroyed, ALaunchFailsWhileAnotherFlowIsWaitedFor) {
  for (int round = 0; round < rounds(200); ++round) {
    Runtime runtime({.workers = 2});
    std::atomic<bool> go{false};
    TaskGraph tasks;
    tasks.task(1, [&] {
      while (!go) std::this_thread::yield();
      throw std::runtime_error("no");
    });
    auto graph = std::make_unique<CompiledGraph>(runtime, std::move(tasks), GetParam());
    Taskflow<int> destroyer(runtime), other(runtime);
    destroyer.indegree([](int) { return 1; }).worker([](int) { return 0; }).bound([](int) { return true; });
    destroyer.run([&](int) { graph.reset(); });
    other.indegree([](int) { return 1; }).worker([](int) { return 0; }).bound([](int) { return true; }).run([](int) {});
    graph->launch();
    destroyer.fulfill(0);
    destroyer.wait();
    go = true;
    for (int k = 0; k < 50; ++k) {
      other.fulfill(k);
      other.wait();
    }
    EXPECT_THROW(runtime.wait(), TaskFailed);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, OfAGraphThatWasDestroyed, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
