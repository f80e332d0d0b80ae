#pragma once

/// The cgroups of this process, which limit what it may use, and how many processors they let it keep busy: the limit
/// of a container.

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace taskgrain::rt::detail {

/// The folders of its cgroup and that one's parents, which may or may not exist.
/// \param root        folder that takes the place of /, with proc/self and what is mounted
/// \param controller  such as "cpu": with version 1 each has a tree of its own
std::vector<std::filesystem::path> cgroups(const std::filesystem::path& root, const std::string& controller,
                                           bool version_2);

inline constexpr double no_quota = std::numeric_limits<double>::infinity();

/// The least CPU quota, in processors, of this process' cgroup and its parents, of version 2 (cpu.max) and 1
/// (cpu.cfs_quota_us); no_quota if there is none or it cannot be read.
/// \param root  folder that takes the place of /, with proc/self and what is mounted
double cpu_quota(const std::filesystem::path& root = "/");

/// The number of workers for a number of cores and a quota: as many as the quota keeps busy, one at least.
int workers_for(std::size_t cores, double quota);

}  // namespace taskgrain::rt::detail
