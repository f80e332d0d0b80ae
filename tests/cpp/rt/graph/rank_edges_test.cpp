/// Edges of compiled graphs between ranks over a simulated transport, whatever comes when.

#include <gtest/gtest.h>

#include <cstdint>

#include "rt/graph/simulated_graphs.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

TEST(SimulatedGraphs, ComputeWhatTheyShouldAndEnd) {
  for (std::int64_t seed = 0; seed < rounds(3000); ++seed)
    ASSERT_EQ(run_graphs(static_cast<std::uint64_t>(seed)).violation, "") << "seed " << seed;
}

}  // namespace
}  // namespace taskgrain::rt
