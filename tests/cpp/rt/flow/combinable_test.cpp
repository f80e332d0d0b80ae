/// What tasks compute together, on workers of one process.

#include "taskgrain/rt/combinable.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "rt/stress.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Combined : public testing::TestWithParam<int> {
 protected:
  /// Runs task(k) for each k below `tasks`, on any worker.
  template <typename Task>
  void run(int tasks, const Task& task) {
    Taskflow<int> flow(runtime);
    flow.indegree([](int) { return 1; }).run(task);
    for (int k = 0; k < tasks; ++k) flow.fulfill(k);
    runtime.wait();
  }
  Runtime runtime{{.workers = GetParam(), .pin = false}};
};
INSTANTIATE_TEST_SUITE_P(OfWorkers, Combined, testing::Range(1, 6), testing::PrintToStringParamName());

TEST_P(Combined, ValuesOfWorkersAreThoseOfAllTasks) {
  const int tasks = static_cast<int>(rounds(5000));
  Combinable<long> sum(runtime);
  Combinable<int> least(runtime, tasks);
  run(tasks, [&](int k) {
    sum.local() += k;
    least.local() = std::min(least.local(), k + 7);
  });
  EXPECT_EQ(sum.combine(), static_cast<long>(tasks) * (tasks - 1) / 2);
  EXPECT_EQ(least.combine(std::ranges::min), 7);
  sum.clear();
  EXPECT_EQ(sum.combine(), 0);
  least.clear();
  EXPECT_EQ(least.combine(std::ranges::max), tasks);
}

TEST_P(Combined, ValuesAreInTheOrderOfWorkers) {
  Combinable<std::string> names(runtime);
  runtime.on_each_worker([&](int worker) { names.local() = std::to_string(worker); });
  EXPECT_EQ(names.combine(), std::string("01234").substr(0, static_cast<std::size_t>(runtime.workers())));
  if (runtime.workers() == 1) return;  // then nothing is combined
  EXPECT_THROW(names.combine([](auto, auto) -> std::string { throw std::runtime_error("bad"); }), std::runtime_error);
}

TEST_P(Combined, ValuesByKeyHaveTheSameBitsWithAnyNumberOfWorkers) {
  const int tasks = static_cast<int>(rounds(2000));
  const auto value = [](int k) { return 1.0 / static_cast<double>(1 + mixed(static_cast<std::uint64_t>(k)) % 1009); };
  double expected = value(0);
  for (int k = 1; k < tasks; ++k) expected += value(k);
  Collector<int, double> values(runtime);
  run(tasks, values.collect(value));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(values.reduce()), std::bit_cast<std::uint64_t>(expected));
  EXPECT_EQ(values.reduce(), 0.0) << "they have been taken out";
  run(3, values.collect([](int k) { return k - 9.0; }));
  EXPECT_EQ(values.reduce(std::ranges::max), -7.0);
  run(3, values.collect(value));
  values.clear();
  EXPECT_TRUE(values.take().empty());
}

TEST_P(Combined, ValuesByKeyMayBeOfAnyType) {
  Collector<std::pair<int, int>, std::string> values(runtime);
  run(100, [&](int k) { values.add({k % 10, k / 10}, std::to_string(k)); });
  int last = -1;
  for (const auto& [key, value] : values.take()) {
    EXPECT_EQ(value, std::to_string(key.first + 10 * key.second));
    EXPECT_GT(key.first * 10 + key.second, last);
    last = key.first * 10 + key.second;
  }
  EXPECT_EQ(last, 99);
}

TEST_P(Combined, ValuesByKeyAreOneForEachKey) {
  Collector<int, int> values(runtime);
  run(10, [&](int k) { values.add(k / 2, k); });
  EXPECT_THAT([&] { values.take(); }, ThrowsMessage<UsageError>(HasSubstr("two values of a Collector have one key")));
}

TEST_P(Combined, ValuesAreThoseOfWorkersOnly) {
  Combinable<int> sum(runtime);
  EXPECT_THAT([&] { sum.local(); }, ThrowsMessage<UsageError>(HasSubstr("this thread is none")));
  run(1, [&](int) {
    Runtime inner({.workers = 1});  // whose worker has a number that the outer one has, too
    inner.on_each_worker([&](int) { EXPECT_THROW(sum.local(), UsageError); });
    sum.local() = 1;
  });
  EXPECT_EQ(sum.combine(), 1);
}

}  // namespace
}  // namespace taskgrain::rt
