/// Loops that are divided ahead: who claims each block, whatever owner and others do at the same time.

#include "taskgrain/rt/detail/work_sharing.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

constexpr std::uint32_t most_blocks = 4;

struct Loop {
  std::array<int, most_blocks>* runs;  // not atomic: an owner that goes on too soon is a race
  std::uint64_t number;                // what the others read must belong to their round
};

bool run(const void* loop, std::uint32_t block) noexcept {
  const Loop& of = *static_cast<const Loop*>(loop);
  (*of.runs)[block] += static_cast<int>(of.number);
  return true;
}

TEST(WorkSharing, OffersEachBlockUntilItIsClaimed) {
  WorkSharing loops;
  ASSERT_TRUE(loops.make_room(most_blocks));
  std::array<int, most_blocks> runs{};
  EXPECT_EQ(loops.offers(1), 0U) << "nothing is offered yet";
  const std::uint64_t round = loops.offer(&run, Loop{&runs, 7}, 3);
  EXPECT_EQ(loops.offers(1), round);
  EXPECT_EQ(loops.offers(3), 0U) << "so many blocks it has not";
  ASSERT_TRUE(loops.block(1).claim(round));
  EXPECT_FALSE(loops.block(1).claim(round));
  EXPECT_EQ(loops.offers(1), 0U);
  EXPECT_FALSE(loops.block(1).await(round)) << "not begun, as far as the owner knows";
  loops.block(1).begin(round);
  EXPECT_TRUE(loops.run(1));
  EXPECT_TRUE(loops.block(1).has_begun(round));
  EXPECT_TRUE(loops.block(1).await(round));
  EXPECT_TRUE(loops.block(1).end(round)) << "the owner sleeps";
  EXPECT_TRUE(loops.block(1).ended(round));
  EXPECT_TRUE(loops.block(2).claim(round));
  loops.block(2).end_here(round);
  EXPECT_EQ(runs, (std::array<int, most_blocks>{0, 7, 0, 0}));
  const std::uint64_t next = loops.offer(&run, Loop{&runs, 1}, most_blocks);
  EXPECT_FALSE(loops.block(1).claim(round)) << "who has seen an older round claims nothing";
  EXPECT_EQ(loops.offers(3), next) << "a block that was left out before";
}

/// In each round each block runs once, with what the owner offered in that round.
TEST(WorkSharing, EachBlockRunsOnceInARace) {
  WorkSharing loops;
  ASSERT_TRUE(loops.make_room(most_blocks));
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (std::uint32_t number = 1; number < most_blocks; ++number)
    threads.emplace_back([&, number] {
      Dice dice(number);
      for (Backoff backoff; !over.load();) {
        const std::uint64_t round = loops.offers(number);
        dice.tarry(64);  // the round may end meanwhile
        if (round == 0 || !loops.block(number).claim(round)) {
          backoff.wait();
          continue;
        }
        loops.block(number).begin(round);
        dice.tarry(64);
        loops.run(number);
        loops.block(number).end(round);
      }
    });
  Dice dice(99);
  const Race race(100000);
  std::int64_t shared = 0;
  for (std::int64_t n = 0; race.has(n); ++n) {
    std::array<int, most_blocks> runs{}, expected{};
    const auto blocks = static_cast<std::uint32_t>(2 + dice.below(most_blocks - 1));
    const int number = static_cast<int>(n % 1000 + 1);
    for (std::uint32_t k = 0; k < blocks; ++k) expected[k] = number;
    const std::uint64_t round = loops.offer(&run, Loop{&runs, static_cast<std::uint64_t>(number)}, blocks);
    dice.tarry(128);
    loops.run(0);
    for (std::uint32_t k = 1; k < blocks; ++k) {
      WorkSharing::Block& block = loops.block(k);
      if (!block.has_begun(round) && block.claim(round)) {
        loops.run(k);
        block.end_here(round);
      } else {
        ++shared;
      }
    }
    for (std::uint32_t k = 1; k < blocks; ++k)
      for (Backoff backoff; !loops.block(k).ended(round);) backoff.wait();
    ASSERT_EQ(runs, expected) << n;
  }
  over.store(true);
  for (std::thread& thread : threads) thread.join();
  RecordProperty("shared", static_cast<int>(shared));
}

}  // namespace
}  // namespace taskgrain::rt::detail
