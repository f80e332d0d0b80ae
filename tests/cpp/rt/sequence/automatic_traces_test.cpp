/// Traces that a sequence finds by itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "allocations.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class AutomaticTraces : public testing::Test {
 protected:
  /// A step of a program: to each of 8 numbers the one before it is added.
  void step() {
    for (std::size_t k = 0; k < 8; ++k)
      sequence_.task({read(of_x_[(k + 7) % 8]), read_write(of_x_[k])}, [this, k] { x_[k] += x_[(k + 7) % 8]; });
  }
  void expect_steps(int steps) {
    std::vector<std::uint64_t> expected(8, 1);
    for (int n = 0; n < steps; ++n)
      for (std::size_t k = 0; k < 8; ++k) expected[k] += expected[(k + 7) % 8];
    sequence_.wait();
    EXPECT_EQ(x_, expected);
  }
  const Sequence::TraceStatistics& statistics() const { return sequence_.statistics(); }

  Runtime runtime_{{.workers = 2, .pin = false, .check = false}};
  std::vector<std::uint64_t> x_ = std::vector<std::uint64_t>(8, 1);
  Sequence sequence_{runtime_, {.automatic_traces = 512}};
  std::vector<Data> of_x_ = [this] {
    std::vector<Data> all;
    for (std::uint64_t& one : x_) all.push_back(sequence_.data(one));
    return all;
  }();
};

TEST_F(AutomaticTraces, RunWhatRepeatsItselfInOneGraph) {
  for (int n = 0; n < 100; ++n) step();
  expect_steps(100);
  EXPECT_EQ(statistics().compiled, 1U);
  EXPECT_EQ(statistics().missed, 0U);
  EXPECT_GE(statistics().replayed, 20U) << "of four steps each";
}

TEST_F(AutomaticTraces, BeginAfterAWait) {
  for (int n = 0; n < 100; ++n) {
    step();
    sequence_.wait(of_x_[7]);
  }
  expect_steps(100);
  EXPECT_EQ(statistics().missed, 0U);
  EXPECT_EQ(statistics().replayed, 94U) << "from the seventh step on";
}

TEST_F(AutomaticTraces, AreTriedSeldomWhereTheyMiss) {
  std::mt19937 random(1);
  std::vector<Data> ways;
  for (int k = 0; k < 64; ++k) ways.push_back(sequence_.token());
  int other = 0, steps = 0;
  const Data of_other = sequence_.data(other);
  const auto give = [&](int at_once) {
    for (int n = 0; n < 300; ++n, steps += at_once) {
      for (int k = 0; k < at_once; ++k) step();
      sequence_.task({read(ways[random() % 64]), read_write(of_other)}, [&] { ++other; });
    }
  };
  give(12);
  expect_steps(steps);
  EXPECT_EQ(other, 300);
  EXPECT_GT(statistics().replayed, 100U);
  EXPECT_GT(statistics().missed, 100U);
  const std::size_t missed = statistics().missed;
  give(7);  // five steps to know them, and then four are too many
  expect_steps(steps);
  EXPECT_LT(statistics().missed - missed, 10U);
}

TEST_F(AutomaticTraces, HaveTasksThatComeTwiceInAPeriod) {
  for (int n = 0; n < 100; ++n)
    for (const bool back : {false, true})
      for (std::size_t k = 0; k < 8; ++k)
        sequence_.task({read_write(of_x_[back ? 7 - k : k])}, [this, k, back] { ++x_[back ? 7 - k : k]; });
  sequence_.wait();
  EXPECT_EQ(x_, std::vector<std::uint64_t>(8, 201));
  EXPECT_GT(statistics().replayed, 30U);
}

