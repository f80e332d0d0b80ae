/// Short random histories of an offer, a few operations of an owner and of one or two thieves at once: each must be
/// linearisable.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "history.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/detail/offer.hpp"

namespace taskgrain::rt::detail {
namespace {

using enum Operation::Kind;

TEST(Linearisable, IsWhatAnOfferCouldHaveDone) {
  EXPECT_TRUE(linearisable({{}, {{}}}));
  EXPECT_TRUE(
      linearisable({{}, {{{make, {1, 2, 3, 4}}, {take_newest, {4}}, {take_oldest, {1, 2}}, {take_newest, {3}}}}}));
  EXPECT_TRUE(linearisable({{1, 2, 3}, {{{take_newest, {2, 3}}}, {{steal, {1}}}}}));
  EXPECT_TRUE(linearisable({{1}, {{{add, {2, 3}}, {take_newest, {3}}}, {{steal, {1, 2}}}}}));
  EXPECT_TRUE(linearisable({{1}, {{{add, {}}}, {{steal, {1}}}}})) << "nothing was left to add to";
  EXPECT_TRUE(linearisable({{}, {{{make, {1, 2}}}, {{steal, {}}, {steal, {1}}, {steal, {2}}}}}));
  EXPECT_TRUE(linearisable({{1, 2}, {{{make, {3}}}, {{steal, {1, 2}}, {steal, {3}}}}}));
  EXPECT_TRUE(linearisable({{1, 2}, {{}, {{steal, {1}}}, {{steal, {}}}}})) << "the other thief was quicker";
}

TEST(Linearisable, IsNothingElse) {
  EXPECT_FALSE(linearisable({{1}, {{{take_newest, {1}}}, {{steal, {1}}}}})) << "taken twice";
  EXPECT_FALSE(linearisable({{1, 2, 3}, {{{take_newest, {2, 3}}}, {{steal, {1, 2}}}}})) << "one of them taken twice";
  EXPECT_FALSE(linearisable({{1}, {{{take_newest, {}}}}})) << "lost";
  EXPECT_FALSE(linearisable({{}, {{{take_newest, {1}}}}})) << "out of nothing";
  EXPECT_FALSE(linearisable({{1, 2}, {{{take_newest, {1}}}}})) << "the oldest for the newest";
  EXPECT_FALSE(linearisable({{1, 2}, {{}, {{steal, {2}}}}})) << "the newest to a thief";
  EXPECT_FALSE(linearisable({{1}, {{{make, {2}}}}})) << "a second offer beside the first";
  EXPECT_FALSE(linearisable({{1}, {{{add, {}}}}})) << "refused without need";
  EXPECT_FALSE(linearisable({{1}, {{{add, {2}}}, {{steal, {2}}, {steal, {1}}}}}));
  EXPECT_FALSE(linearisable({{}, {{{make, {1}}}, {{steal, {1}}}, {{steal, {1}}}}})) << "stolen twice";
}

TEST(Linearisable, KeepsToTheClock) {
  const auto at = [](std::uint64_t begin_of_offer, std::uint64_t end_of_offer) {
    return History{{}, {{{make, {1}, begin_of_offer, end_of_offer}}, {{steal, {}, 3, 4}}}};
  };
  EXPECT_FALSE(linearisable(at(1, 2)));
  EXPECT_TRUE(linearisable(at(1, 5)));
  EXPECT_TRUE(linearisable(at(5, 6)));
  EXPECT_FALSE(linearisable({{1, 2}, {{}, {{steal, {1}, 1, 2}}, {{steal, {}, 3, 4}}}})) << "the other was too quick";
}

/// Threads that work on one offer for a moment, again and again.
class Histories {
 public:
  enum Clock { none, counter };
  Histories(std::size_t threads, Clock clock) : clock_(clock), meeting_(static_cast<int>(threads)) {
    made_.threads.resize(threads);
    offer_.use(ring_);
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
          rob(k, dice);
          meeting_.wait();
        }
      });
    Dice dice(0);
    std::int64_t mixed_luck = 0;
    const Race race(most);
    for (std::int64_t round = 0; race.has(round); ++round) {
      prepare(dice);
      meeting_.wait();
      own(dice);
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
  static constexpr int parts = 1;

  void prepare(Dice& dice) {
    while (offer_.take_back(true, parts).number > 0) {
    }
    made_.content.clear();
    for (auto& operations : made_.threads) operations.clear();
    if (dice.below(2) == 0) {
      const Operation made = make_some(dice);
      made_.content.assign(made.numbers.begin(), made.numbers.end());
    }
  }

  /// Offers some entries, in slots of the last offer or in others. \pre nothing is on offer
  Operation make_some(Dice& dice) {
    if (dice.below(2) == 0) end_ += dice.below(5);
    const std::size_t first = end_;
    const Operation made = write_some(make, dice);
    offer_.make(first, made.numbers.size(), dice.below(4) == 0);
    return made;
  }
  Operation write_some(Operation::Kind kind, Dice& dice) {
    Operation operation{kind, {}};
    for (std::uint64_t count = 1 + dice.below(4); count > 0; --count) {
      operation.numbers.push_back(++last_);
      ring_.write(end_++, entry_of(last_));
    }
    return operation;
  }

  void own(Dice& dice) {
    dice.tarry(200);
    for (int k = 0; k < 6; ++k) {
      const std::uint64_t begin = now();
      Operation operation;
      if (offer_.left() == 0) {
        operation = make_some(dice);
      } else if (dice.below(4) == 0) {
        operation = write_some(add, dice);
        if (!offer_.add(operation.numbers.size())) {
          end_ -= operation.numbers.size();
          operation.numbers.clear();
        }
      } else {
        operation.kind = dice.below(2) == 0 ? take_newest : take_oldest;
        const auto [at, number] = offer_.take_back(operation.kind == take_newest, parts);
        operation.numbers = numbers(ring_, at, number);
        if (operation.kind == take_newest) end_ -= number;  // to write there again
      }
      record(0, operation, begin);
    }
  }

  void rob(std::size_t thread, Dice& dice) {
    std::vector<Entry> slots(Offer::most_stolen);
    const Ring mine(slots);
    dice.tarry(200);
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t begin = now();
      const std::size_t number = offer_.steal(mine, 7, parts);
      const Operation operation{steal, numbers(mine, 7, number)};
      record(thread, operation, begin);
    }
  }

