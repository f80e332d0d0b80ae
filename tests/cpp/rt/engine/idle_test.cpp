/// Runtimes without work: they use no processor, and wake when there is some again.

#include <gmock/gmock.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;
using namespace std::chrono_literals;

/// What all threads of this process have used of the processors.
duration<double> processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return duration<double>(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

/// The same, in the course of a third of a second.
duration<double> used_in_a_while() {
  const auto before = processor_time();
  std::this_thread::sleep_for(300ms);
  return processor_time() - before;
}

template <typename Condition>
bool soon(const Condition& condition) {
  for (const auto until = Clock::now() + 10s; Clock::now() < until; std::this_thread::sleep_for(100us))
    if (condition()) return true;
  return false;
}

TEST(Idle, WorkersUseNoProcessorAfterTheirSpin) {
  Runtime runtime({.workers = 4, .spin = 1ms});
  runtime.wait();
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(used_in_a_while(), 3ms);
}

TEST(Idle, WorkersUseNoProcessorAfterWork) {
  Runtime runtime({.workers = 3, .spin = 1ms});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 0; }).run([&](int) { ++ran; });
  for (int k = 0; k < 1000; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_EQ(ran, 1000);
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(used_in_a_while(), 3ms);
}

TEST(Idle, ACallerUsesNoProcessorWhileItWaitsForAHold) {
  Runtime runtime({.workers = 2, .spin = 1ms});
  auto hold = std::make_unique<Runtime::Hold>(runtime.hold());
  std::jthread caller([&] { runtime.wait(); });
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(used_in_a_while(), 3ms);
  hold.reset();
}

TEST(Idle, ACallerUsesNoProcessorWhileAnotherWorkerIsBusy) {
  Runtime runtime({.workers = 2, .spin = 1ms});
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).worker([](int) { return 1; }).run([](int) { std::this_thread::sleep_for(300ms); });
  flow.fulfill(1);
  const auto before = processor_time();
  runtime.wait();
  EXPECT_LT(processor_time() - before, 30ms);
}

TEST(Idle, ARuntimeMaySpinForEver) {
  for (const std::chrono::nanoseconds spin : {std::chrono::nanoseconds(24h), std::chrono::nanoseconds::max()}) {
    Runtime runtime({.workers = 2, .spin = spin});
    std::this_thread::sleep_for(20ms);
    // It yields, so on a busy machine it gets little; asleep it would get nothing.
    const auto before = processor_time();
    for (int n = 0; n < 200 && processor_time() - before < 40ms; ++n) std::this_thread::sleep_for(50ms);
    EXPECT_GE(processor_time() - before, 40ms) << "its worker sleeps after " << spin.count() << " ns";
  }
}

TEST(Idle, ARuntimeMayNotSpinAtAll) {
  Runtime runtime({.workers = 3, .spin = 0ns});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 1; }).worker([](int k) { return k % 3; }).run([&](int k) {
    ++ran;
    if (k < 3000) flow.fulfill(k + 1);
  });
  flow.fulfill(1);
  runtime.wait();
  EXPECT_EQ(ran, 3000);
}

TEST(Wake, AWorkerForATaskFromOutside) {
  Runtime runtime({.workers = 2, .spin = 0ns});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 0; }).worker([](int) { return 1; }).run([&](int) { ++ran; });
  for (int n = 1; n <= 50; ++n) {
    std::this_thread::sleep_for(1ms);
    flow.fulfill(n);
    ASSERT_TRUE(soon([&] { return ran == n; }));
  }
}

TEST(Wake, ACallerForATaskFromOutsideAndForTheEnd) {
  for (int n = 0; n < 50; ++n) {
    Runtime runtime({.workers = 2, .spin = 0ns});
    Taskflow<int> flow(runtime);
    std::atomic<int> ran{0};
    flow.indegree([](int) { return 0; }).worker([](int k) { return k; }).run([&](int) { ++ran; });
    auto hold = std::make_unique<Runtime::Hold>(runtime.hold());
    std::atomic<bool> ended{false};
    std::jthread caller([&] { runtime.wait(), ended = true; });
    std::this_thread::sleep_for(1ms);
    flow.fulfill(n % 2);
    ASSERT_TRUE(soon([&] { return ran == 1; }));
    EXPECT_FALSE(ended);
    hold.reset();
    ASSERT_TRUE(soon([&] { return ended.load(); }));
  }
}

TEST(Wake, AThiefWhenAWorkerHasMoreThanItCanDo) {
  Runtime runtime({.workers = 2, .spin = 0ns});
  Taskflow<int> flow(runtime);
  std::atomic<int> at_once{0};
  std::atomic<bool> met{false};
  flow.indegree([](int) { return 0; }).worker([](int) { return 0; }).run([&](int) {
    ++at_once;
    for (const auto until = Clock::now() + 5s; !met && Clock::now() < until; std::this_thread::yield())
      if (at_once == 2) met = true;
    --at_once;
  });
  std::this_thread::sleep_for(20ms);
  for (int k = 0; k < 4; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_TRUE(met) << "no two tasks ran at once";
}

}  // namespace
}  // namespace taskgrain::rt
