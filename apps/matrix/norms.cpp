#include "norms.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "entries.hpp"

namespace apps {

namespace {

using Vector = std::vector<double>;

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

/// ‖found - wanted‖ / ‖wanted‖
double relative(std::span<const double> found, std::span<const double> wanted) {
  double difference = 0, whole = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    difference += (found[k] - wanted[k]) * (found[k] - wanted[k]);
    whole += wanted[k] * wanted[k];
  }
  const double error = std::sqrt(difference / whole);
  return std::isfinite(error) ? error : std::numeric_limits<double>::max();  // NaN is lost in a maximum, and in JSON
}

/// Calls body(row, column, element) for those of the pieces, or those not above the diagonal.
template <typename Body>
void for_each_element(std::span<const Piece> pieces, bool lower, const Body& body) {
  for (const Piece& piece : pieces)
    for (std::int64_t j = 0; j < piece.columns; ++j)
      for (std::int64_t i = 0; i < piece.rows; ++i)
        if (!lower || piece.row + i >= piece.column + j)
          body(piece.row + i, piece.column + j, piece.data[j * piece.stride + i]);
}

Vector random_vector(std::int64_t size) {
  Vector x(index(size));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = random_value(12345, k, k);
  return x;
}

/// Each rank multiplies its share of the rows.
Vector times(const World& world, const Entries& entries, const Vector& x) {
  Vector y(x.size(), 0.0);
  const auto size = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = world.rank(); i < size; i += world.ranks())
    for (std::int64_t j = 0; j < size; ++j) y[index(i)] += entries(i, j) * x[index(j)];
  world.sum(y);
  return y;
}

/// Each rank multiplies its pieces.
Vector times(const World& world, std::span<const Piece> pieces, bool lower, bool transposed, const Vector& x) {
  Vector y(x.size(), 0.0);
  for_each_element(pieces, lower, [&](std::int64_t i, std::int64_t j, double element) {
    y[index(transposed ? j : i)] += element * x[index(transposed ? i : j)];
  });
  world.sum(y);
  return y;
}

/// Whether the elements on the diagonal, of which each is in one piece, are positive.
bool positive_diagonal(const World& world, std::span<const Piece> l) {
  Vector wrong(1, 0.0);
  for_each_element(l, true, [&](std::int64_t i, std::int64_t j, double element) {
    if (i == j && !(element > 0)) ++wrong[0];
  });
  world.sum(wrong);
  return wrong[0] < 1;
}

}  // namespace

double product_error(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> c) {
  const Vector x = random_vector(size);
  return relative(times(world, c, false, false, x),
                  times(world, left_factor(seed), times(world, right_factor(seed), x)));
}

double factor_error(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> l) {
  // With a column of L negated, L·Lᵀ is the same.
  if (!positive_diagonal(world, l)) return std::numeric_limits<double>::max();
  const Vector x = random_vector(size);
  return relative(times(world, l, true, false, times(world, l, true, true, x)),
                  times(world, positive_definite(seed, size), x));
}

}  // namespace apps
