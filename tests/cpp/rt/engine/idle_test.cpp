/// Runtimes without work: their threads sleep, and wake when there is some again.

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "engine/work.hpp"
#include "rt/asleep.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

TEST(Idle, WorkersSleepAfterTheirSpin) {
  const auto before = all_threads();
  Runtime runtime({.workers = 4, .spin = 1ms});
  const auto workers = threads_since(before);
  EXPECT_EQ(workers.size(), 3U);
  ASSERT_TRUE(fall_asleep(workers));
  runtime.wait();
  EXPECT_TRUE(fall_asleep(workers));
}

TEST(Idle, WorkersSleepAfterWork) {
  const auto before = all_threads();
  Runtime runtime({.workers = 3, .spin = 1ms});
  const auto workers = threads_since(before);
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 0; }).run([&](int) { ++ran; });
  for (int k = 0; k < 1000; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_EQ(ran, 1000);
  EXPECT_TRUE(fall_asleep(workers));
}

TEST(Idle, ACallerSleepsWhileItWaitsForAHold) {
  const auto before = all_threads();
  Runtime runtime({.workers = 2, .spin = 1ms});
  auto hold = std::make_unique<Runtime::Hold>(runtime.hold());
  std::jthread caller([&] { runtime.wait(); });
  const auto threads = threads_since(before);
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_TRUE(fall_asleep(threads));
  hold.reset();
}

TEST(Idle, ACallerSleepsWhileAnotherWorkerIsBusy) {
  Runtime runtime({.workers = 2, .spin = 1ms});
  Taskflow<int> flow(runtime);
  bool slept = false;
  flow.indegree([](int) { return 0; }).worker([](int) { return 1; }).bound([](int) { return true; });
  flow.run([&, caller = gettid()](int) { slept = fall_asleep({caller}); });
  flow.fulfill(1);
  runtime.wait();
  EXPECT_TRUE(slept);
}

TEST(Idle, WorkersSleepWhileNobodyIsWorkerZero) {
  const auto before = all_threads();
  Runtime runtime({.workers = 3, .spin = 1ms});
  const auto workers = threads_since(before);
  constexpr int many = 5000;  // more than a mailbox holds
  Taskflow<int> source(runtime, "source"), sink(runtime, "sink");
  std::atomic<int> ran{0};
  sink.indegree([](int) { return 0; }).worker([](int) { return 0; }).run([&](int) { ++ran; });
  source.indegree([](int) { return 0; }).worker([](int k) { return k; }).bound([](int) { return true; });
  source.run([&](int k) {
    for (int n = 0; n < many; ++n) sink.fulfill(k * many + n);
  });
  for (int round = 1; round <= 3; ++round) {
    for (const int k : {1, 2}) source.fulfill(k);
    EXPECT_TRUE(fall_asleep(workers));
    runtime.wait();
    EXPECT_EQ(ran, 2 * many * round);
  }
}

TEST(Idle, ARuntimeMaySpinForEver) {
  for (const std::chrono::nanoseconds spin : {std::chrono::nanoseconds(24h), std::chrono::nanoseconds::max()}) {
    Runtime runtime({.workers = 1, .spin = spin});
    const Runtime::Hold hold = runtime.hold();
    // It asks again and again, long after the default spin and after several looks at the clock; if it slept nobody
    // would wake it.
    int asked = 0;
    runtime.work_until([&] {
      std::this_thread::sleep_for(1ms);
      return ++asked == 300;
    });
    EXPECT_EQ(asked, 300);
  }
}

TEST(Idle, AHandlerThatMaySpinForEverDoes) {
  for (const std::chrono::nanoseconds spin : {std::chrono::nanoseconds(24h), std::chrono::nanoseconds::max()}) {
    Runtime runtime({.workers = 1, .spin = spin});
    Taskflow<int> flow(runtime);
    auto waited = detail::Waited::too_long;
    flow.indegree([](int) { return 0; }).run([&](int) {
      int asked = 0;
      std::chrono::steady_clock::time_point until{};
      waited = detail::engine_of(runtime).here()->wait_for([&] { return ++asked == 1000; }, until);
    });
    flow.fulfill(0);
    runtime.wait();
    EXPECT_EQ(waited, detail::Waited::ready);
  }
}

TEST(Wake, AWorkerForATaskFromOutside) {
  Runtime runtime({.workers = 2, .spin = 0ns});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 0; }).worker([](int) { return 1; }).run([&](int) { ++ran; });
  for (int n = 1; n <= 50; ++n) {
    std::this_thread::sleep_for(1ms);
    flow.fulfill(n);
    ASSERT_TRUE(eventually([&] { return ran == n; }));
  }
}

TEST(Wake, AThiefWhenAWorkerHasMoreThanItCanDo) {
  Runtime runtime({.workers = 2, .spin = 0ns});
  Taskflow<int> flow(runtime);
  std::atomic<int> at_once{0};
  std::atomic<bool> met{false};
  flow.indegree([](int) { return 0; }).worker([](int) { return 0; }).run([&](int) {
    ++at_once;
    if (eventually([&] { return met || at_once == 2; })) met = true;
    --at_once;
  });
  std::this_thread::sleep_for(20ms);
  for (int k = 0; k < 4; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_TRUE(met) << "no two tasks ran at once";
}

TEST(Wake, AThiefThatSleptBeforeItsVictimWoke) {
  for (const int workers : {3, 70}) {
    const auto before = all_threads();
    Runtime runtime({.workers = workers, .spin = 0ns});
    const auto threads = threads_since(before);
    const int maker = workers - 1;
    int made = 0;  // by the maker
    std::atomic<int> ran{0}, ended{0};
    Taskflow<int> parts(runtime, "parts"), makers(runtime, "makers");
    parts.indegree([](int) { return 1; }).worker([&](int) { return maker; }).run([&](int) { ++ran; });
    makers.indegree([](int) { return 1; }).worker([&](int) { return maker; }).bound([](int) { return true; });
    makers.run([&](int k) {
      const bool came = eventually([&, last = ran.load()] {  // only a thief can run a part while this runs
        parts.fulfill(made++);
        return ran > last;
      });
      EXPECT_TRUE(came) << "for " << k;
      ended = k + 1;
    });
    for (int k = 0; k < 60; ++k) {
      if (k % 20 == 0) {
        ASSERT_TRUE(fall_asleep(threads));
      }
      makers.fulfill(k);
      ASSERT_TRUE(eventually([&] { return ended == k + 1 && ran == made; }));
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt
