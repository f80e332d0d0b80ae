#pragma once

/// Ranks that use the real Messenger over a simulated transport, all in one thread. A seed decides what happens next:
/// who sends what to whom, makes active messages late, polls, waits, meets the others in an exchange, fails, crashes or
/// leaves.

#include <cstdint>
#include <string>

namespace taskgrain::rt {

/// What became of one schedule.
struct SimulatedRun {
  std::string violation;  ///< empty if there is none
  bool failed = false;    ///< some rank has, as it was to
};

struct SimulatedRunSize {
  int most_ranks = 7;
  int most_waits = 4;
};

SimulatedRun run_messengers(std::uint64_t seed, SimulatedRunSize size = {});

}  // namespace taskgrain::rt
