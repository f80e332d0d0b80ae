/// Parametrised task graphs: dependences few and many, several flows, tasks on their workers, bursts, and what fulfills
/// from outside.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

static_assert(!std::is_base_of_v<detail::Handler, Taskflow<int>>, "users would see what the engine asks of a flow");

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

TEST(Taskflow, SpreadsTasksOverAllWorkersUnlessTold) {
  Runtime runtime({.workers = 3});
  std::vector<std::atomic<int>> of_worker(3);
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).bound([](int) { return true; }).run([&](int) {
    ++of_worker[at(this_worker())];
  });
  for (int k = 0; k < 3000; ++k) flow.fulfill(k);
  runtime.wait();
  for (const auto& count : of_worker) EXPECT_NEAR(count, 1000, 250);
}

TEST(Taskflow, RunsBoundTasksOnTheirWorkerAlone) {
  Runtime runtime({.workers = 4});
  std::atomic<int> made{5000}, ran{0}, elsewhere{0}, stolen{0};
  const auto too_late = hang();
  Taskflow<std::int64_t> flow(runtime);
  flow.indegree([](auto) { return 0; })
      .worker([](auto k) { return static_cast<int>(k % 2); })  // workers 2 and 3 live on theft
      .bound([](auto k) { return k % 3 != 0; })
      .run([&](std::int64_t k) {
        ++ran;
        if (this_worker() != k % 2) ++(k % 3 == 0 ? stolen : elsewhere);
        if (stolen == 0 && std::chrono::steady_clock::now() < too_late)
          ++made, flow.fulfill(k + 6000);  // there are more until one is stolen
      });
  for (int k = 0; k < 5000; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_EQ(ran, made);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_GT(stolen, 0);
}

/// A burst of tasks, all fulfilled by one task or thread before any of them can end.
class Burst {
 public:
  const int tasks = static_cast<int>(rounds(1'000'000));

  Burst(Runtime& runtime, detail::Function<int, int> worker) : ran_(at(tasks)), burst_(runtime, "burst") {
    burst_.indegree([](int) { return 0; }).worker(std::move(worker)).run([this](int k) { ++ran_[at(k)]; });
  }
  void fulfill_all() {
    for (int k = 0; k < tasks; ++k) burst_.fulfill(k);
  }
  std::int64_t ran() const { return std::ranges::count(ran_, 1); }
  void expect_each_ran_once() const { EXPECT_EQ(ran(), tasks); }

 private:
  std::vector<std::uint8_t> ran_;
  Taskflow<int> burst_;
};

TEST(Burst, FromATaskOverAllWorkers) {
  for (const int workers : {1, 2, 3}) {
    Runtime runtime({.workers = workers});
    Burst burst(runtime, [=](int k) { return k % workers; });
    Taskflow<int> start(runtime, "start");
    start.indegree([](int) { return 0; }).run([&](int) { burst.fulfill_all(); });
    start.fulfill(0);
    runtime.wait();
    burst.expect_each_ran_once();
  }
}

TEST(Burst, FromAWorkerWhoseTasksGoOnWhileTheOtherIsBusy) {
  // Messages wait for room in the mailbox of a worker that is in a long task. The sender's other tasks do not wait with
  // them.
  Runtime runtime({.workers = 2});
  Burst burst(runtime, [](int) { return 1; });
  std::atomic<bool> at_work{false}, chained{false};
  Taskflow<int> busy(runtime, "busy"), start(runtime, "start"), chain(runtime, "chain");
  const auto bound_to = [](auto& flow, int worker) {
    flow.indegree([](int) { return 0; }).worker([=](int) { return worker; }).bound([](int) { return true; });
  };
  bound_to(busy, 1);
  bound_to(start, 0);
  bound_to(chain, 0);
  constexpr int links = 20'000;
  busy.run([&](int) {
    at_work = true;
    while (!chained) std::this_thread::yield();
  });
  start.run([&](int) {
    burst.fulfill_all();
    chain.fulfill(1);
  });
  std::int64_t ran_before = -1;
  chain.run([&](int k) {
    if (k < links) return chain.fulfill(k + 1);
    ran_before = burst.ran();
    chained = true;
  });
  busy.fulfill(0);
  while (!at_work) std::this_thread::yield();
  start.fulfill(0);
  runtime.wait();
  EXPECT_EQ(ran_before, 0) << "the chain did not end while the messages waited";
  burst.expect_each_ran_once();
}

TEST(Burst, FromOutside) {
  Runtime runtime({.workers = 3});
  Burst burst(runtime, [](int k) { return k % 3; });
  burst.fulfill_all();
  runtime.wait();
  burst.expect_each_ran_once();
}

TEST(Outside, AHoldKeepsTheCallerWaiting) {
  Runtime runtime({.workers = 2});
  bool ran = false;
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).run([&](int) { ran = true; });
  std::jthread outside([&, hold = runtime.hold()] {
    std::this_thread::sleep_for(50ms);
    flow.fulfill(1);
  });
  runtime.wait();
  EXPECT_TRUE(ran);
}

