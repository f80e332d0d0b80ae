#pragma once

/// The end values of compute_bound, which the kernel itself keeps from everyone. The units that define these functions
/// include the kernel's source under another name, so what runs here is its very block.

#include <cstdint>
#include <cstring>

#include "compute_bound.hpp"

namespace taskgrain {

// Each writes 64 values.
void portable_values(std::int64_t iterations, double* values);
void avx2_values(std::int64_t iterations, double* values);
void avx512_values(std::int64_t iterations, double* values);
void neon_values(std::int64_t iterations, double* values);

/// All accumulators after `iterations` of `Block`. No inline function of the library: compiled for a newer processor
/// here, it might be the one that the linker keeps for all.
template <typename Block>
void write_values(std::int64_t iterations, double* values) {
  static_assert(sizeof(Block) == Block::doubles * sizeof(double));
  for (std::size_t first = 0; first < accumulators; first += Block::doubles) {
    Block block = Block::load(compute_start.values + first);
    for (std::int64_t n = 0; n < iterations; ++n) block.fma();
    std::memcpy(values + first, &block, sizeof block);
  }
}

}  // namespace taskgrain
