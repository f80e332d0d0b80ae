/// Graphs where the kernel refuses membarrier after the runtime was made: because a sandbox came, or memory is short.

#include <gtest/gtest.h>

#if defined(__linux__)

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "policies.hpp"
#include "rt/forbid_membarrier.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/sleep.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

/// A filter stays for good, so each test is a process of its own.
class RefusedBarrier : public testing::TestWithParam<Policy> {
 protected:
  static constexpr int workers = 2, no_filter = 77;

  /// Calls `body` where membarrier is refused. \param body  returns whether all was right
  static void in_a_sandbox(const std::function<bool(Runtime&)>& body) {
    if (!detail::asymmetric_barriers) GTEST_SKIP() << "there is no barrier of the kernel";
    const pid_t child = fork();
    if (child == 0) {
      alarm(300);  // a hang is a failure
      try {
        Runtime runtime({.workers = workers, .pin = false, .spin = 0us});  // all long waits are parked at once
        if (!forbid_membarrier()) _exit(no_filter);
        _exit(!detail::heavy_barrier() && body(runtime) ? 0 : 1);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        _exit(2);
      }
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter)
      GTEST_SKIP() << "there are no filters of system calls here";
    EXPECT_TRUE(WIFEXITED(status)) << "it hung, or crashed";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
};

/// What the tasks that a worker runs do. It takes about as long as another needs to park. Then it writes to memory that
/// is in no cache. What the worker stores next waits behind that, and its later loads do not.
class Work {
 public:
  explicit Work(std::uint64_t seed) : dice_(seed) {}

  void operator()(bool tarries) {
    for (std::uint64_t pauses = tarries ? dice_.below(100) : 0; pauses > 0; --pauses) detail::pause();
    for (std::uint64_t k = dice_.below(64); k > 0; --k) ++cold_[dice_.below(cold_.size())];
    ++ran;
  }

  std::int64_t ran = 0;  // tasks

 private:
  Dice dice_;
  std::vector<int> cold_ = std::vector<int>(std::size_t{1} << 24);
};

/// Launches a graph of one task for each worker, in a ring or without edges. \returns whether all tasks ran
bool race(Runtime& runtime, Policy policy, bool ring) {
  const auto size = static_cast<std::size_t>(runtime.workers());
  std::vector<Work> work;
  for (std::size_t w = 0; w < size; ++w) work.emplace_back(w);
  TaskGraph tasks;
  std::vector<TaskGraph::Node> nodes;
  for (std::size_t w = 0; w < size; ++w)
    nodes.push_back(tasks.task(static_cast<int>(w), [&work, tarries = ring || w > 0](const Turn& turn) {
      work[static_cast<std::size_t>(turn.worker)](tarries);
    }));
  for (std::size_t w = 1; ring && w < size; ++w) tasks.edge(nodes[w - 1], nodes[w]);
  if (ring) tasks.carried_edge(nodes.back(), nodes.front());
  CompiledGraph graph(runtime, std::move(tasks), policy);
  constexpr std::int64_t iterations = 1000;
  const Race race(ring ? 500 : 100, 1);
  std::int64_t launches = 0;
  for (; race.has(launches); ++launches) {
    graph.launch({.iterations = iterations});
    runtime.wait();
  }
  std::int64_t ran = 0;
  for (const Work& one : work) ran += one.ran;
  return ran == launches * iterations * runtime.workers();
}

TEST_P(RefusedBarrier, LosesNoWakeUp) {
  in_a_sandbox([](Runtime& runtime) { return race(runtime, GetParam(), true); });
}

/// Without edges, the fast worker 0 waits for the window alone (under `in_order` for nothing). A lost wake-up is rare
/// here: the next iteration of the other worker makes up for it. The simulated schedules find those that it does not.
TEST_P(RefusedBarrier, LosesNoWakeUpOfTheWindow) {
  in_a_sandbox([](Runtime& runtime) { return race(runtime, GetParam(), false); });
}

/// A worker that may not park in the usual way is found idle all the same.
TEST_P(RefusedBarrier, WhatIsStuckIsFound) {
  in_a_sandbox([](Runtime& runtime) {
    TaskGraph tasks("net");
    const auto event = tasks.precondition("fish");
    const auto first = tasks.task(0, [] {}), second = tasks.task(1, [] {}), third = tasks.task(0, [] {});
    tasks.edge(event, first);
    tasks.edge(first, second);
    tasks.edge(second, third);
    tasks.task(1, [] {});
    CompiledGraph graph(runtime, std::move(tasks), GetParam());
    for (int round = 0; round < 20; ++round) {
      graph.launch({.iterations = 5, .preconditions = {{event, Event()}}});
      try {
        runtime.wait();
        return false;
      } catch (const Stuck&) {
      }
    }
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(Policies, RefusedBarrier, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt

#endif
