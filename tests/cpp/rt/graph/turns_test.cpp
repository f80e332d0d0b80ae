/// A graph that runs for long lets others have their turn: tasks of its workers, messages to them, and failures.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>

#include "policies.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t endless = 100'000'000'000;  // tasks: a graph that runs them all has looked at nothing else
constexpr std::int64_t soon = 10'000;              // tasks

class Turns : public testing::TestWithParam<Policy> {
 protected:
  /// Tasks of a worker that call `body(number)`. They run as many iterations as make `endless`.
  static CompiledGraph::LaunchOptions fill(TaskGraph& tasks, int worker, std::int64_t in_an_iteration, auto body) {
    for (std::int64_t t = 0; t < in_an_iteration; ++t)
      tasks.task(worker, [body, in_an_iteration, t](const Turn& turn) { body(turn.iteration * in_an_iteration + t); });
    return {.iterations = endless / in_an_iteration};
  }
};

struct Enough : std::runtime_error {
  Enough() : std::runtime_error("enough") {}
};

/// Under `stealing`, tasks are in the queue of the engine, whose order the user chooses.
class TurnsOnAWorker : public Turns {};

/// Again and again: one look after some tasks is not enough.
TEST_P(TurnsOnAWorker, TasksOfTheSameWorkerHaveTheirs) {
  for (const std::int64_t in_an_iteration : {1, 10, 20'000}) {
    Runtime runtime({.workers = 1, .pin = false});
    std::int64_t ran = 0, asked_at = 0, served = 0, longest = 0;
    bool waiting = false;
    Taskflow<std::int64_t> flow(runtime, "other");
    flow.indegree([](auto) { return 1; }).worker([](auto) { return 0; }).run([&](auto) {
      waiting = false;
      ++served;
      longest = std::max(longest, ran - asked_at);
    });
    TaskGraph tasks;
    const auto options = fill(tasks, 0, in_an_iteration, [&](std::int64_t) {
      ++ran;
      if (served == 100) throw Enough();
      if (waiting) return;
      waiting = true;
      asked_at = ran;
      flow.fulfill(ran);
    });
    CompiledGraph graph(runtime, std::move(tasks), GetParam());
    graph.launch(options);
    EXPECT_THROW(runtime.wait(), TaskFailed);
    EXPECT_EQ(served, 100);
    EXPECT_LE(longest, in_an_iteration == 1 ? soon : soon / 10);
  }
}

TEST_P(Turns, MessagesOfOtherWorkersAreTaken) {
  for (const std::int64_t in_an_iteration : {1, 10, 20'000}) {
    Runtime runtime({.workers = 2, .pin = false});
    std::atomic<bool> came{false};
    Taskflow<int> flow(runtime, "other");
    flow.indegree([](int) { return 1; }).worker([](int k) { return k % 2; }).bound([](int) { return true; });
    flow.run([&](int k) {
      if (k == 100)
        came = true;
      else
        flow.fulfill(k + 1);
    });
    TaskGraph tasks;
    const auto options = fill(tasks, 0, in_an_iteration, [&](std::int64_t number) {
      if (number == 0) flow.fulfill(1);
      if (came) throw Enough();
    });
    CompiledGraph graph(runtime, std::move(tasks), GetParam());
    graph.launch(options);
    EXPECT_THROW(runtime.wait(), TaskFailed);
    EXPECT_TRUE(came);
  }
}

TEST_P(TurnsOnAWorker, OtherGraphsHaveTheirs) {
  Runtime runtime({.workers = 1, .pin = false});
  std::int64_t ran[2] = {0, 0}, most_ahead = 0;
  const auto compete = [&](std::int64_t me) {
    return [&, me](std::int64_t) {
      if (++ran[me] == 100'000) throw Enough();
      most_ahead = std::max(most_ahead, ran[me] - ran[1 - me]);
    };
  };
  TaskGraph tasks[2];
  const auto options = fill(tasks[0], 0, 1, compete(0));
  fill(tasks[1], 0, 1, compete(1));
  CompiledGraph first(runtime, std::move(tasks[0]), GetParam()), second(runtime, std::move(tasks[1]), GetParam());
  first.launch(options);
  second.launch(options);
  EXPECT_THROW(runtime.wait(), TaskFailed);
  EXPECT_LE(most_ahead, 50'000);  // it would be nearly all
}

TEST_P(Turns, AFailureEndsTheTasksOfOtherWorkers) {
  for (const std::int64_t in_an_iteration : {1, 10, 20'000}) {
    Runtime runtime({.workers = 2, .pin = false, .spin = 50us});
    std::atomic<std::int64_t> ran{0};
    TaskGraph tasks("long");
    const auto options = fill(tasks, 0, in_an_iteration, [&](std::int64_t number) { ran = number; });
    tasks.task(1, [&] {
      if (ran >= 1000) throw Enough();
      std::this_thread::sleep_for(1us);  // or it is through before the other worker has begun
    });
    CompiledGraph graph(runtime, std::move(tasks), GetParam());
    graph.launch(options);
    EXPECT_THROW(runtime.wait(), TaskFailed);
    EXPECT_LT(ran, endless / 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Turns, every_policy, policy_name);
INSTANTIATE_TEST_SUITE_P(Policies, TurnsOnAWorker, testing::Values(Policy::in_order, Policy::ready_queue), policy_name);

}  // namespace
}  // namespace taskgrain::rt
