#pragma once

/// Starts the ranks of a program on one host, and ends all of them when one fails.

#include <string>
#include <vector>

namespace taskgrain::rt::detail {

struct Launch {
  int ranks = 1;
  std::vector<std::string> command;
  /// The processors that each rank may use. Empty: those that the launcher may use.
  std::vector<std::vector<int>> processors;
};

/// Runs the program to its end. When a rank fails, its reason is written to the shared memory, where the others read
/// it. Ranks that still run after 5 seconds get SIGTERM, and SIGKILL a second later. Processes that ranks have started
/// are killed after the last rank has ended.
/// \returns the exit code of the rank that failed first, or 128 + its signal; 0 if all have ended well; 126 or 127 if
///          the program cannot be started
/// \throws std::system_error  the system has no more processes; then no rank is left
int launch(const Launch& what);

}  // namespace taskgrain::rt::detail
