/// Short random histories of the deque, a few operations of an owner and of one or two thieves at once: each must be
/// linearisable.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "history.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/detail/deque.hpp"

namespace taskgrain::rt::detail {
namespace {

using enum Operation::Kind;

History history(std::deque<std::uint64_t> content, std::vector<std::vector<Operation>> threads) {
  return {2, std::move(content), std::move(threads)};
}

TEST(Linearisable, IsWhatADequeCouldHaveDone) {
  EXPECT_TRUE(linearisable(history({}, {{}})));
  EXPECT_TRUE(linearisable(history(
      {}, {{{push, 1, true}, {push, 2, true}, {push, 3, false}, {pop, 2, true}, {pop, 1, true}, {pop, 0, false}}})));
  EXPECT_TRUE(linearisable(history({1, 2}, {{{pop, 2, true}}, {{steal, 1, true}}})));
  EXPECT_TRUE(linearisable(
      history({}, {{{push, 1, true}, {push, 2, true}}, {{steal, 0, false}, {steal, 1, true}, {steal, 2, true}}})));
  EXPECT_TRUE(linearisable(history({1, 2}, {{{push, 3, true}}, {{steal, 1, true}}})))
      << "the thief may have come first";
  EXPECT_TRUE(linearisable(history({1, 2}, {{}, {{steal, 1, true}}, {{steal, 0, false}}})))
      << "the other thief was quicker";
}

TEST(Linearisable, IsNothingElse) {
  EXPECT_FALSE(linearisable(history({1}, {{{pop, 1, true}}, {{steal, 1, true}}}))) << "taken twice";
  EXPECT_FALSE(linearisable(history({1}, {{{pop, 0, false}}}))) << "lost";
  EXPECT_FALSE(linearisable(history({}, {{{pop, 1, true}}}))) << "out of nothing";
  EXPECT_FALSE(linearisable(history({1, 2}, {{{pop, 1, true}}}))) << "the oldest to the owner";
  EXPECT_FALSE(linearisable(history({1, 2}, {{}, {{steal, 2, true}}}))) << "the newest to a thief";
  EXPECT_FALSE(linearisable(history({1}, {{{push, 2, false}}}))) << "refused without need";
  EXPECT_FALSE(linearisable(history({1, 2}, {{{push, 3, true}}}))) << "more than fit";
  EXPECT_FALSE(linearisable(history({1}, {{{push, 2, true}}, {{steal, 0, false}}})))
      << "not found, and nobody was quicker";
  EXPECT_FALSE(linearisable(
      history({}, {{{push, 1, true}, {pop, 1, true}, {push, 2, true}}, {{steal, 2, true}, {steal, 1, true}}})));
}

TEST(Linearisable, KeepsToTheClock) {
  const auto at = [](std::uint64_t begin_of_push, std::uint64_t end_of_push) {
    return history({}, {{{push, 1, true, begin_of_push, end_of_push}}, {{steal, 0, false, 3, 4}}});
  };
  EXPECT_FALSE(linearisable(at(1, 2)));
  EXPECT_TRUE(linearisable(at(1, 5)));
  EXPECT_TRUE(linearisable(at(5, 6)));
  EXPECT_FALSE(linearisable(history({1, 2}, {{}, {{steal, 1, true, 1, 2}}, {{steal, 0, false, 3, 4}}})))
      << "the other was too quick";
}

/// Threads that work on one deque for a moment, again and again.
class Histories {
 public:
  enum Clock { none, counter };
  Histories(std::size_t threads, Clock clock)
      : clock_(clock), meeting_(static_cast<int>(threads)), made_{Deque::capacity, {}, {}} {
    made_.threads.resize(threads);
  }

  /// Makes up to `most` histories and returns how many of them had a thief that got something and one that did not.
  std::int64_t check(std::int64_t most) {
    std::vector<std::thread> thieves;
    for (std::size_t k = 1; k < made_.threads.size(); ++k)
      thieves.emplace_back([this, k] {
        Dice dice(k);
        for (;;) {
          meeting_.wait();
          if (over_) return;
          act(k, 3, dice);
          meeting_.wait();
        }
      });
    Dice dice(0);
    std::int64_t mixed_luck = 0;
    const Race race(most);
    for (std::int64_t round = 0; race.has(round); ++round) {
      prepare(dice);
      meeting_.wait();
      act(0, 6, dice);
      meeting_.wait();
      mixed_luck += luck(true) && luck(false);
      if (!linearisable(made_)) ADD_FAILURE() << made_;
    }
    over_ = true;
    meeting_.wait();
    for (std::thread& thief : thieves) thief.join();
    return mixed_luck;
  }

 private:
  /// Leaves the deque with few entries or with little room, and none of them where they were.
  void prepare(Dice& dice) {
    Entry entry;
    while (deque_.pop(entry)) {
    }
    made_.content.clear();
    const std::uint64_t few = dice.below(3);
    for (std::uint64_t left = dice.below(4) == 0 ? Deque::capacity - few : few; left > 0; --left) {
      deque_.push(entry_of(++last_));
      made_.content.push_back(last_);
    }
    for (auto& operations : made_.threads) operations.clear();
  }

  void act(std::size_t thread, int operations, Dice& dice) {
    dice.tarry(200);
    for (int k = 0; k < operations; ++k) {
      Operation operation{thread != 0 ? steal : dice.below(2) == 0 ? push : pop, 0, false};
      if (clock_ == counter) operation.begin = ++now_;
      Entry entry;
      switch (operation.kind) {
        case push:
          operation.done = deque_.push(entry = entry_of(++last_));
          break;
        case pop:
          operation.done = deque_.pop(entry);
          break;
        case steal:
          operation.done = deque_.steal(entry);
          break;
      }
      if (clock_ == counter) operation.end = ++now_;
      if (operation.done || operation.kind == push) operation.number = number_of(entry);
      if (operation.done && !whole(entry)) ADD_FAILURE() << "entry " << operation.number << " is torn";
      made_.threads[thread].push_back(operation);
    }
  }

  bool luck(bool done) const {
    for (std::size_t thread = 1; thread < made_.threads.size(); ++thread)
      for (const Operation& operation : made_.threads[thread])
        if (operation.done == done) return true;
    return false;
  }

  const Clock clock_;
  Meeting meeting_;
  Deque deque_;
  History made_;
  std::uint64_t last_ = 0;  // number pushed; of the owner
  bool over_ = false;       // written by the owner while the thieves wait for it
  std::atomic<std::uint64_t> now_{0};
};

class DequeHistories : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, DequeHistories, testing::Values(2, 3), testing::PrintToStringParamName());

/// With a clock each operation takes effect between two read-modify-writes: whatever a store buffer could keep back is
/// out by then.
TEST_P(DequeHistories, AreLinearisable) { EXPECT_GT(Histories(GetParam(), Histories::counter).check(50'000), 0); }

/// Without one there is nothing that would keep the processor from its reordering; only the order of each thread is
/// known then.
TEST_P(DequeHistories, AreLinearisableWithoutAClock) {
  EXPECT_GT(Histories(GetParam(), Histories::none).check(50'000), 0);
}

}  // namespace
}  // namespace taskgrain::rt::detail
