/// How worker 0 looks for the end of a run: when it finds it, and at how many workers it looks.

#include "taskgrain/rt/detail/completion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

namespace taskgrain::rt::detail {
namespace {

using Hear = Completion::Hear;

/// Workers that have published what they are, and worker 0, which looks.
class Workers {
 public:
  explicit Workers(std::size_t number) : standings_(number), completion_(number) {}

  Standing& operator[](std::size_t w) { return standings_[w]; }
  bool reached(Hear hear = Hear::awaited) {
    const auto of = [this](std::size_t w) -> const Standing& { return ++looks_, standings_[w]; };
    return completion_.reached(of, outside, hear);
  }
  bool awaits(std::size_t w) const { return completion_.awaits(w); }
  /// Looks at a worker so far.
  std::size_t looks() const { return looks_; }

  OutsideCounts outside;

 private:
  std::vector<Standing> standings_;
  Completion completion_;
  std::size_t looks_ = 0;
};

TEST(Completion, IsReachedWhereNobodyHasBegun) {
  Workers workers(3);
  EXPECT_TRUE(workers.reached());
}

TEST(Completion, IsNotReachedWhileAWorkerIsBusy) {
  for (const Hear hear : {Hear::all, Hear::awaited}) {
    Workers workers(3);
    workers[2].busy();
    EXPECT_FALSE(workers.reached(hear));
    workers[2].idle(0, 0);
    EXPECT_TRUE(workers.reached(hear));
  }
}

TEST(Completion, IsNotReachedWhileAMessageIsUnderWay) {
  Workers workers(2);
  workers[1].busy();
  workers[1].idle(3, 1);
  EXPECT_FALSE(workers.reached());
  workers.outside.sent += 5;
  EXPECT_FALSE(workers.reached());
  workers[0].busy();
  workers[0].idle(0, 7);
  EXPECT_TRUE(workers.reached());
}

TEST(Completion, IsNotReachedWhileThereIsAHold) {
  Workers workers(2);
  ++workers.outside.holds;
  EXPECT_FALSE(workers.reached());
  --workers.outside.holds;
  EXPECT_TRUE(workers.reached());
}

TEST(Completion, AwaitsTheFirstThatIsBusyAndNobodyElse) {
  Workers workers(5);
  workers[2].busy();
  workers[4].busy();
  EXPECT_FALSE(workers.reached());
  for (const std::size_t w : {1, 2, 3, 4}) EXPECT_EQ(workers.awaits(w), w == 2);
  workers[4].idle(0, 0);
  workers[1].busy();  // before the one that is awaited: a look does not get so far
  EXPECT_FALSE(workers.reached());
  EXPECT_TRUE(workers.awaits(2));
  workers[2].idle(0, 0);
  EXPECT_FALSE(workers.reached());  // it has stirred since
  EXPECT_FALSE(workers.reached());
  for (const std::size_t w : {1, 2, 3, 4}) EXPECT_EQ(workers.awaits(w), w == 1);
  workers[1].idle(0, 0);
  EXPECT_TRUE(workers.reached());
}

TEST(Completion, AwaitsAnybodyWhereNobodyIsBusyOrAllAreToTell) {
  Workers workers(3);
  const auto anybody = [&] { return workers.awaits(1) && workers.awaits(2); };
  EXPECT_TRUE(anybody());
  workers[1].busy();
  EXPECT_FALSE(workers.reached());
  EXPECT_FALSE(anybody());
  EXPECT_FALSE(workers.reached(Hear::all));
  EXPECT_TRUE(anybody());
  EXPECT_FALSE(workers.reached());
  workers[1].idle(1, 0);  // and a message is under way, nobody knows to whom
  EXPECT_FALSE(workers.reached());
  EXPECT_TRUE(anybody());
}

TEST(Completion, TakesALookAtOneWorkerWhileThatIsBusy) {
  Workers workers(4096);
  workers[4095].busy();
  EXPECT_FALSE(workers.reached());
  const std::size_t before = workers.looks();
  for (int n = 0; n < 100; ++n) EXPECT_FALSE(workers.reached());
  EXPECT_EQ(workers.looks(), before + 100);
}

TEST(Completion, IsToldByFewOfManyThatBecomeIdle) {
  constexpr std::size_t number = 4096;
  std::mt19937 random(1);
  double sum = 0;
  constexpr int times = 50;
  for (int n = 0; n < times; ++n) {
    Workers workers(number);
    std::vector<std::size_t> order(number);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    for (const std::size_t w : order) workers[w].busy();
    EXPECT_FALSE(workers.reached());
    bool reached = false;
    for (const std::size_t w : order) {
      workers[w].idle(0, 0);
      if (!workers.awaits(w)) continue;
      ++sum;
      reached = workers.reached();
    }
    EXPECT_TRUE(reached);
    EXPECT_LE(workers.looks(), 2 * number + 100);
  }
  const double expected = std::log(number) + 0.58;  // of the records of a random order; its deviation is 2.6
  EXPECT_NEAR(sum / times, expected, 5 * 2.6 / std::sqrt(times));
}

}  // namespace
}  // namespace taskgrain::rt::detail
