/// Processors: which there are, which are near each other, and that threads run where they were bound.

#include "taskgrain/rt/cores.hpp"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <set>
#include <vector>

#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Those that the calling thread may run on.
std::set<int> allowed() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<int> processors;
  for (int k = 0; k < CPU_SETSIZE; ++k)
    if (CPU_ISSET(k, &set)) processors.insert(k);
  return processors;
}

std::vector<int> all_usable() {
  std::vector<int> all;
  for (const auto& core : usable_cores()) all.insert(all.end(), core.begin(), core.end());
  return all;
}

TEST(Cores, AreThoseThatTheProcessMayUse) {
  const auto cores = usable_cores();
  ASSERT_FALSE(cores.empty());
  for (const auto& core : cores) EXPECT_FALSE(core.empty());
  const std::vector<int> all = all_usable();
  const std::set<int> different(all.begin(), all.end());
  EXPECT_EQ(different.size(), all.size()) << "a processor of two cores";
  EXPECT_EQ(different, allowed());
}

TEST(Cores, AreFewerWhereTheProcessMayUseFewer) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int last = *allowed().rbegin();
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_THAT(usable_cores(), ElementsAre(ElementsAre(last)));
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

/// hwloc reads its variables when the first runtime begins, so each of these is a process of its own.
TEST(CoresDeathTest, AreThoseOfThisMachineWhateverHwlocIsToldOfAnother) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ends_well_with = [](const char* variable, const char* value) {
    setenv(variable, value, 1);
    const std::vector<int> all = all_usable();
    const bool same = std::set<int>(all.begin(), all.end()) == allowed() && usable_cores().size() == all.size();
    const int last = all.back();
    const Pinned pinned(last);
    std::exit(same && allowed() == std::set{last} ? 0 : 1);
  };
  for (const char* value : {"package:2 core:8 pu:2", "pu:1"})
    EXPECT_EXIT(ends_well_with("HWLOC_SYNTHETIC", value), testing::ExitedWithCode(0), "describes another machine");
  EXPECT_EXIT(ends_well_with("HWLOC_COMPONENTS", "no_os,stop"), testing::ExitedWithCode(0), "");
}

/// As lxcfs does in a container. hwloc reads the list once, so each is a process of its own.
TEST(CoresDeathTest, CountByTheMaskWhereAContainerListsOthersAsOnline) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) GTEST_SKIP() << "may not mount";
  const auto ends_well_with = [](const char* online) {
    char file[] = "/tmp/taskgrain-online-XXXXXX";
    const int made = mkstemp(file);
    const bool listed = write(made, online, strlen(online)) > 0 && unshare(CLONE_NEWNS) == 0 &&
                        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        mount(file, "/sys/devices/system/cpu/online", nullptr, MS_BIND, nullptr) == 0;
    unlink(file);
    const std::set<int> mask = allowed();
    const std::vector<int> all = all_usable();
    Runtime runtime;
    const auto where = runtime.on_each_worker([](int) { return allowed(); });
    const std::set<std::set<int>> different(where.begin(), where.end());
    const bool same = std::set<int>(all.begin(), all.end()) == mask && different.size() == usable_cores().size();
    const Pinned pinned(*mask.rbegin());
    std::exit(listed && same && allowed() == std::set{*mask.rbegin()} ? 0 : 1);
  };
  for (const char* online : {"0\n", "4000-4001\n"})
    EXPECT_EXIT(ends_well_with(online), testing::ExitedWithCode(0), "") << online;
}

TEST(Distance, IsLeastToAWorkerOnTheSameProcessor) {
  const std::set<int> usable = allowed();
  const int a = *usable.begin(), b = *usable.rbegin();
  if (a == b) GTEST_SKIP() << "needs two processors";
  EXPECT_THAT(detail::by_distance({a, b, a}),
              ElementsAre(ElementsAre(2, 1), testing::UnorderedElementsAre(0, 2), ElementsAre(0, 1)));
}

