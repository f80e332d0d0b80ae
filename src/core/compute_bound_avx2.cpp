#include <immintrin.h>

#include "compute_bound.hpp"

namespace taskgrain {
namespace {

/// All 64 accumulators: the sixteen ymm registers.
struct Block {
  static constexpr std::size_t doubles = 64;
  __m256d x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, xa, xb, xc, xd, xe, xf;

  static Block load(const double* p) noexcept {
    const auto at = [p](int k) { return _mm256_load_pd(p + 4 * k); };
    return {at(0), at(1), at(2),  at(3),  at(4),  at(5),  at(6),  at(7),
            at(8), at(9), at(10), at(11), at(12), at(13), at(14), at(15)};
  }
  void fma() noexcept {
    const auto step = [](__m256d x) { return _mm256_fmadd_pd(x, x, x); };
    x0 = step(x0), x1 = step(x1), x2 = step(x2), x3 = step(x3), x4 = step(x4), x5 = step(x5), x6 = step(x6),
    x7 = step(x7);
    x8 = step(x8), x9 = step(x9), xa = step(xa), xb = step(xb), xc = step(xc), xd = step(xd), xe = step(xe),
    xf = step(xf);
  }
  void keep() const noexcept {
    asm volatile("" ::"x"(x0), "x"(x1), "x"(x2), "x"(x3), "x"(x4), "x"(x5), "x"(x6), "x"(x7), "x"(x8), "x"(x9), "x"(xa),
                 "x"(xb), "x"(xc), "x"(xd), "x"(xe), "x"(xf));
  }
};

}  // namespace

void compute_bound_avx2(std::int64_t iterations) noexcept { compute_bound_loop<Block>(iterations); }

}  // namespace taskgrain
