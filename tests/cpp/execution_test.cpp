/// What runs right is never flagged, and is counted; what no execution can be made of is refused.

#include "taskgrain/execution.hpp"

#include <gtest/gtest.h>

#include "executor.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

class RightExecutions : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, RightExecutions, testing::ValuesIn(pattern_names()), name_of_pattern);

TEST_P(RightExecutions, AreNeverFlagged) {
  for (const Validation validation : {Validation::off, Validation::sample, Validation::full}) {
    for (const std::size_t bytes : sizes) {
      Execution run({graph_of(GetParam(), bytes), graph_of("stencil_1d", 32), graph_of(GetParam(), 16)}, validation,
                    Isa::automatic);
      Executor executor(run);
      for (int repeat = 0; repeat < 2; ++repeat) {
        run.clear();
        executor.execute();
        const auto violation = run.verify();
        ASSERT_FALSE(violation) << violation->text() << " at " << bytes << " bytes";
        ASSERT_EQ(run.accounts().executed, run.tasks());
      }
    }
  }
}

// ---- what is counted

TEST(Accounts, CountTheWorkThatWeightsGiveToTasks) {
  for (const Validation validation : {Validation::off, Validation::sample}) {
    Execution run({{.pattern = "dag", .dag = random_dag_file(5), .kernel = {.iterations = 3}}}, validation,
                  Isa::automatic);
    Executor(run).execute();
    double iterations = 0;
    for_tasks(run.graphs()[0], [&](std::int64_t step, std::int64_t point) {
      iterations += std::round(3 * run.graphs()[0].weights()->weight(step, point));
    });
    EXPECT_EQ(run.accounts().work, 128 * iterations);
    EXPECT_NE(iterations, 3.0 * static_cast<double>(run.tasks()));
  }
}

TEST(Accounts, AreThoseOfTheLastRepeat) {
  Execution run({{.pattern = "stencil_1d", .steps = 10, .width = 4, .kernel = {.name = "busy_wait", .iterations = 7}},
                 {.pattern = "all_to_all", .steps = 5, .width = 3, .kernel = {.name = "empty"}}},
                Validation::sample, Isa::automatic);
  Executor executor(run);
  for (int repeat = 0; repeat < 3; ++repeat) {
    run.clear();
    executor.execute();
  }
  const Accounts accounts = run.accounts();
  EXPECT_EQ(accounts.executed, 55);
  EXPECT_EQ(accounts.dependencies, 9 * 10 + 4 * 9);
  EXPECT_EQ(accounts.work, 40.0 * 7);
  EXPECT_EQ(accounts.flops, 0);
  EXPECT_EQ(accounts.bytes, 0);
}

TEST(Accounts, WorkIsBytesForMemoryKernels) {
  const KernelSpec kernel{.name = "memory_bound", .iterations = 2, .scratch_bytes = 16 << 10};
  Execution run({{.pattern = "trivial", .steps = 3, .width = 2, .kernel = kernel}}, Validation::off, Isa::automatic);
  Executor(run).execute();
  EXPECT_EQ(run.accounts().bytes, 6 * 2 * 1024.0);
  EXPECT_EQ(run.accounts().work, run.accounts().bytes);
}

TEST(ValidationOff, ChecksNoInputs) {
  Execution run({graph_of("stencil_1d")}, Validation::off, Isa::automatic);
  Executor(run).execute([](Call& call) { call.inputs.assign(call.inputs.size(), Bytes(16)); });
  EXPECT_FALSE(run.verify());
}

TEST(ValidationOff, TakesNoMemoryForTheTasksOfAGraph) {
  const Execution run({{.pattern = "stencil_1d", .steps = 16, .width = std::int64_t{1} << 50}}, Validation::off,
                      Isa::automatic);
  EXPECT_EQ(run.tasks(), std::int64_t{1} << 54);
}

TEST(ValidationOff, StillCounts) {
  Execution run({graph_of("stencil_1d")}, Validation::off, Isa::automatic);
  const auto with_times = [&](int times) {
    run.clear();
    Executor(run).execute([&](Call& call) {
      if (call.step == 7 && call.point == 3) call.times = times;
    });
    return run.verify();
  };
  EXPECT_FALSE(with_times(1));
  EXPECT_EQ(with_times(0).value().kind, ViolationKind::skipped);
  EXPECT_EQ(with_times(2).value().kind, ViolationKind::repeated);
}

