#pragma once

/// Tests that hold for every policy, and what they share.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>

#include "taskgrain/rt/compiled_graph.hpp"

namespace taskgrain::rt {

inline std::string policy_name(const testing::TestParamInfo<Policy>& test) {
  return test.param == Policy::in_order ? "InOrder" : test.param == Policy::ready_queue ? "ReadyQueue" : "Stealing";
}
inline const auto every_policy = testing::Values(Policy::in_order, Policy::ready_queue, Policy::stealing);

/// Whether a thread's calls are one loop. Where each is made within the one before, they reach further and further into
/// the stack.
class OneLoop {
 public:
  void call() {
    if (std::this_thread::get_id() != thread_) return;
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, here);
    highest_ = std::max(highest_, here);
    ++calls_;
  }
  ~OneLoop() {
    EXPECT_GT(calls_, 500);
    EXPECT_LT(highest_ - lowest_, 16u << 10);
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  std::uintptr_t lowest_ = UINTPTR_MAX, highest_ = 0;
  int calls_ = 0;
};

}  // namespace taskgrain::rt
