#pragma once

/// The cgroups of this process, and the number of processors to which they limit it (in a container).

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace taskgrain::rt::detail {

/// The folders of its cgroup and of the parents of that; they need not exist.
/// \param root        a folder instead of /, for tests
/// \param controller  such as "cpu": with version 1 each has a tree of its own
std::vector<std::filesystem::path> cgroups(const std::filesystem::path& root, const std::string& controller,
                                           bool version_2);

inline constexpr double no_quota = std::numeric_limits<double>::infinity();

/// The least CPU quota, in processors, of this process' cgroup and its parents, of version 2 (cpu.max) and 1
/// (cpu.cfs_quota_us); no_quota if there is none or it cannot be read.
/// \param root  a folder instead of /, for tests
double cpu_quota(const std::filesystem::path& root = "/");

/// The number of workers for a number of cores and a quota: as many as the quota keeps busy, one at least.
int workers_for(std::size_t cores, double quota);

}  // namespace taskgrain::rt::detail