// ---- several processes

TEST(Distributed, ProducersElsewhereHaveNoMarkHere) {
  for (const bool distributed : {false, true}) {
    Execution run({{.pattern = "no_comm", .steps = 2, .width = 2}}, Validation::full, Isa::automatic);
    if (distributed) run.distribute();
    Executor executor(run);
    executor.execute(run.context(0), Call{0, 1, 0, {output_of(0, 0, 0, 16)}});
    EXPECT_EQ(run.violation().has_value(), !distributed);
  }
}

// ---- specifications and names

TEST(Execution, FillsAnOutputToItsLastByteAndNotBeyond) {
  for (const std::size_t bytes : sizes) {
    Execution run({{.pattern = "trivial", .output_bytes = bytes}}, Validation::off, Isa::automatic);
    Bytes output(bytes + 16, std::byte{0x55});
    run.execute_point(run.context(0), 0, 3, 2, output.data(), {});
    Bytes expected = output_of(0, 3, 2, bytes);
    expected.resize(bytes + 16, std::byte{0x55});
    EXPECT_EQ(output, expected) << bytes;
  }
}

TEST(Execution, OfNoGraphsIsRefused) { EXPECT_THROW(Execution({}, Validation::off, Isa::automatic), InvalidSpec); }

TEST(Execution, OfKernelsWithoutACommonUnitIsRefused) {
  const GraphSpec flops{.kernel = {.name = "compute_bound"}}, bytes{.kernel = {.name = "memory_bound"}};
  EXPECT_THROW(Execution({flops, bytes}, Validation::off, Isa::automatic), InvalidSpec);
  EXPECT_NO_THROW(Execution({flops, {.kernel = {.name = "load_imbalance"}}}, Validation::off, Isa::automatic));
}

TEST(Execution, KnowsItsLongestGraphAndAllItsTasks) {
  const Execution run({{.steps = 3, .width = 2}, {.pattern = "tree", .steps = 5, .width = 4}}, Validation::off,
                      Isa::automatic);
  EXPECT_EQ(run.most_steps(), 5);
  EXPECT_EQ(run.tasks(), 6 + 1 + 2 + 4 + 4 + 4);
}

TEST(Execution, MoreTasksThan2To63InAllAreRefused) {
  const GraphSpec half{.pattern = "trivial", .steps = std::int64_t{1} << 62, .width = 1};
  EXPECT_THROW(Execution({half, half, half}, Validation::off, Isa::automatic), std::exception);
}

TEST(Execution, AsManyIterationsAsOverflowAreRefused) {
  const auto run = [](std::int64_t iterations) {
    const KernelSpec kernel{.name = "compute_bound", .iterations = iterations};
    return Execution({{.steps = 2, .width = 2, .kernel = kernel}}, Validation::off, Isa::automatic).tasks();
  };
  EXPECT_EQ(run((std::int64_t{1} << 60) - 1000), 4);
  EXPECT_THROW(run(std::int64_t{1} << 60), InvalidSpec);
}

TEST(ValidationNames, AreKnownAndNoOthers) {
  EXPECT_EQ(validation_from_name("off"), Validation::off);
  EXPECT_EQ(validation_from_name("sample"), Validation::sample);
  EXPECT_EQ(validation_from_name("full"), Validation::full);
  EXPECT_THROW(validation_from_name("Full"), InvalidSpec);
}

TEST(ViolationText, SaysWhichInputIsMissingOrTooMany) {
  const Violation missing{ViolationKind::missing_input, 0, 2, 3, 1, {1, 4}};
  EXPECT_EQ(missing.text(), "missing_input: graph 0, step 2, point 3, input 1: expected (1, 4), got none");
  const Violation surplus{ViolationKind::surplus_input, 0, 2, 3, 2, {-1, -1}, {1, 0}};
  EXPECT_EQ(surplus.text(), "surplus_input: graph 0, step 2, point 3, input 2: expected none, got (1, 0)");
}

TEST(ViolationText, SaysEverythingInOneSentence) {
  const Violation violation{ViolationKind::wrong_producer, 2, 12, 3, 1, {11, 4}, {11, 5}};
  EXPECT_EQ(violation.text(), "wrong_producer: graph 2, step 12, point 3, input 1: expected (11, 4), got (11, 5)");
}

}  // namespace
}  // namespace taskgrain
