#pragma once

/// Random graphs for flows. Each task reads what its predecessors wrote, with no atomics and no locks: a task that runs
/// early or twice gives another value, and ThreadSanitizer sees a runtime that orders two tasks without synchronising
/// them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <vector>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt {

struct Task {
  std::vector<int> before, after;
  int worker = 0;
  int priority = 0;
  bool bound = false;
  bool from_outside = false;  // has one fulfilment more, by a thread that is no worker
  int cost = 0;               // iterations
  // written by the task, read by those after it
  int ran = 0;
  int ran_on = -1;
  std::uint64_t value = 0;
  std::atomic<int> asked{0};  // calls of `after`
};

inline std::uint64_t hashed(std::uint64_t value) { return (value ^ value >> 29) * 0xbf58476d1ce4e5b9; }

using Random = std::minstd_rand;

class RandomTasks {
 public:
  RandomTasks(Random& random, int workers) : tasks_(1 + random() % (random() % 4 == 0 ? 3000 : 200)) {
    const auto number = static_cast<int>(tasks_.size());
    const int window = 1 + static_cast<int>(random() % 50);
    const auto most_edges = random() % 6, one_in_slow = 1 + random() % 50;
    const int favourite = static_cast<int>(random() % static_cast<unsigned>(workers));  // where much is to be stolen
    const bool ranked = random() % 2 == 0, unfair = random() % 3 == 0;
    for (int k = 0; k < number; ++k) {
      Task& task = tasks_[static_cast<std::size_t>(k)];
      for (auto edges = random() % (most_edges + 1); edges > 0 && k > 0; --edges) {
        const int to = k - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(k, window)));
        task.before.push_back(to);  // the same more than once is more than one dependence
        tasks_[static_cast<std::size_t>(to)].after.push_back(k);
      }
      task.worker =
          unfair && random() % 8 != 0 ? favourite : static_cast<int>(random() % static_cast<unsigned>(workers));
      if (ranked) {
        task.priority = static_cast<int>(random() % 5) - 2;
        task.bound = random() % 4 == 0;
      }
      task.from_outside = task.before.empty() || random() % 40 == 0;
      task.cost = random() % one_in_slow == 0 ? 3000 : static_cast<int>(random() % 30);
    }
  }

  std::vector<Task>& tasks() { return tasks_; }
  Task& operator[](int k) { return tasks_[static_cast<std::size_t>(k)]; }

  int indegree(int k) const {
    const Task& task = tasks_[static_cast<std::size_t>(k)];
    return static_cast<int>(task.before.size()) + task.from_outside;
  }
  void run(int k) {
    Task& task = (*this)[k];
    ++task.ran;
    task.ran_on = this_worker();
    for (int n = 0; n < task.cost; ++n) detail::pause();
    task.value = value_of(k);
  }
  void clear() {
    for (Task& task : tasks_) task.ran = 0, task.ran_on = -1, task.value = 0, task.asked = 0;
  }
  void expect_right(bool obeys_bounds = true) const {
    const std::vector<std::uint64_t> values = expected();
    for (std::size_t k = 0; k < values.size(); ++k) {
      const Task& task = tasks_[k];
      ASSERT_EQ(task.ran, 1) << "task " << k;
      ASSERT_EQ(task.value, values[k]) << "task " << k << " ran early";
      if (task.bound && obeys_bounds) {
        ASSERT_EQ(task.ran_on, task.worker) << "task " << k;
      }
    }
  }

  std::uint64_t value_of(int k) {
    std::uint64_t value = static_cast<std::uint64_t>(k) + 1;
    for (const int before : (*this)[k].before) value = hashed(value + (*this)[before].value);
    return value;
  }
  /// What each task must have written.
  std::vector<std::uint64_t> expected() const {
    std::vector<std::uint64_t> values;
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      std::uint64_t value = k + 1;
      for (const int before : tasks_[k].before) value = hashed(value + values[static_cast<std::size_t>(before)]);
      values.push_back(value);
    }
    return values;
  }

 private:
  std::vector<Task> tasks_;
};

}  // namespace taskgrain::rt
