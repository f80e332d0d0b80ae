/// Several graphs and a Taskflow on the same workers at once.

#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>
#include <vector>

#include "policies.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

/// Tasks on all workers, each after those of all workers in the step before; every task counts.
TaskGraph all_to_all(int workers, int steps, std::atomic<int>& count) {
  TaskGraph tasks;
  std::vector<TaskGraph::Node> row, last;
  for (int step = 0; step < steps; ++step) {
    last.swap(row);
    row.clear();
    for (int w = 0; w < workers; ++w)
      row.push_back(tasks.task(w, [&count] { count.fetch_add(1, std::memory_order_relaxed); }));
    for (const auto from : last)
      for (const auto to : row) tasks.edge(from, to);
  }
  return tasks;
}

class Together : public testing::TestWithParam<std::tuple<Policy, Policy>> {
 protected:
  static constexpr int workers = 3, steps = 20;

  Policy one() const { return std::get<0>(GetParam()); }
  Policy other() const { return std::get<1>(GetParam()); }

  Runtime runtime_{{.workers = workers, .pin = false, .spin = 50us}};
  std::atomic<int> count_{0};
};

/// Each worker sees the starts of the two graphs in an order of its own.
TEST_P(Together, LaunchedInOppositeOrders) {
  CompiledGraph first(runtime_, all_to_all(workers, steps, count_), one());
  CompiledGraph second(runtime_, all_to_all(workers, steps, count_), other());
  for (std::int64_t round = 0; round < rounds(100); ++round) {
    count_ = 0;
    std::thread outside([&, hold = runtime_.hold()] { second.launch({.iterations = 2}); });
    first.launch({.iterations = 2});
    if (round % 2 == 0) runtime_.wait();
    second.launch();
    first.launch();
    runtime_.wait();
    outside.join();
    EXPECT_EQ(count_.load(), workers * steps * 6);
  }
}

TEST_P(Together, WithATaskflow) {
  CompiledGraph first(runtime_, all_to_all(workers, steps, count_), one());
  CompiledGraph second(runtime_, all_to_all(workers, steps, count_), other());
  constexpr int length = 200;
  Taskflow<int> flow(runtime_, "chain");
  std::atomic<int> links{0};
  // Chains that go round the workers, and launch the graphs on their way.
  flow.indegree([](int) { return 1; }).worker([](int k) { return k % workers; }).run([&](int k) {
    links.fetch_add(1, std::memory_order_relaxed);
    if (k % 50 == 7) first.launch();
    if (k % 50 == 9) second.launch({.iterations = 2});
    if (k % length + 1 < length) flow.fulfill(k + 1);
  });
  for (std::int64_t round = 0; round < rounds(20); ++round) {
    count_ = 0;
    links = 0;
    for (int chain = 0; chain < 4; ++chain) flow.fulfill(chain * length);
    first.launch({.iterations = 4});
    second.launch();
    runtime_.wait();
    EXPECT_EQ(links.load(), 4 * length);
    EXPECT_EQ(count_.load(), workers * steps * (4 + 1 + 16 + 32));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Together, testing::Combine(every_policy, every_policy), [](const auto& test) {
  return policy_name({std::get<0>(test.param), 0}) + "And" + policy_name({std::get<1>(test.param), 0});
});

}  // namespace
}  // namespace taskgrain::rt
