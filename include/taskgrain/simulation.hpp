#pragma once

/// Where time is simulated: a driver runs as it is, and its clock and the time of its tasks are a simulator's.

#include <cstddef>

namespace taskgrain {

/// What a simulator does for the tasks of one rank.
struct Simulation {
  /// Seconds since the simulation began.
  double (*now)();
  /// Lets the time of a task pass whose kernel is so much work, and which writes so many bytes.
  void (*execute)(double flops, std::size_t output_bytes);
};

/// Null where time is real. A simulator sets it before the driver starts.
inline const Simulation* simulation = nullptr;

}  // namespace taskgrain
