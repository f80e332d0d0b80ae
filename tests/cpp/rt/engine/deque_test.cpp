/// The deque: newest first for its owner, oldest first for thieves, and every entry to one of them.

#include "taskgrain/rt/detail/deque.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

constexpr auto capacity = static_cast<std::uint64_t>(Deque::capacity);

TEST(Deque, IsEmptyAtFirstAndAsOftenAsItIsAsked) {
  Deque deque;
  Entry entry = entry_of(5);
  for (int again = 0; again < 3; ++again) {
    EXPECT_FALSE(deque.pop(entry));
    EXPECT_FALSE(deque.steal(entry));
    EXPECT_EQ(deque.size(), 0);
  }
  EXPECT_EQ(number_of(entry), 5u) << "an entry that was not there was written";
  EXPECT_TRUE(deque.push(entry_of(1)));
  EXPECT_TRUE(deque.pop(entry));
  EXPECT_EQ(number_of(entry), 1u);
}

TEST(Deque, GivesTheOwnerTheNewestAndThievesTheOldest) {
  Deque deque;
  for (std::uint64_t n = 1; n <= 4; ++n) ASSERT_TRUE(deque.push(entry_of(n)));
  std::vector<std::uint64_t> order;
  Entry entry;
  for (const bool owner : {true, false, false, true}) {
    ASSERT_TRUE(owner ? deque.pop(entry) : deque.steal(entry));
    EXPECT_TRUE(whole(entry));
    order.push_back(number_of(entry));
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{4, 1, 2, 3}));
  EXPECT_FALSE(deque.pop(entry));
}

TEST(Deque, RefusesWhatDoesNotFit) {
  Deque deque;
  Entry entry;
  for (std::uint64_t n = 0; n < capacity; ++n) ASSERT_TRUE(deque.push(entry_of(n)));
  EXPECT_FALSE(deque.push(entry_of(1000)));
  EXPECT_EQ(deque.size(), Deque::capacity);
  ASSERT_TRUE(deque.steal(entry));
  EXPECT_EQ(number_of(entry), 0u);
  EXPECT_TRUE(deque.push(entry_of(capacity)));
  EXPECT_FALSE(deque.push(entry_of(1000)));
  for (std::uint64_t n = capacity; n > 0; --n) {
    ASSERT_TRUE(deque.pop(entry));
    EXPECT_EQ(number_of(entry), n);
  }
  EXPECT_FALSE(deque.pop(entry));
}

/// One thread, against a deque that cannot be wrong; every fill, and hundreds of times round the ring.
TEST(Deque, DoesWhatADequeDoes) {
  Deque deque;
  std::deque<std::uint64_t> expected;
  Dice dice(1);
  for (std::uint64_t n = 0; n < 200'000; ++n) {
    Entry entry;
    const std::uint64_t phase = n / 500 % 3;  // it fills, it empties, it stays
    const std::uint64_t roll = dice.below(12);
    if (roll < (phase == 0 ? 8u : phase == 1 ? 4u : 6u)) {
      ASSERT_EQ(deque.push(entry_of(n)), expected.size() < capacity);
      if (expected.size() < capacity) expected.push_back(n);
    } else {
      const bool owner = roll % 2 == 0;
      ASSERT_EQ(owner ? deque.pop(entry) : deque.steal(entry), !expected.empty());
      if (!expected.empty()) {
        ASSERT_TRUE(whole(entry));
        ASSERT_EQ(number_of(entry), owner ? expected.back() : expected.front());
        owner ? expected.pop_back() : expected.pop_front();
      }
    }
    ASSERT_EQ(deque.size(), static_cast<std::int64_t>(expected.size()));
  }
}

enum class Habit { one_by_one, in_bursts, to_the_brim };

/// What an owner does with a deque that others steal from, and what it has taken itself.
class Owner {
 public:
  Owner(Deque& deque, Habit habit) : deque_(deque), habit_(habit) {}

  void push_all(std::uint64_t entries) {
    for (std::uint64_t turn = 0; next_ < entries; ++turn) {
      switch (habit_) {
        case Habit::one_by_one:
          take(push(1));
          break;  // every entry is the last one
        case Habit::in_bursts:
          push(dice_.below(8)), take(dice_.below(8));
          break;
        case Habit::to_the_brim:
          push(capacity + 1), take(dice_.below(capacity));
          break;
      }
      if (turn % 1000 == 0) be_robbed();
      dice_.tarry(40);
    }
    take(capacity + 1);
  }

  std::vector<std::uint64_t> taken;
  std::uint64_t wrong = 0;  // pops that did not give the newest entry

