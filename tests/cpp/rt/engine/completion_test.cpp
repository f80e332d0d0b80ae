/// How worker 0 looks for the end of a run: when it finds it, and at how many workers it looks.

#include "taskgrain/rt/detail/completion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace taskgrain::rt::detail {
namespace {

/// Workers that have published what they are, and worker 0, which looks.
class Workers {
 public:
  explicit Workers(std::size_t number) : idle_states_(number), completion_(number) {}

  IdleState& operator[](std::size_t w) { return idle_states_[w]; }
  bool reached() {
    const auto of = [this](std::size_t w) -> const IdleState& { return ++looks_, idle_states_[w]; };
    return completion_.reached(of, outside, [this] { return outside.holds != 0; });
  }
  std::size_t busy() const { return completion_.busy(); }
  /// Looks at a worker so far.
  std::size_t looks() const { return looks_; }

  OutsideCounts outside;

 private:
  std::vector<IdleState> idle_states_;
  Completion completion_;
  std::size_t looks_ = 0;
};

TEST(Completion, IsReachedWhenNobodyIsBusyNorAMessageUnderWayNorAHoldLeft) {
  constexpr std::size_t number = 4;
  std::mt19937 random(1);
  Workers workers(number);
  struct Counts {
    bool busy = false;
    std::uint64_t sent = 0, received = 0;
  } counts[number];
  std::uint64_t under_way = 0;
  int ends = 0;
  const auto one_in = [&](unsigned chance) { return random() % chance == 0; };
  for (int n = 0; n < 20'000; ++n) {
    const std::size_t w = random() % number;
    auto& [busy, sent, received] = counts[w];
    if (!busy) {
      workers[w].busy();
      const bool takes_all = one_in(2);
      if (takes_all) {
        received += under_way;
        under_way = 0;
      }
    } else {
      const bool sends = one_in(4);
      if (sends) {
        ++sent;
        ++under_way;
      }
      workers[w].idle(sent, received);
    }
    busy = !busy;
    const bool outside_sends = one_in(16);
    if (outside_sends) {
      ++workers.outside.sent;
      ++under_way;
    }
    const bool held = one_in(16);
    workers.outside.holds = held;

    const bool looks = one_in(2);
    if (!looks) continue;
    const bool somebody = std::ranges::any_of(counts, &Counts::busy);
    const bool is_end = !somebody && under_way == 0 && !held;
    ASSERT_EQ(workers.reached(), is_end) << n;
    if (is_end) ++ends;
    if (held) continue;
    if (somebody && under_way == 0) ASSERT_NE(workers.busy(), Completion::anybody) << n;
    if (workers.busy() != Completion::anybody) ASSERT_TRUE(counts[workers.busy()].busy) << n;
  }
  EXPECT_GT(ends, 100);
}

TEST(Completion, AwaitsOneWorkerOrAnybody) {
  Completion completion(3);
  EXPECT_TRUE(completion.awaits(1) && completion.awaits(2));
  completion.await(2);
  EXPECT_FALSE(completion.awaits(1));
  EXPECT_TRUE(completion.awaits(2));
  completion.await(Completion::anybody);
  EXPECT_TRUE(completion.awaits(1) && completion.awaits(2));
}

TEST(Completion, TakesALookAtOneWorkerWhileThatIsBusy) {
  Workers workers(4096);
  workers[0].busy();
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
      if (workers.busy() != w) continue;
      ++sum;
      reached = workers.reached();
    }
    EXPECT_TRUE(reached);
    EXPECT_LE(workers.looks(), 2 * number + 100);
  }
  const double expected = std::log(number) + 0.58;  // of the records of a random order; its deviation is 2.6
  EXPECT_NEAR(sum / times, expected, 5 * 2.6 / std::sqrt(times));
}

TEST(Completion, IsToldByTheLastWhereTheyBecomeIdleInTheirOrder) {
  Workers workers(100);
  for (std::size_t w = 0; w < 100; ++w) workers[w].busy();
  EXPECT_FALSE(workers.reached());
  for (std::size_t w = 0; w < 99; ++w) {
    workers[w].idle(0, 0);
    EXPECT_NE(workers.busy(), w);
  }
  workers[99].idle(0, 0);
  EXPECT_TRUE(workers.reached());
}

}  // namespace
}  // namespace taskgrain::rt::detail
