#pragma once

/// The body of compute_bound, written once over a vector type.
///
/// 64 doubles, x ← x·x + x each per iteration. With x in (-1, 0) the values stay there: they creep towards 0 like -1/n
/// and are never denormal. The start values differ and come through a pointer that the compiler cannot see through, and
/// the end values go into an empty `asm`, so nothing can be folded, shared between accumulators or dropped, link-time
/// optimisation included; neither costs an instruction. What remains at zero iterations is the loading of the
/// registers.

#include <cstddef>
#include <cstdint>

namespace taskgrain {

inline constexpr std::size_t accumulators = 64;

/// Start values: -0.1 … -0.73, all different.
struct alignas(64) ComputeStart {
  double values[accumulators];
  constexpr ComputeStart() : values() {
    for (std::size_t k = 0; k < accumulators; ++k) values[k] = -0.1 - 0.01 * static_cast<double>(k);
  }
};
inline constexpr ComputeStart compute_start{};

/// \tparam Block  a type with `static Block load(const double*)`, `void fma()` and `void keep() const`, holding
///                `Block::doubles` accumulators in registers; a divisor of 64.
template <typename Block>
inline void compute_bound_loop(std::int64_t iterations) noexcept {
  const double* start = compute_start.values;
  asm volatile("" : "+r"(start));
  for (std::size_t first = 0; first < accumulators; first += Block::doubles) {
    Block block = Block::load(start + first);
    for (std::int64_t n = 0; n < iterations; ++n) block.fma();
    block.keep();
  }
}

void compute_bound_portable(std::int64_t iterations) noexcept;
void compute_bound_avx2(std::int64_t iterations) noexcept;
void compute_bound_avx512(std::int64_t iterations) noexcept;
void compute_bound_neon(std::int64_t iterations) noexcept;

}  // namespace taskgrain
