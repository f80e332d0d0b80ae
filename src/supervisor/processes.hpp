#pragma once
/// The processes of this machine, for the supervisor and for the harness.

#include <sys/types.h>

#include <string>
#include <vector>

namespace taskgrain {

/// All processes below the `roots`, nearest first. The kernel lists the children of each thread; where it does not, or
/// without `listed`, the table of all processes tells, which takes longer.
std::vector<pid_t> descendants(const std::vector<pid_t>& roots, bool listed = true);

/// Files of /dev/shm that are younger than `since`, in seconds of the system's clock, and that these processes share.
/// MPI, Python and OpenMP remove theirs at the end, but not if they are killed, and Ray leaves its semaphores.
std::vector<std::string> shared_memory(const std::vector<pid_t>& pids, double since);

}  // namespace taskgrain