 private:
  std::uint64_t push(std::uint64_t most) {
    std::uint64_t pushed = 0;
    for (; pushed < most && deque_.push(entry_of(next_)); ++pushed) own_.push_back(next_++);
    return pushed;
  }
  void take(std::uint64_t most) {
    Entry entry;
    for (std::uint64_t k = 0; k < most; ++k) {
      if (!deque_.pop(entry)) {
        own_.clear();  // the rest was stolen
        return;
      }
      taken.push_back(number_of(entry));
      wrong += own_.empty() || own_.back() != number_of(entry) || !whole(entry);
      if (!own_.empty()) own_.pop_back();
    }
  }
  /// Waits until thieves have taken everything, so that there are some even if they get little of the cores.
  void be_robbed() {
    push(1);
    for (Patience patience; deque_.size() != 0;) patience.wait();
  }

  Deque& deque_;
  const Habit habit_;
  Dice dice_{1};
  std::uint64_t next_ = 0;
  std::vector<std::uint64_t> own_;  // pushed and not taken by the owner
};

struct Thief {
  std::vector<std::uint64_t> taken;
  std::uint64_t wrong = 0;  // entries torn, or not newer than the one before

  void steal_until(const std::atomic<bool>& end, Deque& deque, std::uint64_t seed) {
    Dice dice(seed);
    Entry entry;
    while (!end.load()) {
      for (Patience patience; !deque.steal(entry);) {
        if (end.load()) return;
        patience.wait();
      }
      wrong += !whole(entry) || (!taken.empty() && number_of(entry) <= taken.back());
      taken.push_back(number_of(entry));
      dice.tarry(60);
    }
  }
};

using Robbery = std::tuple<int, Habit>;
std::string name_of(const testing::TestParamInfo<Robbery>& robbery) {
  constexpr const char* habits[] = {"OneByOne", "InBursts", "ToTheBrim"};
  return habits[static_cast<int>(std::get<1>(robbery.param))] + std::to_string(std::get<0>(robbery.param));
}

class Robberies : public testing::TestWithParam<Robbery> {};
INSTANTIATE_TEST_SUITE_P(Thieves, Robberies,
                         testing::Combine(testing::Values(1, 2, 3),
                                          testing::Values(Habit::one_by_one, Habit::in_bursts, Habit::to_the_brim)),
                         name_of);

TEST_P(Robberies, EveryEntryIsTakenOnce) {
  const auto [number, habit] = GetParam();
  Deque deque;
  Owner owner(deque, habit);
  std::vector<Thief> thieves(static_cast<std::size_t>(number));
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < thieves.size(); ++k)
    threads.emplace_back([&, k] { thieves[k].steal_until(end, deque, k + 1); });
  owner.push_all(static_cast<std::uint64_t>(rounds(1'000'000)));
  end = true;
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(owner.wrong, 0u);
  std::vector<std::uint64_t> all = owner.taken;
  for (const Thief& thief : thieves) {
    EXPECT_EQ(thief.wrong, 0u);
    all.insert(all.end(), thief.taken.begin(), thief.taken.end());
  }
  EXPECT_GT(all.size(), owner.taken.size()) << "nothing was stolen";
  RecordProperty("taken_by_the_owner_percent", static_cast<int>(100 * owner.taken.size() / all.size()));
  std::ranges::sort(all);
  std::vector<std::uint64_t> expected(all.size());
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  EXPECT_EQ(all, expected);
  EXPECT_GE(all.size(), static_cast<std::size_t>(rounds(1'000'000)));
}

/// What the owner wrote before push is seen by whoever takes the entry, and what that one writes is nobody else's.
/// (ThreadSanitizer would call it a race if that did not follow from the orders of the deque.)
TEST(Deque, ShowsWhatWasWrittenBefore) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rounds(200'000)), 0);
  Deque deque;
  std::atomic<bool> end{false};
  const auto use = [](const Entry& entry) { *entry.payload.as<std::int64_t*>() += 2; };
  std::thread thief([&] {
    Entry entry;
    while (!end.load()) {
      for (Patience patience; !deque.steal(entry);) {
        if (end.load()) return;
        patience.wait();
      }
      use(entry);
    }
  });
  Entry entry;
  Dice dice(7);
  for (std::int64_t& value : values) {
    value = 1;
    while (!deque.push({entry_of(0).handler, Payload::of(&value)}))
      if (deque.pop(entry)) use(entry);
    if (dice.below(2) == 0 && deque.pop(entry)) use(entry);
  }
  while (deque.pop(entry)) use(entry);
  end = true;
  thief.join();
  EXPECT_EQ(std::ranges::count(values, 3), static_cast<std::int64_t>(values.size()));
}

}  // namespace
}  // namespace taskgrain::rt::detail
