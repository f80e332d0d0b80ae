#include "engine/quota.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "engine/cgroups.hpp"

namespace taskgrain::rt::detail {

namespace {

namespace fs = std::filesystem;

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
