/// What is shared and stolen: the oldest to thieves, and every entry to one of them or to the owner.

#include "taskgrain/rt/detail/stealable_range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt/detail/ready_queue.hpp"

namespace taskgrain::rt::detail {
namespace {

TEST(StealableRange, IsOfManyEntriesAndOfAnyNumberOfThem) {
  std::vector<Entry> slots(8192), mine(StealableRange::most_stolen);
  const Ring ring(slots), into(mine);
  StealableRange range;
  range.use(ring);
  range.make(5000, StealableRange::most);
  EXPECT_EQ(range.left(), StealableRange::most);
  EXPECT_EQ(range.steal(into, 0, 1), StealableRange::most_stolen);
  EXPECT_EQ(range.begin(), 5000 + StealableRange::most_stolen);
  EXPECT_EQ(range.take_back(true, 0).number, StealableRange::most - StealableRange::most_stolen);
  EXPECT_EQ(range.left(), 0U);
}

// -- races for the tasks of a queue

enum class Habit { one_by_one, in_bursts, in_floods };

/// Pushes tasks and takes them again, in its own way.
class Owner {
 public:
  Owner(ReadyQueue& queue, Habit habit) : queue_(queue), habit_(habit) {}

  void push_all(std::uint64_t tasks) {
    while (next_ < tasks) {
      const std::uint64_t most = habit_ == Habit::one_by_one ? 1 : habit_ == Habit::in_bursts ? 8 : 6000;
      for (std::uint64_t k = 1 + dice_.below(most); k > 0; --k) push();
      take(habit_ == Habit::one_by_one ? 1 : dice_.below(most));
      if (next_ >= stolen_from_at_) be_stolen_from();
      dice_.tarry(40);
    }
    take(next_);
  }

  std::vector<std::uint64_t> taken;
  std::uint64_t torn = 0;

 private:
  void push() {
    const Entry task = entry_of(next_++);
    if (!queue_.must_check())
      queue_.push(task);
    else if (queue_.push_slowly(task) && queue_.can_share())
      queue_.share();
  }
  void take(std::uint64_t most) {
    for (std::uint64_t k = 0; k < most; ++k) {
      const Entry* task = queue_.pop_plain();
      if (task == nullptr) return;  // the rest was stolen
      if (queue_.can_share()) queue_.share();
      taken.push_back(number_of(*task));
      torn += !whole(*task);
    }
  }
  /// Waits until thieves have taken something, so that there are some even if they get little of the cores.
  void be_stolen_from() {
    for (int k = 0; k < 4; ++k) push();
    if (queue_.can_share()) queue_.share();
    const std::size_t before = queue_.range().left();
    for (Backoff backoff; before > 0 && queue_.range().left() == before;) backoff.wait();
    stolen_from_at_ = next_ + 1000;
  }

  ReadyQueue& queue_;
  const Habit habit_;
  Dice dice_{1};
  std::uint64_t next_ = 0, stolen_from_at_ = 0;
};

struct Thief {
  std::vector<std::uint64_t> taken;
  std::uint64_t torn = 0;
  ReadyQueue queue;

  explicit Thief(Order order) : queue(order, 2) {}
  void steal_until(const std::atomic<bool>& end, ReadyQueue& victim, std::uint64_t seed) {
    Dice dice(seed);
    while (!end.load()) {
      for (Backoff backoff; queue.steal(victim) == 0;) {
        if (end.load()) return;
        victim.range().request();
        backoff.wait();
      }
      while (const Entry* task = queue.pop_plain()) {
        torn += !whole(*task);
        taken.push_back(number_of(*task));
      }
      dice.tarry(60);
    }
  }
};

using Theft = std::tuple<int, Habit, Order>;
std::string name_of(const testing::TestParamInfo<Theft>& theft) {
  constexpr const char* habits[] = {"OneByOne", "InBursts", "InFloods"};
  return habits[static_cast<int>(std::get<1>(theft.param))] + std::to_string(std::get<0>(theft.param)) +
         (std::get<2>(theft.param) == Order::newest ? "Newest" : "Oldest");
}

class Thefts : public testing::TestWithParam<Theft> {};
INSTANTIATE_TEST_SUITE_P(Thieves, Thefts,
                         testing::Combine(testing::Values(1, 3),
                                          testing::Values(Habit::one_by_one, Habit::in_bursts, Habit::in_floods),
                                          testing::Values(Order::newest, Order::oldest)),
                         name_of);

TEST_P(Thefts, EveryTaskIsTakenOnce) {
  const auto [number, habit, order] = GetParam();
  ReadyQueue queue(order, number + 1);
  Owner owner(queue, habit);
  std::vector<std::unique_ptr<Thief>> thieves;
  for (int k = 0; k < number; ++k) thieves.push_back(std::make_unique<Thief>(order));
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < thieves.size(); ++k)
    threads.emplace_back([&, k] { thieves[k]->steal_until(end, queue, k + 1); });
  owner.push_all(static_cast<std::uint64_t>(rounds(500'000)));
  end = true;
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(owner.torn, 0u);
  std::vector<std::uint64_t> all = owner.taken;
  for (const auto& thief : thieves) {
    EXPECT_EQ(thief->torn, 0u);
    all.insert(all.end(), thief->taken.begin(), thief->taken.end());
  }
  EXPECT_GT(all.size(), owner.taken.size()) << "nothing was stolen";
  RecordProperty("taken_by_the_owner_percent", static_cast<int>(100 * owner.taken.size() / all.size()));
  std::ranges::sort(all);
  std::vector<std::uint64_t> expected(all.size());
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  EXPECT_EQ(all, expected);
  EXPECT_GE(all.size(), static_cast<std::size_t>(rounds(500'000)));
}

/// What the owner wrote before push is seen by whoever takes the task, and what that one writes is nobody else's.
/// (ThreadSanitizer would call it a race if that did not follow from the orders of the range.)
TEST(StealableRange, ShowsWhatWasWrittenBefore) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rounds(200'000)), 0);
  ReadyQueue queue(Order::newest, 2);
  std::atomic<bool> end{false};
  const auto use = [](const Entry& task) { *task.payload.as<std::int64_t*>() += 2; };
  std::thread thief([&] {
    ReadyQueue mine(Order::newest, 2);
    while (!end.load()) {
      for (Backoff backoff; mine.steal(queue) == 0;) {
        if (end.load()) return;
        backoff.wait();
      }
      while (const Entry* task = mine.pop_plain()) use(*task);
    }
  });
  Dice dice(7);
  for (std::int64_t& value : values) {
    value = 1;
    const Entry task{entry_of(0).handler, Payload::of(&value)};
    if (queue.must_check())
      queue.push_slowly(task);
    else
      queue.push(task);
    if (dice.below(4) == 0 && queue.can_share()) queue.share();
    if (dice.below(2) == 0)
      if (const Entry* newest = queue.pop_plain()) use(*newest);
  }
  while (const Entry* task = queue.pop_plain()) use(*task);
  end = true;
  thief.join();
  EXPECT_EQ(std::ranges::count(values, 3), static_cast<std::int64_t>(values.size()));
}

}  // namespace
}  // namespace taskgrain::rt::detail
