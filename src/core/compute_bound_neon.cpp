#include <arm_neon.h>

#include "compute_bound.hpp"

namespace taskgrain {
namespace {

/// Half of the accumulators, sixteen of the 32 registers: enough to fill four units of four cycles' latency.
struct Block {
  static constexpr std::size_t doubles = 32;
  float64x2_t x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, xa, xb, xc, xd, xe, xf;

  static Block load(const double* p) noexcept {
    const auto at = [p](int k) { return vld1q_f64(p + 2 * k); };
    return {at(0), at(1), at(2),  at(3),  at(4),  at(5),  at(6),  at(7),
            at(8), at(9), at(10), at(11), at(12), at(13), at(14), at(15)};
  }
  void fma() noexcept {
    const auto step = [](float64x2_t x) { return vfmaq_f64(x, x, x); };
    x0 = step(x0), x1 = step(x1), x2 = step(x2), x3 = step(x3), x4 = step(x4), x5 = step(x5), x6 = step(x6),
    x7 = step(x7);
    x8 = step(x8), x9 = step(x9), xa = step(xa), xb = step(xb), xc = step(xc), xd = step(xd), xe = step(xe),
    xf = step(xf);
  }
  void keep() const noexcept {
    asm volatile("" ::"w"(x0), "w"(x1), "w"(x2), "w"(x3), "w"(x4), "w"(x5), "w"(x6), "w"(x7), "w"(x8), "w"(x9), "w"(xa),
                 "w"(xb), "w"(xc), "w"(xd), "w"(xe), "w"(xf));
  }
};

}  // namespace

void compute_bound_neon(std::int64_t iterations) noexcept { compute_bound_loop<Block>(iterations); }

}  // namespace taskgrain