TEST(Distance, OrdersAllOthersAndNoneTwice) {
  std::vector<int> processors;
  for (int n = 0; n < 3; ++n)
    for (const int processor : all_usable()) processors.push_back(processor);
  const auto others = detail::by_distance(processors);
  ASSERT_EQ(others.size(), processors.size());
  for (int worker = 0; worker < static_cast<int>(others.size()); ++worker) {
    std::set<int> expected;
    for (int other = 0; other < static_cast<int>(others.size()); ++other)
      if (other != worker) expected.insert(other);
    const auto& list = others[static_cast<std::size_t>(worker)];
    EXPECT_EQ(list.size(), expected.size());
    EXPECT_EQ(std::set<int>(list.begin(), list.end()), expected);
  }
  EXPECT_THAT(detail::by_distance({0}), ElementsAre(testing::IsEmpty()));
}

TEST(Distance, TakesProcessorsThatDoNotExist) {
  EXPECT_THAT(detail::by_distance({-1, 1 << 20}), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(Pinned, BindsTheThreadWhileItLives) {
  const std::set<int> before = allowed();
  {
    const Pinned outer(*before.begin());
    EXPECT_THAT(allowed(), ElementsAre(*before.begin()));
    {
      const Pinned same(*before.begin());
      const Pinned inner(*before.rbegin());
      EXPECT_THAT(allowed(), ElementsAre(*before.rbegin()));
    }
    EXPECT_THAT(allowed(), ElementsAre(*before.begin()));
  }
  EXPECT_EQ(allowed(), before);
}

TEST(Unpinned, LetsWhatATaskStartsRunWhereTheProcessMay) {
  const std::set<int> before = allowed();
  const auto in_a_thread = [] { return std::async(std::launch::async, allowed).get(); };
  {
    const Unpinned of_nothing;
  }
  EXPECT_EQ(allowed(), before);
  Runtime runtime({.cores = {*before.begin()}});
  runtime.on_each_worker([&](int) {
    EXPECT_THAT(in_a_thread(), ElementsAre(*before.begin()));
    {
      const Unpinned unpinned;
      EXPECT_EQ(in_a_thread(), before);
      const Pinned inner(*before.rbegin());
      EXPECT_THAT(allowed(), ElementsAre(*before.rbegin()));
    }
    EXPECT_THAT(allowed(), ElementsAre(*before.begin()));
  });
}

TEST(Pinned, MayEndInAnotherOrderThanTheyBegan) {
  const auto cores = usable_cores();
  const std::set<int> before = allowed();
  auto first = std::make_unique<Pinned>(*before.begin()), second = std::make_unique<Pinned>(*before.rbegin());
  first.reset();
  EXPECT_EQ(usable_cores(), cores) << "it looks at the pins that are left";
  second.reset();
  const Pinned third(*before.begin());
  EXPECT_THAT(allowed(), ElementsAre(*before.begin()));
}

TEST(Unpinned, IsTheThreadThatMakesARuntimeInATask) {
  const std::set<int> before = allowed();
  const Runtime usual;
  Runtime outer({.cores = {*before.begin()}});
  outer.on_each_worker([&](int) {
    Runtime inner;
    EXPECT_EQ(inner.workers(), usual.workers());
    Runtime free({.workers = 3, .pin = false});
    const auto where = free.on_each_worker([](int) { return allowed(); });
    EXPECT_THAT(where, ElementsAre(std::set{*before.begin()}, before, before));  // worker 0 is the thread of the task
  });
}

TEST(Pinned, NamesTheProcessorThatCannotBeHadAndThoseThatCan) {
  const std::set<int> before = allowed();
  for (const int processor : {1 << 20, 100'000, -1}) {
    EXPECT_THAT([&] { const Pinned pinned(processor); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("processor " + std::to_string(processor)),
                                                HasSubstr("may use " + std::to_string(*before.begin())))));
  }
  EXPECT_EQ(allowed(), before);
}

}  // namespace
}  // namespace taskgrain::rt
