#pragma once

/// What the programs for matrices are told.

#include <cstdint>
#include <string>

namespace apps {

/// Ranks in rows, columns and layers. Block (i, j) of a matrix belongs to one of them, block-cyclically.
struct Grid {
  int rows = 1, columns = 1, layers = 1;

  int ranks() const { return rows * columns * layers; }
  int rank_of(int i, int j, int layer = 0) const {
    return ((i % rows) * columns + j % columns) * layers + layer % layers;
  }
  std::string text() const;
  bool operator==(const Grid&) const = default;
};

/// The grid with the most even sides: rows ≤ columns ≤ layers where it has layers.
Grid even_grid(int ranks, bool layers);

struct Options {
  std::int64_t size = 1024, block = 128;
  int threads = 1, repeats = 1;
  Grid grid;
  bool validate = false;
  std::uint64_t seed = 1;
  double rho = 1;                  ///< blocks of random sizes from (2 - rho)·block to rho·block
  std::string messages = "large";  ///< of taskgrain: small, large
  std::string tiles = "yes";       ///< no: each rank's part of a matrix is one block
};

/// Which flags a program has beside those of all.
struct Extra {
  bool rho = false, messages = false, tiles = false, layers = false;
};

/// \throws WrongFlags; taskgrain::InvalidSpec
Options parse(int argc, char** argv, const Extra& extra, int ranks);

}  // namespace apps
