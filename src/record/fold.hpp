#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace taskgrain::record {

/// The tasks of a recorded program, by number, each after those that it depends on.
struct Recorded {
  /// `task`, `rest`, `main`, `region`, `chunk` or `barrier`, and the address of the code that made it.
  std::vector<std::pair<std::string, std::uint64_t>> names;
  std::vector<std::uint32_t> named;  ///< The name of each task, in `names`.
  std::vector<double> seconds;
  std::vector<std::vector<std::uint32_t>> before;
};

/// The graph of the events that the tool has written. Throws std::runtime_error if the file cannot be read, or the
/// tasks wait for each other.
Recorded fold(const std::filesystem::path& events, double seconds_per_tick);

}  // namespace taskgrain::record
