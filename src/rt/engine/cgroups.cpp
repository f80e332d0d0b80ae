#include "engine/cgroups.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

namespace taskgrain::rt::detail {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

bool has(const std::vector<std::string>& parts, const std::string& part) {
  return std::ranges::find(parts, part) != parts.end();
}

/// The path of this process' cgroup. Lines of proc/self/cgroup are "4:cpu,cpuacct:/path", with version 2 "0::/path".
std::optional<std::string> group(const fs::path& root, const std::string& controller, bool version_2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? line.starts_with("0::") : has(split(controllers, ','), controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// A mount of a tree of cgroups: the cgroup at its top, and the mount point.
struct Mount {
  std::string top, point;
};

/// Lines of proc/self/mountinfo: "31 23 0:28 TOP POINT options … - TYPE source OPTIONS".
std::vector<Mount> mounts(const fs::path& root, const std::string& controller, bool version_2) {
  std::vector<Mount> found;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = split(line.substr(0, dash), ' '), after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    if (version_2 ? after[0] == "cgroup2" : after[0] == "cgroup" && has(split(after[2], ','), controller))
      found.push_back({before[3], before[4]});
  }
  return found;
}

}  // namespace

std::vector<fs::path> cgroups(const fs::path& root, const std::string& controller, bool version_2) {
  std::vector<fs::path> folders;
  const auto path = group(root, controller, version_2);
  if (!path) return folders;
  for (const auto& [top, point] : mounts(root, controller, version_2)) {
    fs::path folder = root / fs::path(point).relative_path();
    folders.push_back(folder);
    // In a container the mount may show its own cgroup at the top, while the path is relative to the host's root.
    for (const fs::path& part : fs::path(*path).lexically_relative(top)) {
      if (part == "..") break;
      folder /= part;
      folders.push_back(folder);
    }
  }
  return folders;
}

namespace {

/// The quota of the cgroup in a folder. A period without a quota is "max", with version 1 -1.
double quota_in(const fs::path& folder, bool version_2) {
  double quota = -1, period = 0;
  if (version_2)
    std::ifstream(folder / "cpu.max") >> quota >> period;  // "max" is no number
  else if (std::ifstream(folder / "cpu.cfs_quota_us") >> quota)
    std::ifstream(folder / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : no_quota;
}

double quota_of(const fs::path& root, bool version_2) {
  double least = no_quota;
  for (const fs::path& folder : cgroups(root, "cpu", version_2)) least = std::min(least, quota_in(folder, version_2));
  return least;
}

}  // namespace

double cpu_quota(const fs::path& root) { return std::min(quota_of(root, true), quota_of(root, false)); }

int workers_for(std::size_t cores, double quota) {
  return static_cast<int>(std::clamp(std::ceil(quota), 1.0, std::max(1.0, static_cast<double>(cores))));
}

}  // namespace taskgrain::rt::detail
