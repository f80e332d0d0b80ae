/// Validation by mutation: tasks that are skipped, run twice, too early or outside of the graph must be caught where
/// they are.

#include <gtest/gtest.h>

#include "executor.hpp"

namespace taskgrain {
namespace {

class WrongTasks : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, WrongTasks, testing::ValuesIn(pattern_names()), name_of_pattern);

constexpr Validation checking[] = {Validation::sample, Validation::full};

void expect_violation(const Execution& run, ViolationKind kind, std::int64_t graph, Task task) {
  const auto violation = run.verify();
  ASSERT_TRUE(violation) << "not caught";
  EXPECT_EQ(name(violation->kind), name(kind)) << violation->text();
  EXPECT_EQ(violation->graph, graph);
  EXPECT_EQ((Task{violation->step, violation->point}), task);
}

TEST_P(WrongTasks, SkippedIsCaughtByTheTaskThatNeedsIt) {
  for (const Validation validation : checking) {
    Execution run({graph_of(GetParam())}, validation, Isa::automatic);
    const auto skipped = task_with(run.graphs()[0], 0, 1);
    if (!skipped) GTEST_SKIP() << "no task is needed by another";
    Executor executor(run);
    for (int repeat = 0; repeat < 2; ++repeat) {  // in the second its output is that of the repeat before
      run.clear();
      executor.execute([&](Call& call) {
        if (repeat == 1 && Task{call.step, call.point} == *skipped) call.times = 0;
      });
      if (repeat == 0) {
        ASSERT_FALSE(run.verify());
      }
    }
    const auto violation = run.verify();
    ASSERT_TRUE(violation) << "not caught";
    if (validation == Validation::sample) {  // right bytes: only the account can tell
      expect_violation(run, ViolationKind::skipped, 0, *skipped);
    } else {
      EXPECT_EQ(violation->kind, ViolationKind::early);
      EXPECT_EQ(violation->step, (*skipped)[0] + 1);
      EXPECT_EQ(violation->expected, *skipped);
    }
  }
}

TEST_P(WrongTasks, SkippedIsCaughtThoughNobodyNeedsIt) {
  for (const Validation validation : checking) {
    Execution run({graph_of("stencil_1d"), graph_of(GetParam()), graph_of(GetParam())}, validation, Isa::automatic);
    const Graph& graph = run.graphs()[1];
    const Task last{graph.steps() - 1, graph.points(graph.steps() - 1).last};
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.graph == 1 && Task{call.step, call.point} == last) call.times = 0;
    });
    expect_violation(run, ViolationKind::skipped, 1, last);
  }
}

TEST_P(WrongTasks, RunTwiceIsCaught) {
  for (const Validation validation : checking) {
    Execution run({graph_of(GetParam()), graph_of(GetParam())}, validation, Isa::automatic);
    const auto twice = task_with(run.graphs()[1], 0);
    ASSERT_TRUE(twice);
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.graph == 1 && Task{call.step, call.point} == *twice) call.times = 2;
    });
    expect_violation(run, ViolationKind::repeated, 1, *twice);
  }
}

TEST_P(WrongTasks, TwiceForOneThatIsSkippedIsCaught) {
  Execution run({graph_of(GetParam())}, Validation::sample, Isa::automatic);
  const Graph& graph = run.graphs()[0];
  const Task last{graph.steps() - 1, graph.points(graph.steps() - 1).first};
  Executor executor(run);
  executor.execute([&](Call& call) {
    if (Task{call.step, call.point} == last) call.times = 0;
    if (Task{call.step, call.point} == Task{0, graph.points(0).first}) call.times = 2;
  });
  EXPECT_EQ(run.accounts().executed, run.tasks());
  expect_violation(run, ViolationKind::repeated, 0, {0, graph.points(0).first});
}

TEST_P(WrongTasks, OutsideTheGraphIsCaughtInEveryMode) {
  for (const Validation validation : {Validation::off, Validation::sample, Validation::full}) {
    Execution run({graph_of(GetParam())}, validation, Isa::automatic);
    const Graph& graph = run.graphs()[0];
    const std::int64_t steps = graph.steps(), after = graph.points(0).last + 1, before = graph.points(0).first - 1;
    for (const Task task : {Task{steps, 0}, Task{-1, 0}, Task{0, after}, Task{0, before}, Task{0, -1}}) {
      run.clear();
      Executor(run).execute();
      Bytes output(16);
      run.execute_point(run.context(0), 0, task[0], task[1], output.data(), {});
      expect_violation(run, ViolationKind::no_such_task, 0, task);
    }
  }
}

TEST_P(WrongTasks, EarlyIsCaughtInFullThoughTheBytesAreRight) {
  Execution run({graph_of(GetParam())}, Validation::full, Isa::automatic);
  const auto early = task_with(run.graphs()[0], 1);
  if (!early) GTEST_SKIP() << "nothing depends on anything";
  Executor executor(run);
  executor.execute();
  ASSERT_FALSE(run.verify());
  run.clear();
  // The second repeat begins with the victim, whose inputs still hold what the first has written.
  const auto [step, point] = *early;
  executor.execute(run.context(0), Call{0, step, point, executor.inputs(0, step, point)});
  executor.execute([&](Call& call) {
    if (Task{call.step, call.point} == *early) call.times = 0;
  });
  expect_violation(run, ViolationKind::early, 0, *early);
  EXPECT_EQ(run.violation()->input, 0);
  EXPECT_EQ(run.violation()->expected, run.violation()->got);
}

TEST_P(WrongTasks, EarlyIsCaughtByItsBytesInTheFirstRepeat) {
  for (const Validation validation : checking) {
    Execution run({graph_of(GetParam())}, validation, Isa::automatic);
    const auto early = task_with(run.graphs()[0], 1);
    if (!early) GTEST_SKIP() << "nothing depends on anything";
    Executor executor(run);
    const auto [step, point] = *early;
    executor.execute(run.context(0), Call{0, step, point, executor.inputs(0, step, point)});
    expect_violation(run, ViolationKind::wrong_bytes, 0, *early);
  }
}

TEST_P(WrongTasks, AWholeGraphThatIsSkippedIsCaught) {
  for (const Validation validation : checking) {
    Execution run({graph_of("stencil_1d"), graph_of(GetParam()), graph_of("fft")}, validation, Isa::automatic);
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.graph == 1) call.times = 0;
    });
    expect_violation(run, ViolationKind::skipped, 1, {0, run.graphs()[1].points(0).first});
  }
}

}  // namespace
}  // namespace taskgrain
