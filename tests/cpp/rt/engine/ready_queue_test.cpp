/// The queue of ready tasks: its order with and without priorities, and what it gives away.

#include "taskgrain/rt/detail/ready_queue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace taskgrain::rt::detail {
namespace {

using testing::ElementsAre;

Entry task(int number) { return {0, Payload::of(number)}; }
int number(const Entry& task) { return task.payload.as<int>(); }

void push(ReadyQueue& queue, int number, int priority = 0) {
  if (priority == 0 && !queue.must_check())
    queue.push(task(number));
  else
    queue.push_slowly(task(number), priority);
}

std::vector<int> popped(ReadyQueue& queue) {
  std::vector<int> numbers;
  while (const Entry* next = queue.pop()) numbers.push_back(number(*next));
  return numbers;
}

/// Takes tasks as a thief, and returns them oldest first.
std::vector<int> stolen(ReadyQueue& queue, int workers = 2) {
  ReadyQueue thief(Order::oldest, workers);
  thief.steal(queue);
  return popped(thief);
}

TEST(ReadyQueue, SharesAllThatItHasAndGivesAwayTheOldestFirst) {
  for (const Order order : {Order::newest, Order::oldest}) {
    ReadyQueue queue(order, 2);
    EXPECT_FALSE(queue.can_share());
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8}) push(queue, n);
    EXPECT_THAT(stolen(queue), ElementsAre()) << "nothing is stealable yet";
    ASSERT_TRUE(queue.can_share());
    queue.share();
    EXPECT_FALSE(queue.can_share());
    EXPECT_EQ(queue.size(), 8U);
    EXPECT_THAT(stolen(queue), ElementsAre(1, 2)) << "a quarter, with two workers";
    push(queue, 9);
    EXPECT_FALSE(queue.can_share()) << "enough is stealable";
    EXPECT_EQ(number(*queue.pop()), order == Order::newest ? 9 : 3);
    EXPECT_EQ(number(*queue.pop()), order == Order::newest ? 8 : 4);
    EXPECT_THAT(stolen(queue, 1), ElementsAre(order == Order::newest ? 3 : 5, order == Order::newest ? 4 : 6));
    while (!stolen(queue).empty()) {
    }
    EXPECT_EQ(queue.range().left(), 0U);
    push(queue, 10);
    EXPECT_TRUE(queue.can_share());
    EXPECT_EQ(number(*queue.pop()), order == Order::newest ? 10 : 9);
  }
}

TEST(ReadyQueue, SharesMoreIfThereIsMuch) {
  ReadyQueue queue(Order::newest, 2);
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8}) push(queue, n);
  queue.share();
  push(queue, 9);
  push(queue, 10);
  ASSERT_TRUE(queue.can_share());
  queue.share();
  EXPECT_EQ(queue.range().left(), 10U);
  EXPECT_THAT(stolen(queue), ElementsAre(1, 2, 3));
  EXPECT_THAT(popped(queue), ElementsAre(10, 9, 8, 7, 6, 5, 4));
}

TEST(ReadyQueue, OfOneWorkerSharesNothing) {
  ReadyQueue queue;
  for (const int n : {1, 2, 3}) push(queue, n);
  EXPECT_FALSE(queue.can_share());
  EXPECT_THAT(stolen(queue), ElementsAre());
  EXPECT_EQ(queue.size(), 3U);
}

TEST(ReadyQueue, SharesPrioritiesOneByOneAndKeepsTheHighest) {
  ReadyQueue queue(Order::newest, 2);
  for (const int n : {1, 2, 3, 4, 5, 6}) push(queue, n, n % 2 == 0 ? n : -n);
  push(queue, 7);
  queue.share();  // 6, 4, 2 and 7, of priority 0
  EXPECT_EQ(queue.size(), 7U);
  EXPECT_EQ(queue.priority(), 6);
  EXPECT_THAT(stolen(queue), ElementsAre(7)) << "the lowest of those that are stealable";
  push(queue, 8, 5);
  EXPECT_THAT(stolen(queue), ElementsAre(2));
  EXPECT_THAT(popped(queue), ElementsAre(6, 8, 4, 1, 3, 5));
  EXPECT_TRUE(queue.empty());
  queue.forget_priorities();
  for (const int n : {1, 2, 3}) push(queue, n);
  queue.share();
  EXPECT_EQ(number(*queue.pop_plain()), 3);
}

