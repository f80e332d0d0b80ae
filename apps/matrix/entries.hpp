#pragma once

/// Matrices of random numbers that every rank knows without a message, whatever the layout.

#include <cstdint>

#include "tiling.hpp"

namespace apps {

/// From -1 to 1, by a hash of what it is given (the finaliser of splitmix64).
inline double random_value(std::uint64_t seed, std::uint64_t i, std::uint64_t j) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  const std::uint64_t bits = mix(mix(seed * 0x9e3779b97f4a7c15u + i) + 0x9e3779b97f4a7c15u * (j + 1));
  return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63;
}

/// The elements of a matrix.
struct Entries {
  std::uint64_t seed;
  /// 0: a matrix of any kind. Otherwise it is symmetric, with so much more on its diagonal: positive definite, if that
  /// is the number of its rows.
  double diagonal = 0;

  double operator()(std::int64_t i, std::int64_t j) const {
    const bool turned = diagonal > 0 && i < j;
    const auto row = static_cast<std::uint64_t>(turned ? j : i), column = static_cast<std::uint64_t>(turned ? i : j);
    return random_value(seed, row, column) + (i == j ? diagonal : 0);
  }
  void fill(const Piece& piece) const {
    for (std::int64_t j = 0; j < piece.columns; ++j)
      for (std::int64_t i = 0; i < piece.rows; ++i)
        piece.data[j * piece.stride + i] = (*this)(piece.row + i, piece.column + j);
  }
};

/// The factors of a product, and the matrix that is factored.
inline Entries left_factor(std::uint64_t seed) { return {2 * seed}; }
inline Entries right_factor(std::uint64_t seed) { return {2 * seed + 1}; }
inline Entries positive_definite(std::uint64_t seed, std::int64_t size) { return {seed, static_cast<double>(size)}; }

}  // namespace apps
