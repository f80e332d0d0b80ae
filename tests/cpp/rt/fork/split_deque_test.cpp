/// The deque of branches: who takes each, whatever owner and thieves do at the same time.

#include "taskgrain/rt/detail/split_deque.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

struct Counted : Branch {
  Counted() : Branch([](Branch& branch) noexcept { ++static_cast<Counted&>(branch).runs; }) {}
  std::atomic<int> runs{0};
};

std::vector<Branch*> stolen(SplitDeque& deque) {
  std::vector<Branch*> found;
  while (Branch* const one = deque.steal()) found.push_back(one);
  return found;
}

TEST(SplitDeque, SharesTheOlderHalfWhenAsked) {
  SplitDeque deque;
  std::deque<Counted> branches(5);
  for (Counted& one : branches) ASSERT_TRUE(deque.push(one));
  EXPECT_TRUE(stolen(deque).empty()) << "nothing is shared yet";
  EXPECT_FALSE(deque.must_share());
  deque.request();
  ASSERT_TRUE(deque.must_share());
  deque.share(0);
  EXPECT_FALSE(deque.must_share());
  EXPECT_EQ(stolen(deque), (std::vector<Branch*>{&branches[0], &branches[1], &branches[2]}));
  EXPECT_EQ(deque.pop(), &branches[4]);
  EXPECT_EQ(deque.pop(), &branches[3]);
  EXPECT_EQ(deque.pop(), nullptr) << "the next was stolen";
  EXPECT_EQ(&deque.newest(), &branches[2]);
  for (int k = 3; k > 0; --k) deque.drop();
  EXPECT_EQ(deque.size(), 0U);
}

TEST(SplitDeque, TakesBackWhatNobodyStole) {
  SplitDeque deque;
  std::deque<Counted> branches(8);
  for (Counted& one : branches) ASSERT_TRUE(deque.push(one));
  deque.share(0);
  deque.share(0);
  EXPECT_EQ(deque.steal(), &branches[0]);
  for (std::size_t k = 8; k-- > 1;) EXPECT_EQ(deque.pop(), &branches[k]);
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_TRUE(stolen(deque).empty());
}

TEST(SplitDeque, HasRoomForAFixedNumber) {
  SplitDeque deque;
  std::vector<std::unique_ptr<Counted>> branches;
  for (std::uint32_t k = 0; k < SplitDeque::capacity; ++k)
    ASSERT_TRUE(deque.push(*branches.emplace_back(std::make_unique<Counted>())));
  Counted another;
  EXPECT_FALSE(deque.push(another));
  EXPECT_EQ(another.place_, Branch::nowhere);
  EXPECT_EQ(deque.pop(), branches.back().get());
  EXPECT_TRUE(deque.push(another));
}

/// The owner pushes and takes back at random; each branch runs once, where it was taken.
TEST(SplitDeque, EachBranchIsTakenOnceInARace) {
  constexpr int thieves = 3;
  SplitDeque deque;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < thieves; ++k)
    threads.emplace_back([&, k] {
      Dice dice(static_cast<std::uint64_t>(k));
      for (Backoff backoff; !over.load();) {
        deque.request();
        Branch* const branch = deque.steal();
        if (branch == nullptr) {
          backoff.wait();
          continue;
        }
        dice.tarry(32);
        branch->run();
        branch->end();
      }
    });
  Dice dice(99);
  const Race race(100000);
  std::int64_t stolen = 0, taken = 0;
  for (std::int64_t round = 0; race.has(round); ++round) {
    const std::size_t number = 1 + dice.below(12);
    std::deque<Counted> branches(number);
    std::size_t pushed = 0;
    const auto take_newest = [&] {
      if (Branch* const newest = deque.pop()) {
        ASSERT_EQ(newest, &branches[pushed - 1]);
        newest->run();
        newest->end_here();
        ++taken;
      } else {
        ASSERT_EQ(&deque.newest(), &branches[pushed - 1]);
        for (Backoff backoff; !deque.newest().ended();) backoff.wait();
        deque.drop();
        ++stolen;
      }
      --pushed;
    };
    for (std::size_t made = 0; made < number || pushed > 0;) {
      if (made < number && (pushed == 0 || dice.below(3) != 0) && pushed == made) {
        ASSERT_TRUE(deque.push(branches[made++]));
        ++pushed;
      } else {
        if (pushed > 0) take_newest();
        if (pushed < made) made = number;  // what was taken is not pushed again
      }
      if (deque.must_share()) deque.share(static_cast<std::uint32_t>(dice.below(3)));
      dice.tarry(64);
    }
    ASSERT_EQ(deque.size(), 0U);
    for (const Counted& one : branches) ASSERT_LE(one.runs.load(), 1);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
  over.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(taken, 0);
  RecordProperty("stolen", static_cast<int>(stolen));
}

}  // namespace
}  // namespace taskgrain::rt::detail
