/// Graphs that cannot end: what is missing or too much is named, with counts, instead of waited for.

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// What `wait` finds stuck, as "name key fulfilled/indegree", in order.
std::vector<std::string> stuck_in(Runtime& runtime) {
  std::vector<std::string> found;
  try {
    runtime.wait();
  } catch (const Stuck& stuck) {
    for (const StuckTask& task : stuck.tasks())
      found.push_back(task.task + " " + std::to_string(task.fulfilled) + "/" + std::to_string(task.indegree));
    EXPECT_GE(stuck.total(), stuck.tasks().size());
  }
  std::ranges::sort(found);
  return found;
}

TEST(Stuck, NamesTasksThatWereFulfilledTooSeldom) {
  for (const int workers : {1, 2, 5}) {
    Runtime runtime({.workers = workers});
    Taskflow<int> flow(runtime, "sum");
    int ran = 0;
    flow.indegree([](int k) { return k; }).run([&](int) { ++ran; });
    flow.fulfill(3);
    for (int n = 0; n < 4; ++n) flow.fulfill(5);
    flow.fulfill(1);
    EXPECT_THAT(stuck_in(runtime), testing::ElementsAre("sum 3 1/3", "sum 5 4/5"));
    EXPECT_EQ(ran, 1);
  }
}

TEST(Stuck, SaysItInWords) {
  Runtime runtime({.workers = 2});
  Taskflow<std::string> flow(runtime, "sum");
  flow.indegree([](const std::string&) { return 3; }).run([](const std::string&) {});
  flow.fulfill("left");
  EXPECT_THAT([&] { runtime.wait(); },
              ThrowsMessage<Stuck>(AllOf(HasSubstr("1 task waits for ever"), HasSubstr("Runtime::hold"),
                                         HasSubstr("sum left: fulfilled 1 of 3 times"))));
  for (int k = 0; k < 50; ++k) flow.fulfill(std::to_string(k));
  EXPECT_THAT([&] { runtime.wait(); },
              ThrowsMessage<Stuck>(
                  AllOf(HasSubstr("50 tasks wait for ever"), HasSubstr("fulfilled 1 of 3"), HasSubstr("and 40 more"))));
}

TEST(Stuck, NamesTheTasksOfACycle) {
  // 0 → 1 → 2 → 3 → 1
  Runtime runtime({.workers = 3});
  Taskflow<int> flow(runtime, "ring");
  std::atomic<int> ran{0};
  flow.indegree([](int k) { return k == 1   ? 2
                                   : k == 0 ? 0
                                            : 1; }).run([&](int k) {
    ++ran;
    flow.fulfill(k == 3 ? 1 : k + 1);
  });
  flow.fulfill(0);
  EXPECT_THAT(stuck_in(runtime), testing::ElementsAre("ring 1 1/2"));
  EXPECT_EQ(ran, 1);
}

TEST(Stuck, NamesTasksOfAllFlows) {
  Runtime runtime({.workers = 2});
  Taskflow<int> one(runtime, "one");
  Taskflow<std::string> two(runtime, "two");
  one.indegree([](int) { return 2; }).run([](int) {});
  two.indegree([](const std::string&) { return 4; }).run([](const std::string&) {});
  one.fulfill(1);
  two.fulfill("a");
  two.fulfill("a");
  EXPECT_THAT(stuck_in(runtime), testing::ElementsAre("one 1 1/2", "two a 2/4"));
}

TEST(Stuck, NamesATaskThatWasFulfilledAgainAfterItRan) {
  Runtime runtime({.workers = 2, .check = false});
  Taskflow<int> flow(runtime, "once");
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 2; }).run([&](int) { ++ran; });
  for (int n = 0; n < 3; ++n) flow.fulfill(8);
  EXPECT_THAT(stuck_in(runtime), testing::ElementsAre("once 8 1/2"));
  EXPECT_EQ(ran, 1);
}

TEST(Stuck, LeavesARuntimeThatWorks) {
  Runtime runtime({.workers = 3, .check = false});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  flow.indegree([](int) { return 2; }).run([&](int) { ++ran; });
  for (int n = 1; n <= 100; ++n) {
    flow.fulfill(1);
    EXPECT_THROW(runtime.wait(), Stuck);
    flow.fulfill(1);
    flow.fulfill(1);
    runtime.wait();
    EXPECT_EQ(ran, n) << "the fulfilment of the stuck run was kept";
  }
}

