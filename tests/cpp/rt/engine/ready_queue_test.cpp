/// The queue of ready tasks: its order with and without priorities, and what it gives away.

#include "taskgrain/rt/detail/ready_queue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace taskgrain::rt::detail {
namespace {

using testing::ElementsAre;

Entry task(int number) { return {nullptr, Payload::of(number)}; }
int number(const Entry& task) { return task.payload.as<int>(); }

std::vector<int> popped(ReadyQueue& queue) {
  std::vector<int> numbers;
  while (!queue.empty()) numbers.push_back(number(queue.pop()));
  return numbers;
}

TEST(ReadyQueue, GivesTheNewestFirst) {
  ReadyQueue queue;
  EXPECT_TRUE(queue.empty());
  for (const int n : {1, 2, 3}) queue.push(task(n));
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_TRUE(queue.plain());
  EXPECT_THAT(popped(queue), ElementsAre(3, 2, 1));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(ReadyQueue, GivesAwayTheOldestFirst) {
  ReadyQueue queue;
  for (const int n : {1, 2, 3, 4}) queue.push(task(n));
  EXPECT_EQ(number(queue.pop_to_share()), 1);
  EXPECT_EQ(number(queue.pop()), 4);
  EXPECT_EQ(number(queue.pop_to_share()), 2);
  EXPECT_EQ(number(queue.pop_to_share()), 3);
  EXPECT_TRUE(queue.empty());
}

TEST(ReadyQueue, GivesHigherPrioritiesFirstAndTheOldestOfEach) {
  ReadyQueue queue;
  queue.push(task(1), -1);
  queue.push(task(2), 5);
  queue.push(task(3), 0);
  queue.push(task(4), 5);
  queue.push(task(5), 9);
  queue.push(task(6), 0);
  queue.push(task(7), -1);
  queue.push(task(8), -3);
  EXPECT_FALSE(queue.plain());
  EXPECT_EQ(queue.size(), 8U);
  EXPECT_THAT(popped(queue), ElementsAre(5, 2, 4, 6, 3, 1, 7, 8));
}

TEST(ReadyQueue, TellsThePriorityOfTheNextTask) {
  ReadyQueue queue;
  EXPECT_EQ(queue.priority(), 0);
  queue.push(task(1), -7);
  EXPECT_EQ(queue.priority(), -7);
  queue.push(task(2));
  EXPECT_EQ(queue.priority(), 0);
  queue.push(task(3), 3);
  EXPECT_EQ(queue.priority(), 3);
}

TEST(ReadyQueue, TakesTheExtremesOfPriority) {
  ReadyQueue queue;
  queue.push(task(1), std::numeric_limits<int>::min());
  queue.push(task(2));
  queue.push(task(3), std::numeric_limits<int>::max());
  EXPECT_THAT(popped(queue), ElementsAre(3, 2, 1));
}

TEST(ReadyQueue, GrowsWhereverItsFirstTaskLies) {
  for (int given_away = 0; given_away <= 64; ++given_away) {
    ReadyQueue queue;
    int next = 0;
    for (; next < given_away; ++next) queue.push(task(next));
    for (int n = 0; n < given_away; ++n) ASSERT_EQ(number(queue.pop_to_share()), n);
    const int first = next;
    for (int n = 0; n < 300; ++n) queue.push(task(next++));
    for (int n = 0; n < 100; ++n) ASSERT_EQ(number(queue.pop_to_share()), first + n);
    while (!queue.empty()) ASSERT_EQ(number(queue.pop()), --next);
    ASSERT_EQ(next, first + 100);
  }
}

/// The same in the plainest way: all tasks in the order of their pushes.
class Model {
 public:
  void push(int number, int priority) { tasks_.push_back({number, priority}); }
  bool empty() const { return tasks_.empty(); }
  std::size_t size() const { return tasks_.size(); }
  int priority() const { return tasks_.empty() ? 0 : std::ranges::max_element(tasks_, {}, &Task::priority)->priority; }
  int pop() { return take(priority() == 0); }
  int pop_to_share() { return take(false); }

 private:
  struct Task {
    int number, priority;
  };
  int take(bool newest) {
    const auto of_highest = [highest = priority()](const Task& task) { return task.priority == highest; };
    const auto at = newest ? std::prev(std::find_if(tasks_.rbegin(), tasks_.rend(), of_highest).base())
                           : std::ranges::find_if(tasks_, of_highest);
    const int number = at->number;
    tasks_.erase(at);
    return number;
  }
  std::vector<Task> tasks_;
};

TEST(ReadyQueue, IsTheModelInAnyOrderOfCalls) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ReadyQueue queue;
    Model model;
    for (int n = 0; n < 3000; ++n) {
      if (random() % 5 < (n / 500 % 2 == 0 ? 3U : 2U) || model.empty()) {
        const int priority = seed % 2 == 0 ? 0 : static_cast<int>(random() % 7) - 3;
        queue.push(task(n), priority);
        model.push(n, priority);
      } else if (random() % 3 == 0) {
        ASSERT_EQ(number(queue.pop_to_share()), model.pop_to_share());
      } else {
        ASSERT_EQ(number(queue.pop()), model.pop());
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
      ASSERT_EQ(queue.priority(), model.priority());
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt::detail
