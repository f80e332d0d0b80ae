/// Priorities: among the tasks of a worker that are ready, the higher run first, whoever else could take them.

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::ElementsAre;

/// The order in which worker 0 runs tasks that become ready together, `priorities[k]` that of task k. The other workers
/// are busy.
class Sorted {
 public:
  explicit Sorted(int workers) : runtime_({.workers = workers}) {}

  std::vector<int> of(
      const std::vector<int>& priorities, const std::function<bool(int)>& bound = [](int) { return false; }) {
    std::vector<int> order;
    std::atomic<int> busy{0};
    std::atomic<bool> done{false};
    Taskflow<int> others(runtime_, "others"), start(runtime_, "start"), flow(runtime_, "flow");
    others.indegree([](int) { return 0; }).worker([](int k) { return k; }).bound([](int) { return true; });
    others.run([&](int) {
      ++busy;
      while (!done) std::this_thread::yield();
    });
    for (int k = 1; k < runtime_.workers(); ++k) others.fulfill(k);
    while (busy < runtime_.workers() - 1) std::this_thread::yield();

    start.indegree([](int) { return 0; }).worker([](int) { return 0; }).bound([](int) { return true; });
    start.run([&](int) {
      for (int k = 0; k < static_cast<int>(priorities.size()); ++k) flow.fulfill(k);
    });
    flow.indegree([](int) { return 0; }).worker([](int) { return 0; }).bound(bound);
    flow.priority([&](int k) { return priorities[static_cast<std::size_t>(k)]; });
    flow.run([&](int k) {
      order.push_back(k);
      if (order.size() == priorities.size()) done = true;
    });
    start.fulfill(0);
    runtime_.wait();
    return order;
  }

 private:
  Runtime runtime_;
};

TEST(Priority, OrdersTheTasksOfOneWorker) {
  Sorted order(1);
  EXPECT_THAT(order.of({1, 5, 3, -2, 9}), ElementsAre(4, 1, 2, 0, 3));
  EXPECT_THAT(order.of({2, 2, 2}), ElementsAre(0, 1, 2)) << "the oldest of a priority other than 0";
  EXPECT_THAT(order.of({0, 0, 0}), ElementsAre(2, 1, 0)) << "the newest of priority 0";
}

TEST(Priority, OrdersRandomTasksBoundOrNot) {
  Sorted of_two(2), of_four(4);
  std::mt19937 random(5);
  for (int n = 0; n < 50; ++n) {
    Sorted& order = n % 2 == 0 ? of_two : of_four;
    std::vector<int> priorities(1 + random() % 200);
    for (int& priority : priorities) priority = static_cast<int>(random() % 9) - 4;
    const std::vector<int> ran = order.of(priorities, [n](int k) { return k % 3 < n % 3; });
    ASSERT_EQ(ran.size(), priorities.size());
    std::vector<int> of_ran;
    for (const int k : ran) of_ran.push_back(priorities[static_cast<std::size_t>(k)]);
    EXPECT_TRUE(std::ranges::is_sorted(of_ran, std::greater())) << testing::PrintToString(of_ran);
  }
}

TEST(Priority, IsThatOfTheTimeWhenTasksBecomeReady) {
  // A task of low priority makes one of high priority, which comes before all that waits.
  Runtime runtime({.workers = 1});
  std::vector<int> order;
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).priority([](int k) { return k; });
  flow.run([&](int k) {
    order.push_back(k);
    if (k == 3) flow.fulfill(10);
  });
  for (const int k : {1, 2, 3}) flow.fulfill(k);
  runtime.wait();
  EXPECT_THAT(order, ElementsAre(3, 10, 2, 1));
}

TEST(Priority, DoesNotKeepThievesFromTheirShare) {
  // All tasks are one worker's. Each makes another one, until every thief has had one.
  Runtime runtime({.workers = 4});
  std::atomic<unsigned> thieves{0};  // a bit for each
  const auto too_late = hang();
  Taskflow<std::int64_t> flow(runtime);
  flow.indegree([](auto) { return 0; }).worker([](auto) { return 0; }).priority([](auto k) {
    return static_cast<int>(1 + k % 5);
  });
  flow.run([&](std::int64_t k) {
    if (this_worker() != 0) thieves |= 1U << this_worker();
    if (thieves != 0b1110 && std::chrono::steady_clock::now() < too_late) flow.fulfill(k + 100);
    std::this_thread::yield();
  });
  for (int k = 0; k < 100; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_EQ(thieves, 0b1110U) << "some thief never had a task";
}

}  // namespace
}  // namespace taskgrain::rt
