#include <immintrin.h>

#include "compute_bound.hpp"

namespace taskgrain {
namespace {

/// All 64 accumulators: eight zmm registers, as many as two units of four cycles' latency keep busy.
struct Block {
  static constexpr std::size_t doubles = 64;
  __m512d x0, x1, x2, x3, x4, x5, x6, x7;

  static Block load(const double* p) noexcept {
    const auto at = [p](int k) { return _mm512_load_pd(p + 8 * k); };
    return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
  }
  void fma() noexcept {
    const auto step = [](__m512d x) { return _mm512_fmadd_pd(x, x, x); };
    x0 = step(x0), x1 = step(x1), x2 = step(x2), x3 = step(x3), x4 = step(x4), x5 = step(x5), x6 = step(x6),
    x7 = step(x7);
  }
  void keep() const noexcept {
    asm volatile("" ::"v"(x0), "v"(x1), "v"(x2), "v"(x3), "v"(x4), "v"(x5), "v"(x6), "v"(x7));
  }
};

}  // namespace

void compute_bound_avx512(std::int64_t iterations) noexcept { compute_bound_loop<Block>(iterations); }

}  // namespace taskgrain
