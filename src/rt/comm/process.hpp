#pragma once

/// What the kernel says of a process.

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace taskgrain::rt::detail {

struct ProcessState {
  char state;                ///< the letter of /proc/PID/stat
  std::uint64_t start_time;  ///< in clock ticks since the machine has started

  bool ended() const noexcept { return state == 'Z' || state == 'X'; }
  /// By a signal, and not by a debugger, which has a letter of its own.
  bool stopped() const noexcept { return state == 'T'; }
};

/// Nothing if there is no such process.
std::optional<ProcessState> process_state(pid_t process);

/// Numbers of processes mean something only in the namespace of this number. 0 if the kernel does not say.
std::uint64_t process_namespace() noexcept;

}  // namespace taskgrain::rt::detail
