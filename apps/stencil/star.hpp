#pragma once

/// The star stencil of radius 2 of the Parallel Research Kernels (Van der Wijngaart and Mattson, "The Parallel Research
/// Kernels", HPEC 2014) on a square grid: each step adds a difference of neighbours to `out`, and 1 to `in`. Blocks are
/// strips of whole rows.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "../steps/program.hpp"

namespace apps::star {

inline constexpr StepsProblem problem{"stencil", 1024, 5, 30000, 100};
inline constexpr std::int64_t radius = 2;

/// Rows from `begin` up to `end` of a grid of `size` × `size`.
struct Strip {
  std::int64_t begin, end;

  Strip(std::int64_t size, std::int64_t blocks, std::int64_t block)
      : begin(size * block / blocks), end(size * (block + 1) / blocks) {}
};

inline double initial(std::int64_t row, std::int64_t column) { return static_cast<double>(row + column); }

/// Adds the stencil to the strip's rows. \param in, out  row 0, whether it is there or not
inline void apply(const double* in, double* out, std::int64_t size, Strip strip) {
  for (std::int64_t row = std::max(strip.begin, radius); row < std::min(strip.end, size - radius); ++row) {
    const double* const from = in + row * size;
    double* const to = out + row * size;
    for (std::int64_t k = radius; k < size - radius; ++k)
      to[k] += 0.25 * (from[k + 1] - from[k - 1]) + 0.125 * (from[k + 2] - from[k - 2]) +
               0.25 * (from[k + size] - from[k - size]) + 0.125 * (from[k + 2 * size] - from[k - 2 * size]);
  }
}

inline void add_one(std::span<double> in) {
  for (double& value : in) value += 1.0;
}

/// Of a grid that grows by 1 for each row and column, a step adds 2.
inline Verified verify(std::span<const double> out, std::int64_t size, int steps) {
  double error = 0.0;
  for (std::int64_t row = radius; row < size - radius; ++row)
    for (std::int64_t k = radius; k < size - radius; ++k)
      if (const double off = std::abs(out[static_cast<std::size_t>(row * size + k)] / (2.0 * steps) - 1.0);
          !(off <= error))
        error = off;  // also of what is no number
  return {error, 1e-8, digest(out)};
}

}  // namespace apps::star