TEST(Outside, AHoldMayBeHandedOn) {
  // Tasks start something outside and end; what comes back fulfills the next task.
  Runtime runtime({.workers = 3, .spin = 0ns});
  std::atomic<int> ran{0};
  std::vector<std::jthread> outside(500);
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 1; }).worker([](int k) { return k % 3; }).bound([](int) { return true; });
  flow.run([&](int k) {
    if (++ran == 500) return;
    outside[at(k)] = std::jthread([&flow, k, hold = runtime.hold()] { flow.fulfill(k + 1); });
  });
  flow.fulfill(0);
  runtime.wait();
  EXPECT_EQ(ran, 500);
}

TEST(Misuse, OfAFunctionThatWasNotSetIsNamed) {
  Runtime runtime({.workers = 2});
  {
    Taskflow<int> flow(runtime, "half");
    flow.run([](int) {});
    flow.fulfill(7);
    EXPECT_THAT([&] { runtime.wait(); },
                ThrowsMessage<TaskFailed>(testing::AllOf(HasSubstr("half 7"), HasSubstr("indegree is not set"))));
  }
  {
    Taskflow<int> flow(runtime, "other half");
    flow.indegree([](int) { return 0; });
    flow.fulfill(8);
    EXPECT_THAT([&] { runtime.wait(); },
                ThrowsMessage<TaskFailed>(testing::AllOf(HasSubstr("other half 8"), HasSubstr("run is not set"))));
  }
}

TEST(Misuse, OfAWorkerThatIsNoneIsSeenWhereItHappens) {
  Runtime runtime({.workers = 2});
  Taskflow<std::tuple<int, int>> flow(runtime, "lost");
  flow.indegree([](const auto&) { return 0; }).run([](const auto&) {}).worker([](const auto& key) {
    return std::get<1>(key);
  });
  for (const int worker : {-1, 2, 1'000'000})
    EXPECT_THAT([&] { flow.fulfill({7, worker}); },
                ThrowsMessage<UsageError>(testing::AllOf(HasSubstr("lost (7, " + std::to_string(worker) + ")"),
                                                         HasSubstr("worker is " + std::to_string(worker)),
                                                         HasSubstr("0 to 1"))));
  flow.fulfill({7, 1});
  runtime.wait();
  Taskflow<int> sender(runtime, "sender");
  sender.indegree([](int) { return 0; }).run([&](int) { flow.fulfill({8, 9}); });
  sender.fulfill(3);
  EXPECT_THAT([&] { runtime.wait(); },
              ThrowsMessage<TaskFailed>(testing::AllOf(HasSubstr("sender 3"), HasSubstr("lost (8, 9): worker is 9"))));
}

TEST(Misuse, OfANegativeIndegreeNamesTheTask) {
  Runtime runtime({.workers = 3});
  Taskflow<int> flow(runtime, "negative");
  flow.indegree([](int k) { return -k; }).run([](int) {});
  for (const int k : {1, 2, 3}) {
    flow.fulfill(k);
    EXPECT_THAT([&] { runtime.wait(); },
                ThrowsMessage<TaskFailed>(testing::AllOf(HasSubstr("negative " + std::to_string(k)),
                                                         HasSubstr("indegree is " + std::to_string(-k)))));
  }
}

TEST(Misuse, IsFoundAfterTheEventOfAFlowUntilAWaitForTheFlow) {
  Runtime runtime({.workers = 2, .check = true});
  Taskflow<int> flow(runtime, "flow");
  int ran = 0;
  flow.indegree([](int) { return 1; }).worker([](int) { return 1; }).run([&](int) { ++ran; });
  for (const int key : {1, 2}) {
    flow.fulfill(key);
    runtime.wait(flow.done());
    EXPECT_EQ(ran, key);
  }
  flow.fulfill(1);
  EXPECT_THAT([&] { runtime.wait(flow.done()); },
              ThrowsMessage<TaskFailed>(HasSubstr("flow 1 was fulfilled more often")));
  EXPECT_NO_THROW(flow.wait());
  flow.fulfill(1);
  EXPECT_NO_THROW(runtime.wait(flow.done()));
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace taskgrain::rt
