/// The life of a runtime: any number of workers, started and joined, several in a process and in one another.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/engine/tree.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

TEST(Runtime, CallsOnEachWorkerAndReturnsWhatEachSaid) {
  for (const int workers : {1, 2, 5}) {
    Runtime runtime({.workers = workers});
    const auto said = runtime.on_each_worker([](int worker) { return std::pair(worker, this_worker()); });
    ASSERT_EQ(said.size(), static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker)
      EXPECT_EQ(said[static_cast<std::size_t>(worker)], std::pair(worker, worker));
    std::atomic<int> calls{0};
    runtime.on_each_worker([&](int) { ++calls; });
    EXPECT_EQ(calls, workers);
    EXPECT_THROW(
        runtime.on_each_worker([&](int worker) { return worker == workers - 1 ? throw std::runtime_error("no") : 1; }),
        TaskFailed);
  }
}

TEST(Runtime, WithNothingToDoIsDone) {
  for (const int workers : {1, 2, 5}) {
    Runtime runtime({.workers = workers});
    runtime.wait();
    const Taskflow<int> flow(runtime);
    runtime.wait();
    runtime.wait();
  }
  const Runtime never_waited({.workers = 3});
}

TEST(Runtime, StartsAgainByItselfToWaitForWork) {
  for (const int owner : {0, 1}) {
    int ran = 0;
    {
      Runtime runtime({.workers = 2});
      Taskflow<std::string> flow(runtime);
      flow.indegree([](const std::string&) { return 0; }).worker([=](const std::string&) { return owner; });
      flow.run([&](const std::string&) { ++ran; });
      runtime.join();
      runtime.wait();
      flow.fulfill("a task whose key is in a box, which must not be lost");
      runtime.wait();
      EXPECT_EQ(ran, 1);
      runtime.join();
      flow.fulfill("a task that nobody waits for but the end of the flow");
    }
    EXPECT_EQ(ran, 2);
  }
}

TEST(Runtime, DoesNotWaitForItselfInATask) {
  Runtime runtime({.workers = 2});
  Taskflow<int> flow(runtime, "impatient");
  flow.indegree([](int) { return 0; }).worker([](int k) { return k; }).run([&](int) { runtime.wait(); });
  for (const int k : {0, 1}) {
    flow.fulfill(k);
    EXPECT_THAT(
        [&] { runtime.wait(); },
        ThrowsMessage<TaskFailed>(HasSubstr("cannot wait for the runtime that runs it: fork what it waits for")));
  }
}

TEST(Runtimes, FeedOneAnother) {
  // A ball that goes to and fro between two runtimes; each has a thread of its own that waits.
  Runtime left({.workers = 2}), right({.workers = 2});
  auto left_waits = std::make_unique<Runtime::Hold>(left.hold()),
       right_waits = std::make_unique<Runtime::Hold>(right.hold());
  constexpr int turns = 2000;
  std::atomic<int> hits{0};
  Taskflow<int> ping(left, "ping"), pong(right, "pong");
  ping.indegree([](int) { return 1; }).run([&](int k) { ++hits, pong.fulfill(k + 1); });
  pong.indegree([](int) { return 1; }).run([&](int k) {
    ++hits;
    if (k < turns) return ping.fulfill(k + 1);
    left_waits.reset();
    right_waits.reset();
  });
  std::jthread other([&] { right.wait(); });
  ping.fulfill(1);
  left.wait();
  other.join();
  EXPECT_EQ(hits, turns);
}

TEST(Runtimes, RunInTasksOfOthers) {
  Runtime outer({.workers = 3});
  std::atomic<int> ran{0};
  Taskflow<int> flow(outer, "outer");
  flow.indegree([](int) { return 0; }).run([&](int k) {
    Runtime inner({.workers = 1 + k % 3});
    Tree tree(inner, 100);
    tree.plant();
    inner.wait();
    EXPECT_EQ(detail::engine_of(inner).here(), nullptr);
    EXPECT_EQ(detail::engine_of(outer).here(), detail::Worker::current()) << "it is a worker of the outer one again";
    ran += tree.ran();
  });
  for (int k = 0; k < 12; ++k) flow.fulfill(k);
  outer.wait();
  EXPECT_EQ(ran, 1200);
}

TEST(Runtimes, ServeTasksOfOthers) {
  // All tasks of the outer runtime share an inner one, whose tasks fulfill tasks of the outer one.
  Runtime outer({.workers = 3}), inner({.workers = 2});
  std::atomic<int> echoes{0};
  Taskflow<int> echo(outer, "echo"), ask(outer, "ask"), answer(inner, "answer");
  echo.indegree([](int) { return 2; }).run([&](int) { ++echoes; });
  answer.indegree([](int) { return 0; }).run([&](int k) { echo.fulfill(k); });
  ask.indegree([](int) { return 0; }).run([&](int k) {
    answer.fulfill(k);
    inner.wait();
    echo.fulfill(k);
  });
  for (int k = 0; k < 200; ++k) ask.fulfill(k);
  outer.wait();
  EXPECT_EQ(echoes, 200);
}

