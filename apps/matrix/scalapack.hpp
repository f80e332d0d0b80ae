#pragma once

/// ScaLAPACK's grid of ranks, and matrices on it.

#include <algorithm>
#include <vector>

#include "blas.hpp"
#include "entries.hpp"
#include "options.hpp"
#include "taskgrain/binding.hpp"
#include "tiling.hpp"
#include "world.hpp"

extern "C" {
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
void Cblacs_gridexit(int);
int numroc_(const int*, const int*, const int*, const int*, const int*);
void descinit_(int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*,
               int*);
void pdgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
             const int*, const int*, const double*, const int*, const int*, const int*, const double*, double*,
             const int*, const int*, const int*);
void pdpotrf_(const char*, const int*, double*, const int*, const int*, const int*, int*);
}

namespace apps {

class ScalapackContext {
 public:
  ScalapackContext(const World& world, const Options& options) {
    blas::use(1, options.threads);
    // Threads of BLAS start later, and may run where this one may.
    if (options.threads == 1) taskgrain::pin_this_thread(world.processors(1).front());
    Cblacs_get(0, 0, &context_);
    Cblacs_gridinit(&context_, "R", options.grid.rows, options.grid.columns);  // as Grid::rank_of counts
    Cblacs_gridinfo(context_, &grid_.rows, &grid_.columns, &row_, &column_);
  }
  ~ScalapackContext() { Cblacs_gridexit(context_); }
  ScalapackContext(const ScalapackContext&) = delete;
  ScalapackContext& operator=(const ScalapackContext&) = delete;

  int number() const { return context_; }
  const Grid& grid() const { return grid_; }
  const int& row() const { return row_; }
  const int& column() const { return column_; }

 private:
  int context_ = 0, row_ = 0, column_ = 0;
  Grid grid_;
};

/// The blocks of a rank, which are one matrix in its memory.
class ScalapackMatrix {
 public:
  ScalapackMatrix(const ScalapackContext& context, const Options& options)
      : context_(context), tiling_(options.size, options.block), block_(options.block) {
    const int size = static_cast<int>(options.size), block = static_cast<int>(options.block), zero = 0;
    const int rows = numroc_(&size, &block, &context.row(), &zero, &context.grid().rows);
    const int columns = numroc_(&size, &block, &context.column(), &zero, &context.grid().columns);
    stride_ = std::max(1, rows);
    elements_.resize(static_cast<std::size_t>(stride_) * static_cast<std::size_t>(std::max(1, columns)));
    const int number = context.number();
    int info = 0;
    descinit_(descriptor_, &size, &size, &block, &block, &zero, &zero, &number, &stride_, &info);
  }

  double* data() { return elements_.data(); }
  const int* descriptor() const { return descriptor_; }
  void clear() { std::ranges::fill(elements_, 0.0); }
  void fill(const Entries& entries) {
    for (const Piece& piece : pieces()) entries.fill(piece);
  }
  std::vector<Piece> pieces() {
    std::vector<Piece> pieces;
    const auto [rows, columns, layers] = context_.grid();
    for (int j = context_.column(); j < tiling_.blocks(); j += columns)
      for (int i = context_.row(); i < tiling_.blocks(); i += rows)
        pieces.push_back({tiling_.begin(i), tiling_.begin(j), tiling_.extent(i), tiling_.extent(j),
                          elements_.data() + block_ * (i / rows + j / columns * static_cast<std::int64_t>(stride_)),
                          stride_});
    return pieces;
  }

 private:
  const ScalapackContext& context_;
  const Tiling tiling_;
  const std::int64_t block_;
  int stride_ = 1;
  std::vector<double> elements_;
  int descriptor_[9];
};

}  // namespace apps
