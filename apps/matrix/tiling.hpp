#pragma once

/// The blocks of a square matrix.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace apps {

/// Where the rows, and likewise the columns, of a matrix are cut.
class Tiling {
 public:
  /// Blocks of `block` rows; the last one may be smaller.
  Tiling(std::int64_t size, std::int64_t block);
  /// As many, of random sizes, uniform from (2 - rho)·block to rho·block before they are scaled to fill the matrix.
  Tiling(std::int64_t size, std::int64_t block, double rho, std::uint64_t seed);

  std::int64_t size() const { return begins_.back(); }
  /// Their number.
  int blocks() const { return static_cast<int>(begins_.size()) - 1; }
  std::int64_t begin(int block) const { return begins_[static_cast<std::size_t>(block)]; }
  int extent(int block) const { return static_cast<int>(begin(block + 1) - begin(block)); }

 private:
  std::vector<std::int64_t> begins_;  ///< and the size
};

/// A part of a matrix in this rank's memory, by columns.
struct Piece {
  std::int64_t row, column;  ///< where it begins in the matrix
  std::int64_t rows, columns;
  double* data;
  std::int64_t stride;  ///< from column to column
};

/// The blocks of a matrix that a rank has or receives, each in one piece of memory.
class Blocks {
 public:
  explicit Blocks(const Tiling& tiling)
      : tiling_(tiling),
        blocks_(static_cast<std::size_t>(tiling.blocks()) * static_cast<std::size_t>(tiling.blocks())) {}

  /// Makes memory for a block, zeros.
  void hold(int i, int j);
  bool holds(int i, int j) const { return blocks_[at(i, j)] != nullptr; }
  double* operator()(int i, int j) const { return blocks_[at(i, j)].get(); }
  std::span<double> elements(int i, int j) const {
    return {(*this)(i, j), static_cast<std::size_t>(tiling_.extent(i)) * static_cast<std::size_t>(tiling_.extent(j))};
  }
  Piece piece(int i, int j) const {
    return {tiling_.begin(i), tiling_.begin(j), tiling_.extent(i), tiling_.extent(j), (*this)(i, j), tiling_.extent(i)};
  }

 private:
  struct Free {
    void operator()(double* memory) const { std::free(memory); }
  };
  std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(tiling_.blocks()) + static_cast<std::size_t>(i);
  }

  const Tiling& tiling_;
  std::vector<std::unique_ptr<double, Free>> blocks_;
};

}  // namespace apps