TEST(Flows, AreWaitedForAloneAndEndAlone) {
  // One flow goes on all the time, and threads outside keep submitting to it; others come, are waited for, and go.
  Runtime runtime({.workers = 3});
  std::atomic<bool> go_on{true};
  Taskflow<std::int64_t> endless(runtime, "endless");
  endless.indegree([](std::int64_t) { return 0; }).run([&](std::int64_t k) {
    if (k >= 0 && go_on) endless.fulfill(k + 1);
  });
  for (int k = 0; k < 5; ++k) endless.fulfill(1'000'000'000'000 * k);
  std::jthread submitter([&] {
    for (std::int64_t k = -1; go_on; --k) {
      endless.fulfill(k);
      std::this_thread::yield();
    }
  });
  for (int n = 0; n < 100; ++n) {
    Tree tree(runtime, 100);
    tree.plant();
    if (n % 2 == 0) {
      tree.wait();
      EXPECT_EQ(tree.ran(), 100);
    }
  }
  go_on = false;
  submitter.join();
  runtime.wait();
}

TEST(Flows, LetTheRuntimeJoinWhileAMailboxIsFull) {
  Runtime runtime({.workers = 2});
  std::atomic<bool> over{false};
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 1; }).worker([](int k) { return k == -1 ? 1 : 0; }).run([&](int k) {
    for (int next = 0; k == -1 && next < 2000; ++next) flow.fulfill(next);
  });
  std::jthread joiner([&] {
    while (!over) runtime.join();
  });
  for (int n = 0; n < rounds(300); ++n) {
    flow.fulfill(-1);
    flow.wait();
  }
  over = true;
}

TEST(Holds, CoverWhatIsFulfilledUnderThem) {
  // Each task is complete while the thread outside holds, so no wait may find it stuck.
  Runtime runtime({.workers = 2, .pin = false});
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> ran{0};
  std::int64_t sent = 0;
  Taskflow<std::int64_t> flow(runtime);
  flow.indegree([](std::int64_t) { return 2; }).worker([](std::int64_t) { return 1; }).run([&](std::int64_t) {
    ++ran;
  });
  std::jthread outside([&] {
    for (; sent < rounds(100'000); ++sent) {
      const Runtime::Hold hold = runtime.hold();
      flow.fulfill(sent);
      flow.fulfill(sent);
    }
    over = true;
  });
  while (!over) EXPECT_NO_THROW(runtime.wait());
  outside.join();
  runtime.wait();
  EXPECT_EQ(ran, sent);
}

TEST(Flows, LeaveWhatOthersWaitFor) {
  // The end of a flow neither forgets what waits in another nor eats its exception.
  Runtime runtime({.workers = 2});
  for (int n = 0; n < 20; ++n) {
    int ran = 0;
    Taskflow<int> pair(runtime, "pair"), bad(runtime, "bad");
    pair.indegree([](int) { return 2; }).run([&](int) { ++ran; });
    bad.indegree([](int) { return 0; }).run([](int) { throw std::runtime_error("as told"); });
    pair.fulfill(1);
    bad.fulfill(1);
    {
      Tree(runtime, 50).plant();
    }
    pair.fulfill(1);
    EXPECT_THROW(runtime.wait(), TaskFailed);
    EXPECT_EQ(ran, 1);
  }
}

TEST(Flows, MayEndInTasksAndBelongToThem) {
  Runtime runtime({.workers = 3});
  std::atomic<int> ran{0};
  Taskflow<int> outer(runtime, "outer");
  outer.indegree([](int) { return 0; }).run([&](int) {
    Taskflow<std::string> inner(runtime, "inner");
    inner.indegree([](const std::string&) { return 0; }).run([&ran](const std::string&) { ++ran; });
    for (int k = 0; k < 5; ++k) inner.fulfill("a key that is too long for a small string " + std::to_string(k));
    EXPECT_THROW(inner.wait(), UsageError);
    EXPECT_THROW(runtime.on_each_worker([](int) {}), UsageError);
  });
  for (int n = 0; n < rounds(200); ++n) outer.fulfill(n);
  runtime.wait();
  EXPECT_EQ(ran, 5 * rounds(200));
}

TEST(Rounding, OfTasksEndsWithTheWait) {
  std::fesetround(FE_UPWARD);
  Runtime runtime({.workers = 2});
  const auto modes = runtime.on_each_worker([](int) { return std::fegetround(); });
  EXPECT_THAT(modes, testing::Each(FE_UPWARD));  // as where the runtime was made
  runtime.on_each_worker([](int) { std::fesetround(FE_DOWNWARD); });
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

TEST(Flows, ThatAreLeftAreStillKnownWhicheverEnd) {
  std::mt19937 random(1);
  Runtime runtime({.workers = 2});
  std::vector<std::unique_ptr<Taskflow<int>>> flows;
  for (int turn = 0; turn < 10; ++turn) {
    while (flows.size() < 20) {
      flows.push_back(std::make_unique<Taskflow<int>>(runtime, "flow"));
      flows.back()->indegree([](int) { return 2; }).run([](int) {});
    }
    std::ranges::shuffle(flows, random);
    flows.resize(7);
    for (const auto& flow : flows) flow->fulfill(turn);
    EXPECT_THAT([&] { runtime.wait(); }, testing::Throws<Stuck>(testing::Property(&Stuck::total, flows.size())));
  }
}

TEST(Holds, MayLetTheRuntimeEnd) {
  for (int n = 0; n < rounds(500); ++n) {
    std::jthread outside;
    {
      Runtime runtime({.workers = 2, .pin = false});
      outside = std::jthread([hold = std::make_unique<Runtime::Hold>(runtime.hold())]() mutable { hold.reset(); });
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt
