#pragma once

/// Tests that hold for every policy.

#include <gmock/gmock.h>

#include <string>

#include "taskgrain/rt/compiled_graph.hpp"

namespace taskgrain::rt {

inline std::string policy_name(const testing::TestParamInfo<Policy>& test) {
  return test.param == Policy::in_order ? "InOrder" : test.param == Policy::ready_queue ? "ReadyQueue" : "Stealing";
}
inline const auto every_policy = testing::Values(Policy::in_order, Policy::ready_queue, Policy::stealing);

}  // namespace taskgrain::rt