TEST_F(AutomaticTraces, EndWhereDataIsMadeAndWhereResultsAre) {
  for (int n = 0; n < 100; ++n) {
    step();
    if (n % 10 != 9) continue;
    int y = 0;
    const Data of_y = sequence_.data(y);
    sequence_.task({read(of_x_[0]), write(of_y)}, [&] { y = 1; });
    const auto seven = sequence_.task({read(of_y)}, [&] { return y + 6; });
    EXPECT_EQ(sequence_.wait(seven), 7);
  }
  expect_steps(100);
}

TEST_F(AutomaticTraces, EndWithTheSequence) {
  int good = 0;
  {
    Sequence sequence(runtime_, {.automatic_traces = 64});
    const Data of_good = sequence.data(good);
    for (int n = 0; n < 200; ++n) sequence.task({read_write(of_good)}, [&] { ++good; });
  }
  EXPECT_EQ(good, 200);
}

TEST_F(AutomaticTraces, AreEndedByAFailure) {
  const auto give = [&](int throws) {
    for (int n = 0; n < 300; ++n)
      sequence_.task({read_write(of_x_[0])},
                     [this, n, throws] {
                       if (n == throws) throw std::runtime_error("no flux");
                       ++x_[0];
                     },
                     {.name = n == throws ? "bad" : ""});
    sequence_.wait();
  };
  for (const int throws : {0, 31, 65, 200, 299}) {
    EXPECT_THAT([&] { give(throws); }, ThrowsMessage<TaskFailed>(HasSubstr("bad"))) << throws;
    EXPECT_NO_THROW(sequence_.wait());
    const std::uint64_t before = x_[0];
    give(-1);
    EXPECT_EQ(x_[0], before + 300);
  }
}

/// Tasks that were held back when a task failed are dropped as others are.
TEST_F(AutomaticTraces, HoldNothingBackOverAFailure) {
  for (int n = 0; n < 40; ++n) sequence_.task({read_write(of_x_[0])}, [this] { ++x_[0]; });
  sequence_.wait();
  bool ran = false;
  std::atomic<bool> go{false};
  const auto fail = [&go] {
    go.wait(false);
    throw std::runtime_error("no flux");
  };
  sequence_.task({write(of_x_[1])}, fail, {.worker = 1});
  for (int n = 0; n < 40; ++n) sequence_.task({read_write(of_x_[1])}, [&ran] { ran = true; });
  go = true;
  go.notify_all();
  EXPECT_THROW(runtime_.wait(), TaskFailed);
  sequence_.wait();
  EXPECT_FALSE(ran);
}

TEST_F(AutomaticTraces, TellOfAFailureWhereNobodyWaits) {
  testing::internal::CaptureStderr();
  {
    std::atomic<bool> go{false};
    Sequence sequence(runtime_, {.window = 256, .automatic_traces = 64});
    const Data token = sequence.token({.home = 1});
    for (int n = 0; n < 160; ++n)
      sequence.task({read_write(token)}, [n, &go] {
        if (n != 126) return;
        go.wait(false);
        throw std::runtime_error("no flux");
      });
    go = true;
    go.notify_all();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("nobody waited for this"));
}

TEST_F(AutomaticTraces, AllocateNothingWhereNothingRepeatsItself) {
  std::mt19937 random(2);
  const auto give = [&] {
    for (std::size_t n = 0; n < 20'000; ++n) {
      const std::size_t k = random() % 8, other = random() % 8;
      sequence_.task({read(of_x_[other]), read_write(of_x_[k])}, [this, k, other] { x_[k] += x_[other]; });
    }
    sequence_.wait();
  };
  give();
  const auto before = allocations();
  give();
  EXPECT_LT(allocations() - before, 500) << "of 20000 tasks";
}

TEST_F(AutomaticTraces, RefuseWhatIsTooLong) {
  EXPECT_THAT([&] { Sequence(runtime_, {.automatic_traces = std::size_t{1} << 40}); },
              ThrowsMessage<UsageError>(HasSubstr("automatic_traces is 1099511627776, allowed are 0 to 16777216")));
}

}  // namespace
}  // namespace taskgrain::rt
