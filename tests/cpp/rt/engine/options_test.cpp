/// The options of a runtime: what is left open, and what is refused by name and value.

#include <gmock/gmock.h>
#include <sched.h>

#include <chrono>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "engine/cgroups.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

template <typename... Words>
void expect_refused(const RuntimeOptions& options, const Words&... words) {
  EXPECT_THAT([&] { Runtime runtime(options); }, ThrowsMessage<UsageError>(testing::AllOf(HasSubstr(words)...)));
}

int first_processor() { return usable_cores().front().front(); }

TEST(Options, AreOneWorkerForEachCoreWhenNothingIsSaid) {
  const Runtime runtime;
  // A quota may allow fewer.
  EXPECT_EQ(runtime.workers(), detail::workers_for(usable_cores().size(), detail::cpu_quota()));
  EXPECT_EQ(runtime.cores().size(), static_cast<std::size_t>(runtime.workers()));
  EXPECT_EQ(runtime.options().workers, runtime.workers());
}

TEST(Options, NumberTheWorkers) {
  for (const int workers : {1, 2, 3, 7, 40}) {
    const Runtime runtime({.workers = workers});
    EXPECT_EQ(runtime.workers(), workers);
    EXPECT_EQ(runtime.cores().size(), static_cast<std::size_t>(workers));
  }
}

TEST(Options, SpreadWorkersOverAllProcessorsBeforeTheyShareOne) {
  std::size_t processors = 0;
  for (const auto& core : usable_cores()) processors += core.size();
  const Runtime runtime({.workers = static_cast<int>(2 * processors)});
  const std::vector<int>& cores = runtime.cores();
  const auto half = cores.begin() + static_cast<std::ptrdiff_t>(processors);
  EXPECT_EQ(std::set<int>(cores.begin(), half).size(), processors);
  EXPECT_EQ(std::vector<int>(half, cores.end()), std::vector<int>(cores.begin(), half));
}

TEST(Options, ChooseTheProcessors) {
  const int processor = usable_cores().back().back();
  Runtime runtime({.cores = {processor, processor}});
  ASSERT_EQ(runtime.workers(), 2);
  std::vector<int> ran_on(2, -1);
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).worker([](int k) { return k; }).bound([](int) { return true; });
  flow.run([&](int k) { ran_on[static_cast<std::size_t>(k)] = sched_getcpu(); });
  for (const int k : {0, 1}) flow.fulfill(k);
  runtime.wait();
  EXPECT_THAT(ran_on, testing::Each(processor));
}

TEST(Options, MayLeaveThreadsUnbound) {
  cpu_set_t before, during;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  Runtime runtime({.workers = 1, .pin = false});
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).run([&](int) { sched_getaffinity(0, sizeof during, &during); });
  flow.fulfill(0);
  runtime.wait();
  EXPECT_TRUE(CPU_EQUAL(&before, &during));
}

/// The processors of each worker's thread.
std::vector<int> numbers_of_processors(Runtime& runtime) {
  return runtime.on_each_worker([](int) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
  });
}

TEST(Options, BindWorkersThatHaveAllCoresOrAreToldWhere) {
  const auto cores = usable_cores();
  Runtime all({.workers = static_cast<int>(cores.size())}), chosen({.cores = {first_processor()}});
  EXPECT_TRUE(all.options().pin && chosen.options().pin);
  EXPECT_THAT(numbers_of_processors(all), testing::Each(1));
  EXPECT_THAT(numbers_of_processors(chosen), testing::Each(1));
  if (cores.size() == 1) GTEST_SKIP() << "needs two cores";
  // Others that have fewer may have chosen the same.
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  Runtime fewer({.workers = static_cast<int>(cores.size()) - 1});
  EXPECT_FALSE(fewer.options().pin);
  EXPECT_THAT(numbers_of_processors(fewer), testing::Each(CPU_COUNT(&before)));
}

TEST(Options, OfAStackThatCannotBe) {
  expect_refused({.stack_bytes = 100}, "stack_bytes is 100, allowed are 0 and");
  EXPECT_THAT([] { Runtime({.workers = 2, .stack_bytes = std::size_t{1} << 60}); },
              ThrowsMessage<std::system_error>(HasSubstr("cannot start the thread of a worker")));
}

TEST(Options, GiveTheCallerItsProcessorsBack) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    Runtime runtime({.workers = 2});
    runtime.wait();
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Options, OfANumberOfWorkersThatCannotBe) {
  expect_refused({.workers = -1}, "workers", "-1", "allowed are 0 to");
  expect_refused({.workers = 1'000'000}, "workers", "1000000", "allowed are 0 to");
}

TEST(Options, OfMoreProcessorsThanWorkersThereCanBe) {
  expect_refused({.cores = std::vector<int>(100'000, first_processor())}, "100000", "allowed are 0 to");
}

TEST(Options, OfASpinThatCannotBe) { expect_refused({.spin = -5ns}, "spin", "-5"); }

TEST(Options, OfWorkersAndProcessorsThatDisagree) {
  expect_refused({.workers = 3, .cores = {first_processor()}}, "cores names 1", "3 workers");
}

TEST(Options, OfProcessorsThatCannotBeHad) {
  expect_refused({.cores = {first_processor(), 99'999}}, "cores", "99999",
                 "may use " + std::to_string(first_processor()));
  expect_refused({.cores = {99'999}}, "cores", "99999");
  expect_refused({.cores = {first_processor(), -1}}, "cores", "-1");
}

TEST(Options, ThatAreRefusedLeaveNothingBehind) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  for (int n = 0; n < 20; ++n) {
    expect_refused({.cores = {first_processor(), first_processor(), 99'999}}, "99999");
    const Runtime works({.workers = 2});
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace taskgrain::rt
