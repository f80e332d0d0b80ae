#pragma once

/// The cgroups of this process, which limit what it may use.

#include <filesystem>
#include <string>
#include <vector>

namespace taskgrain::rt::detail {

/// The folders of its cgroup and that one's parents, which may or may not exist.
/// \param root        folder that takes the place of /, with proc/self and what is mounted
/// \param controller  such as "cpu": with version 1 each has a tree of its own
std::vector<std::filesystem::path> cgroups(const std::filesystem::path& root, const std::string& controller,
                                           bool version_2);

}  // namespace taskgrain::rt::detail
