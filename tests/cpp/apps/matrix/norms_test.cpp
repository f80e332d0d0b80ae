#include "matrix/norms.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "matrix/blas.hpp"
#include "matrix/entries.hpp"

namespace {

using namespace apps;

const World& world() {
  static int count = 0;
  static char** words = nullptr;
  static const World world(count, words, MPI_THREAD_SINGLE);
  return world;
}

/// A result, whole, in one piece.
struct Whole {
  explicit Whole(std::int64_t n) : size(n), elements(static_cast<std::size_t>(n * n), 0.0) {}
  Piece piece() { return {0, 0, size, size, elements.data(), size}; }
  double& at(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(j * size + i)]; }

  std::int64_t size;
  std::vector<double> elements;
};

Whole product(std::int64_t size, std::uint64_t seed) {
  Whole a(size), b(size), c(size);
  left_factor(seed).fill(a.piece());
  right_factor(seed).fill(b.piece());
  const auto n = static_cast<int>(size);
  blas::gemm(n, n, n, a.elements.data(), b.elements.data(), c.elements.data());
  return c;
}

Whole factor(std::int64_t size, std::uint64_t seed) {
  Whole a(size);
  positive_definite(seed, size).fill(a.piece());
  blas::potrf(static_cast<int>(size), a.elements.data(), static_cast<int>(size));
  return a;
}

double error_of(Whole& c, std::uint64_t seed, bool factors) {
  const std::vector<Piece> pieces{c.piece()};
  return factors ? factor_error(world(), c.size, seed, pieces) : product_error(world(), c.size, seed, pieces);
}

TEST(Norms, OfRightResultsAreSmall) {
  for (const std::int64_t size : {1, 200}) {
    Whole c = product(size, 3), l = factor(size, 3);
    EXPECT_LT(error_of(c, 3, false), 1e-15 * static_cast<double>(size + 10)) << size;
    EXPECT_LT(error_of(l, 3, true), 1e-15 * static_cast<double>(size + 10)) << size;
  }
}

TEST(Norms, FindOneWrongElement) {
  Whole c = product(200, 3), l = factor(200, 3);
  c.at(100, 7) += 0.01;
  l.at(100, 7) += 0.01;
  EXPECT_GT(error_of(c, 3, false), 1e-13 * 200);
  EXPECT_GT(error_of(l, 3, true), 1e-13 * 200);
}

TEST(Norms, OfWhatIsNoNumberAreLarge) {
  Whole c = product(20, 3);
  c.at(1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GT(error_of(c, 3, false), 1.0);
}

TEST(Norms, OfAnotherSeedAreLarge) {
  Whole c = product(50, 3), l = factor(50, 3);
  EXPECT_GT(error_of(c, 4, false), 0.1);
  EXPECT_GT(error_of(l, 4, true), 1e-3);
}

TEST(Norms, FindANegatedColumnOfAFactor) {
  Whole l = factor(50, 3);
  for (std::int64_t i = 7; i < 50; ++i) l.at(i, 7) = -l.at(i, 7);
  EXPECT_GT(error_of(l, 3, true), 1.0);
}

TEST(Norms, DoNotLookAboveTheDiagonalOfAFactor) {
  Whole l = factor(50, 3);
  l.at(3, 20) = 1e9;
  EXPECT_LT(error_of(l, 3, true), 1e-13);
}

}  // namespace
