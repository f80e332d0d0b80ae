#pragma once

#include <atomic>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt {

/// A tree of tasks on all workers: task k fulfills 2k and 2k + 1.
class Tree {
 public:
  explicit Tree(Runtime& runtime, int tasks) : flow_(runtime, "tree") {
    flow_.indegree([](int) { return 1; }).run([this, tasks](int k) {
      ran_.fetch_add(1, std::memory_order_relaxed);
      for (int next = 2 * k; next <= 2 * k + 1; ++next)
        if (next <= tasks) flow_.fulfill(next);
    });
  }
  void plant() { flow_.fulfill(1); }
  void wait() { flow_.wait(); }
  int ran() const { return ran_.load(); }

 private:
  std::atomic<int> ran_{0};
  Taskflow<int> flow_;
};

}  // namespace taskgrain::rt
