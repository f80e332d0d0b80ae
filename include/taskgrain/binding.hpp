#pragma once

/// Which processors the workers of a system run on. Pinning is the project's, the same for every system.

#include <vector>

namespace taskgrain {

/// The processors of `TASKGRAIN_CORES` ("0,2,3"); without it one processor per core that this process may run on.
/// \throws InvalidSpec
std::vector<int> cores();

/// Binds the calling thread. \throws std::system_error
void pin_this_thread(int processor);

/// Lets all threads of this process, and with them those that they will start, run on these processors alone.
/// \throws std::system_error
void pin_this_process(const std::vector<int>& processors);

/// The processors that the calling thread may run on, as the operating system reports them.
std::vector<int> binding_of_this_thread();

}  // namespace taskgrain