  std::uint64_t now() { return clock_ == counter ? ++now_ : 0; }
  void record(std::size_t thread, Operation operation, std::uint64_t begin) {
    if (clock_ == counter) operation.begin = begin, operation.end = now();
    made_.threads[thread].push_back(operation);
  }
  static std::vector<std::uint64_t> numbers(const Ring& ring, std::size_t begin, std::size_t number) {
    std::vector<std::uint64_t> all;
    for (std::size_t at = begin; at < begin + number; ++at) {
      all.push_back(number_of(ring[at]));
      if (!whole(ring[at])) ADD_FAILURE() << "entry " << all.back() << " is torn";
    }
    return all;
  }

  bool luck(bool done) const {
    for (std::size_t thread = 1; thread < made_.threads.size(); ++thread)
      for (const Operation& operation : made_.threads[thread])
        if (operation.numbers.empty() != done) return true;
    return false;
  }

  const Clock clock_;
  Meeting meeting_;
  std::vector<Entry> slots_ = std::vector<Entry>(64);  // more than are ever on offer
  const Ring ring_{slots_};
  Offer offer_;
  History made_;
  std::size_t end_ = 0;     // behind what is on offer
  std::uint64_t last_ = 0;  // number offered; of the owner
  bool over_ = false;       // written by the owner while the thieves wait for it
  std::atomic<std::uint64_t> now_{0};
};

class OfferHistories : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, OfferHistories, testing::Values(2, 3), testing::PrintToStringParamName());

/// With a clock each operation takes effect between two read-modify-writes: whatever a store buffer could keep back is
/// out by then.
TEST_P(OfferHistories, AreLinearisable) { EXPECT_GT(Histories(GetParam(), Histories::counter).check(50'000), 0); }

/// Without one there is nothing that would keep the processor from its reordering; only the order of each thread is
/// known then.
TEST_P(OfferHistories, AreLinearisableWithoutAClock) {
  EXPECT_GT(Histories(GetParam(), Histories::none).check(50'000), 0);
}

}  // namespace
}  // namespace taskgrain::rt::detail