TEST(Stuck, IsAsManyAsAreStuck) {
  Runtime runtime({.workers = 2});
  Taskflow<std::string> flow(runtime);
  flow.indegree([](const std::string&) { return 2; }).run([](const std::string&) {});
  const std::int64_t many = rounds(100'000) + 10;
  for (std::int64_t k = 0; k < many; ++k)
    flow.fulfill("a key that is too long for a small string " + std::to_string(k));
  EXPECT_THAT([&] { runtime.wait(); },
              testing::Throws<Stuck>(testing::AllOf(testing::Property(&Stuck::total, static_cast<std::size_t>(many)),
                                                    testing::Property(&Stuck::tasks, testing::SizeIs(10)))));
}

TEST(Check, FindsTooManyFulfilmentsAtOnce) {
  for (const int indegree : {0, 1, 2, 5})
    for (const int workers : {1, 2}) {
      Runtime runtime({.workers = workers, .check = true});
      Taskflow<int> flow(runtime, "once");
      flow.indegree([=](int) { return indegree; }).run([](int) {});
      for (int n = 0; n < std::max(1, indegree) + 1; ++n) flow.fulfill(8);
      EXPECT_THAT([&] { runtime.wait(); },
                  ThrowsMessage<TaskFailed>(AllOf(HasSubstr(
                      "once 8 was fulfilled more often than its indegree, which is " + std::to_string(indegree)))));
    }
}

TEST(Check, FindsTheTaskThatFulfilledTooOften) {
  Runtime runtime({.workers = 1, .check = true});
  Taskflow<int> flow(runtime, "task");
  flow.indegree([](int k) { return k == 0 ? 0 : 2; }).run([&](int k) {
    if (k == 0)
      for (int n = 0; n < 3; ++n) flow.fulfill(1);
  });
  flow.fulfill(0);
  EXPECT_THAT([&] { runtime.wait(); }, ThrowsMessage<TaskFailed>(AllOf(HasSubstr("task 0 failed"),
                                                                       HasSubstr("task 1 was fulfilled more often"))));
}

TEST(Check, BeginsAnewWithEachRun) {
  Runtime runtime({.workers = 2, .check = true});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  std::atomic<bool> fails{false};
  flow.indegree([](int) { return 1; }).run([&](int) {
    ++ran;
    if (fails) throw std::runtime_error("as told");
  });
  for (int n = 1; n <= 10; ++n) {
    fails = n % 2 == 0;
    flow.fulfill(1);
    if (fails)
      EXPECT_THAT([&] { runtime.wait(); }, ThrowsMessage<TaskFailed>(HasSubstr("as told")));
    else
      runtime.wait();
    EXPECT_EQ(ran, n);
  }
}

TEST(Holds, OfOneFlowLeaveOthersAlone) {
  for (const int workers : {1, 3}) {
    Runtime runtime({.workers = workers});
    Taskflow<int> held(runtime, "held"), stuck(runtime, "stuck"), whole(runtime, "whole");
    int ran = 0;
    for (Taskflow<int>* flow : {&held, &stuck}) flow->indegree([](int) { return 2; });
    held.run([&](int) { ++ran; });
    stuck.run([](int) {});
    whole.indegree([](int) { return 1; }).run([](int) {});
    std::optional<Runtime::Hold> hold(held.hold());
    stuck.fulfill(7);
    EXPECT_THROW(stuck.wait(), Stuck);
    held.fulfill(1);
    whole.fulfill(1);
    whole.wait();
    std::jthread outside([&] {
      held.fulfill(1);
      hold.reset();
    });
    held.wait();
    EXPECT_EQ(ran, 1);
    outside.join();
    hold.emplace(held.hold());
    held.fulfill(2);
    outside = std::jthread([&] {
      held.fulfill(2);
      hold.reset();
    });
    runtime.wait();
    EXPECT_EQ(ran, 2);
    held.fulfill(3);
    EXPECT_THROW(held.wait(), Stuck);
  }
}

}  // namespace
}  // namespace taskgrain::rt
