#include "compute_bound.hpp"

namespace taskgrain {
namespace {

/// Pairs of doubles, in the vector extension of GCC and Clang, which becomes whatever the target has.
using Pair = double __attribute__((vector_size(16)));

/// A quarter of the accumulators in eight registers: as many chains as hide the latency, as few as any processor holds
/// beside a temporary for the product.
struct Block {
  static constexpr std::size_t doubles = 16;
  Pair x0, x1, x2, x3, x4, x5, x6, x7;

  static Block load(const double* p) noexcept {
    const auto at = [p](int k) { return Pair{p[2 * k], p[2 * k + 1]}; };
    return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
  }
  void fma() noexcept {
    const auto step = [](Pair x) { return x * x + x; };
    x0 = step(x0), x1 = step(x1), x2 = step(x2), x3 = step(x3), x4 = step(x4), x5 = step(x5), x6 = step(x6),
    x7 = step(x7);
  }
  void keep() const noexcept {
    const auto consume = [](const Pair& x) { asm volatile("" ::"m"(x)); };
    consume(x0), consume(x1), consume(x2), consume(x3), consume(x4), consume(x5), consume(x6), consume(x7);
  }
};

}  // namespace

void compute_bound_portable(std::int64_t iterations) noexcept { compute_bound_loop<Block>(iterations); }

}  // namespace taskgrain
