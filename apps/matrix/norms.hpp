#pragma once

/// How wrong a result is that lies in pieces on all ranks.

#include <cstdint>
#include <span>

#include "tiling.hpp"
#include "world.hpp"

namespace apps {

/// Up to this size rank 0 computes the result by itself with LAPACK and compares; the error is the Frobenius norm of
/// the difference over that of the result. Beyond, it is that of both sides of the equation times a random vector.
inline constexpr std::int64_t compared_size = 1024;

/// Of C = A·B. On all ranks; each element of C is in one piece.
double product_error(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> c);

/// Of A = L·Lᵀ; above the diagonal, pieces of L may hold anything.
double factor_error(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> l);

}  // namespace apps
