#pragma once

#include <cstdint>
#include <random>

namespace taskgrain::rt {

using Random = std::minstd_rand;

inline Random random_of(std::uint64_t seed) { return Random(static_cast<unsigned>(seed % 2147483646 + 1)); }
inline int below(Random& random, int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); }

}  // namespace taskgrain::rt
