/// Threads that share an execution: what they do to one task at the same time is caught, and their accounts add up.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "taskgrain/execution.hpp"

namespace taskgrain {
namespace {

using Bytes = std::vector<std::byte>;

TEST(Threads, OneTaskByTwoIsCaughtWheneverTheyMeet) {
  Execution run({{.pattern = "trivial", .steps = 50, .width = 2}}, Validation::sample, Isa::automatic);
  for (int repeat = 0; repeat < 50; ++repeat) {
    run.clear();
    const auto execute_all = [&](std::size_t context) {
      Bytes output(16);
      for (std::int64_t step = 0; step < 50; ++step)
        for (const std::int64_t point : {0, 1})
          if (point == static_cast<std::int64_t>(context) || step == 25)  // both run the tasks of step 25
            run.execute_point(run.context(context), 0, step, point, output.data(), {});
    };
    std::jthread(execute_all, 0), std::jthread(execute_all, 1);
    const auto violation = run.verify();
    ASSERT_TRUE(violation);
    ASSERT_EQ(violation->kind, ViolationKind::repeated);
  }
}

/// The number of executions is right then, and the marks cannot tell: both threads may find the task unmarked.
TEST(Threads, OneTaskByTwoForOneThatIsSkippedIsCaughtWheneverTheyMeet) {
  constexpr std::int64_t repeats = 50'000;
  Execution run({{.pattern = "trivial", .steps = 1, .width = 2}}, Validation::sample, Isa::automatic);
  ThreadContext* const workers[] = {&run.context(0), &run.context(1)};
  std::atomic<std::int64_t> begun{0}, ended{0};
  const auto wait = [](const std::atomic<std::int64_t>& number, std::int64_t wanted) {
    for (int looks = 0; number < wanted; ++looks)
      if (looks > 1000) std::this_thread::yield();
  };
  const std::jthread other([&] {
    Bytes output(16);
    for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
      wait(begun, repeat);
      run.execute_point(*workers[1], 0, 0, 0, output.data(), {});
      ended = repeat;
    }
  });
  Bytes output(16);
  std::int64_t missed = 0;
  for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
    run.clear();
    begun = repeat;
    for (std::int64_t delay = repeat % 64; delay > 0; --delay) asm volatile("");  // they meet at one of these
    run.execute_point(*workers[0], 0, 0, 0, output.data(), {});
    wait(ended, repeat);
    if (!run.verify()) ++missed;
  }
  EXPECT_EQ(missed, 0) << "of " << repeats;
}

TEST(Threads, TheirAccountsAddUp) {
  const KernelSpec kernel{.name = "compute_bound", .iterations = 3};
  Execution run({{.pattern = "trivial", .steps = 1000, .width = 4, .kernel = kernel}}, Validation::full,
                Isa::automatic);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t point = 0; point < 4; ++point) {
      threads.emplace_back([&run, point] {
        ThreadContext& context = run.context(static_cast<std::size_t>(point));
        Bytes output(16);
        for (std::int64_t step = 0; step < 1000; ++step) run.execute_point(context, 0, step, point, output.data(), {});
      });
    }
  }
  EXPECT_FALSE(run.verify());
  EXPECT_EQ(run.accounts().executed, 4000);
  EXPECT_EQ(run.accounts().flops, 4000.0 * 3 * 128);
}

}  // namespace
}  // namespace taskgrain
