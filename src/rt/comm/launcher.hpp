#pragma once

/// Starts the ranks of a program on one host, and sees to it that none of them stays.

#include <string>
#include <vector>

namespace taskgrain::rt::detail {

struct Launch {
  int ranks = 1;
  std::vector<std::string> command;
  /// For each rank the processors that it may use. Empty: those that the launcher may use.
  std::vector<std::vector<int>> processors;
  /// For TASKGRAIN_TRANSPORT. Empty: that stays as it is.
  std::string transport;
};

/// Runs it to its end. When a rank fails, the others are told why; those that have not ended after 5 seconds get
/// SIGTERM, and SIGKILL a second later. What a rank has started itself ends with the last rank.
/// \returns the exit code of the rank that failed first, or 128 + its signal; 0 if all have ended well; 126 or 127 if
///          the program cannot be started
/// \throws std::system_error  the system has no more processes; then no rank is left
int launch(const Launch& what);

}  // namespace taskgrain::rt::detail
