/// Random tasks over random data that overlaps do what they do one after the other, however they are given.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>

#include "random_programs.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {
namespace {

using namespace random_programs;

class RtRandomSequences : public testing::TestWithParam<int> {};

TEST_P(RtRandomSequences, DoWhatTheirTasksDoOneAfterTheOther) {
  Runtime runtime({.workers = GetParam(), .pin = false, .check = false});
  Race race(60);
  std::size_t launches = 0;
  for (std::int64_t n = 0; race.has(n); ++n) {
    const RandomProgram program(static_cast<std::uint64_t>(1000 * GetParam() + n));
    Given given(runtime, program, std::size_t{1} << (n % 8));
    const std::string seed = "seed " + std::to_string(1000 * GetParam() + n);
    for (int k = 0; k < 4; ++k) given.give();
    given.sequence().wait();
    ASSERT_EQ(given.memory, serial(program, 4, false)) << seed;
    // Each has its own memory, and data of the same places.
    Given looped(runtime, program, 16);
    looped.sequence().loop(6, [&] { looped.give(); });
    looped.sequence().wait();
    ASSERT_EQ(looped.memory, serial(program, 6, true)) << seed << " in a loop";
    Given traced(runtime, program, 16);
    for (int k = 0; k < 5; ++k) traced.sequence().trace(7, [&] { traced.give(); });
    traced.sequence().wait();
    ASSERT_EQ(traced.memory, serial(program, 5, false)) << seed << " in a trace";
    EXPECT_EQ(traced.sequence().statistics().replayed, 4U) << seed;
    Given joined(runtime, program, 256);
    joined.sequence().trace(7, [&] { joined.give(); });
    joined.sequence().wait();
    std::atomic<bool> go{false};
    joined.hold(go);  // so that the calls after it become one launch
    for (int k = 0; k < 4; ++k) joined.sequence().trace(7, [&] { joined.give(); });
    go = true;
    joined.sequence().wait();
    ASSERT_EQ(joined.memory, serial(program, 5, false)) << seed << " in a trace whose calls are one launch";
    launches += joined.sequence().statistics().launched;
    Given mixed(runtime, program, 8);
    mixed.give();
    mixed.sequence().trace(1, [&] { mixed.give(); });
    mixed.sequence().loop(1, [&] { mixed.give(); });
    mixed.sequence().loop(0, [&] { mixed.give(); });
    mixed.sequence().trace(1, [&] { mixed.give(); });
    mixed.give();
    mixed.sequence().wait();
    ASSERT_EQ(mixed.memory, serial(program, 5, false)) << seed << " in all ways";
    EXPECT_LE(launches, static_cast<std::size_t>(n + 2)) << "nearly all programs use data that is held";
  }
}

/// What repeats itself, with waits and other tasks between, in any place.
TEST_P(RtRandomSequences, AreTheSameWhereTracesAreAutomatic) {
  Runtime runtime({.workers = GetParam(), .pin = false, .check = false});
  Race race(60);
  std::size_t replayed = 0;
  for (std::int64_t n = 0; race.has(n); ++n) {
    const auto seed = static_cast<std::uint64_t>(1000 * GetParam() + n);
    const RandomProgram program(seed);
    Given given(runtime, program, 16, 100);
    random_programs::Memory expected;
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t all) { return static_cast<std::size_t>(random() % all); };
    const std::size_t seldom = 1 + below(20);
    for (int k = 0; k < 60; ++k) {
      const std::size_t all = program.steps().size(), steps = below(seldom) == 0 ? below(all) : all;
      if (below(3 * seldom) == 0)
        given.sequence().trace(1, [&] { given.give(steps); });
      else
        given.give(steps);
      run_serially(program, steps, expected, 0);
      if (n % 3 == 0) given.wait(below(program.data()));
      if (n % 3 == 1 && below(3) == 0) given.sequence().wait();
    }
    given.sequence().wait();
    ASSERT_EQ(given.memory, expected) << "seed " << seed;
    replayed += given.sequence().statistics().replayed;
  }
  EXPECT_GT(replayed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Workers, RtRandomSequences, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace taskgrain::rt
