#pragma once

/// The error of a result that lies in pieces on all ranks: both sides of its equation times a random vector, the norm of
/// the difference over that of the result.

#include <cstdint>
#include <span>

#include "tiling.hpp"
#include "world.hpp"

namespace apps {

/// Of C = A·B. On all ranks; each element of C is in one piece.
double product_error(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> c);

/// Of A = L·Lᵀ, where L has a positive diagonal. Above it, pieces of L may hold anything.
double factor_error(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> l);

}  // namespace apps
