/// Edges of compiled graphs between ranks over a simulated transport, whatever comes when.

#include <gtest/gtest.h>

#include <cstdint>

#include "rt/graph/simulated_graphs.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

TEST(SimulatedGraphs, ComputeWhatTheyShouldAndEnd) {
  for (const std::uint64_t seed : seeds(3000)) ASSERT_EQ(run_graphs(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace taskgrain::rt