TEST(ReadyQueue, HearsAThiefThatAsks) {
  ReadyQueue queue(Order::newest, 2);
  push(queue, 1);
  EXPECT_FALSE(queue.must_check());
  queue.range().request();
  ASSERT_TRUE(queue.must_check());
  EXPECT_TRUE(queue.push_slowly(task(2)));
  EXPECT_FALSE(queue.must_check()) << "the thief was heard";
  queue.range().request();
  EXPECT_TRUE(queue.push_slowly(task(3), 5)) << "with a priority, too";
}

/// The same in the plainest way: all tasks in the order of their pushes.
class Model {
 public:
  explicit Model(Order order) : oldest_first_(order == Order::oldest) {}
  void push(int number, int priority) { tasks_.push_back({number, priority}); }
  bool empty() const { return tasks_.empty(); }
  std::size_t size() const { return tasks_.size(); }
  int priority() const { return tasks_.empty() ? 0 : std::ranges::max_element(tasks_, {}, &Task::priority)->priority; }
  int pop() {
    const auto of_highest = [highest = priority()](const Task& task) { return task.priority == highest; };
    const auto at = priority() == 0 && !oldest_first_
                        ? std::prev(std::find_if(tasks_.rbegin(), tasks_.rend(), of_highest).base())
                        : std::ranges::find_if(tasks_, of_highest);
    const int number = at->number;
    tasks_.erase(at);
    return number;
  }
  /// \returns whether it was there
  bool remove(int number) {
    return std::erase_if(tasks_, [=](const Task& task) { return task.number == number; }) == 1;
  }

 private:
  struct Task {
    int number, priority;
  };
  const bool oldest_first_;
  std::vector<Task> tasks_;
};

TEST(ReadyQueue, IsTheModelInAnyOrderOfCalls) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Order order = seed % 4 < 2 ? Order::newest : Order::oldest;
    const bool ranked = seed % 2 == 1;
    // What was shared from the heap comes back in the order of its priorities, but not in that of its pushes.
    const int workers = ranked ? 1 : 2;
    ReadyQueue queue(order, workers);
    Model model(order);
    for (int n = 0; n < 3000; ++n) {
      if (random() % 5 < (n / 500 % 2 == 0 ? 3U : 2U) || model.empty()) {
        constexpr std::array some{std::numeric_limits<int>::min(), -3, -1, 0, 0, 2, std::numeric_limits<int>::max()};
        const int priority = ranked ? some[random() % some.size()] : 0;
        push(queue, n, priority);
        model.push(n, priority);
      } else if (workers > 1 && random() % 3 == 0) {
        if (queue.can_share()) queue.share();
        for (const int number : stolen(queue)) ASSERT_TRUE(model.remove(number));
      } else {
        ASSERT_EQ(queue.priority(), model.priority());
        ASSERT_EQ(number(*queue.pop()), model.pop());
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
    }
  }
}

TEST(ReadyQueue, KeepsTheOrderOfPrioritiesWhateverIsSharedAndStolen) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ReadyQueue queue(seed % 2 == 0 ? Order::newest : Order::oldest, 2);
    std::multiset<int> model;  // of priorities
    std::vector<int> priority_of;
    for (int n = 0; n < 5000; ++n) {
      if (random() % 5 < (n / 500 % 2 == 0 ? 3U : 2U) || model.empty()) {
        const int priority = static_cast<int>(random() % 7) - 3;
        push(queue, static_cast<int>(priority_of.size()), priority);
        priority_of.push_back(priority);
        model.insert(priority);
      } else if (random() % 3 == 0) {
        if (queue.can_share()) queue.share();
        for (const int number : stolen(queue)) model.erase(model.find(priority_of[static_cast<std::size_t>(number)]));
      } else {
        ASSERT_EQ(queue.priority(), *model.rbegin());
        const Entry* task = queue.pop();
        ASSERT_NE(task, nullptr);
        ASSERT_EQ(priority_of[static_cast<std::size_t>(number(*task))], *model.rbegin());
        model.erase(std::prev(model.end()));
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt::detail
