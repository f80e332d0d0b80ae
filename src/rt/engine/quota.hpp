#pragma once

/// How many processors the cgroup of this process may keep busy: the limit of a container.

#include <filesystem>
#include <limits>

namespace taskgrain::rt::detail {

inline constexpr double no_quota = std::numeric_limits<double>::infinity();

/// The least CPU quota, in processors, of this process' cgroup and its parents, of version 2 (cpu.max) and 1
/// (cpu.cfs_quota_us); no_quota if there is none or it cannot be read.
/// \param root  folder that takes the place of /, with proc/self and what is mounted
double cpu_quota(const std::filesystem::path& root = "/");

/// The number of workers for a number of cores and a quota: as many as the quota keeps busy, one at least.
int workers_for(std::size_t cores, double quota);

}  // namespace taskgrain::rt::detail
