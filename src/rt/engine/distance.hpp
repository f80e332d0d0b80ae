#pragma once

/// Which workers are near each other.

#include <vector>

namespace taskgrain::rt::detail {

/// For each worker the others, nearest first, by the caches and memory that their processors share.
std::vector<std::vector<int>> by_distance(const std::vector<int>& processors);

}  // namespace taskgrain::rt::detail
