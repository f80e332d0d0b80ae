#pragma once

/// A fault that a run is asked for. It strikes in `Execution::execute_point`, so every system has it, and none knows
/// of it.

#include <cstdint>
#include <string>

namespace taskgrain {

/// What happens to one task, each time that it is begun, until it has happened `times` times in the whole run. The
/// task has then checked its inputs, and has done nothing else.
struct Fault {
  /// `kill`: the process that executes the task ends itself with SIGKILL. `fail`: the task throws a std::runtime_error.
  /// `note`: nothing but that it is counted.
  std::string kind;
  std::int64_t graph = 0, step = 0, point = 0;
  std::int64_t times = 1;
  /// Where the processes of a run keep its books together, because what a process remembers ends with it. Nobody else
  /// may use this file, and no earlier run may have used it. All processes must run on one machine.
  std::string file;
};

}  // namespace taskgrain
