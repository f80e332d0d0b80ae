#pragma once

/// Conjugate gradients (Hestenes and Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems", 1952),
/// without a preconditioner, for the 1-D Poisson problem, as in section 6.2 of Yadav et al., "On the Duality of Task
/// and Actor Programming Models": A x = b, where A has 2 on its diagonal and -1 beside it. A is stored in compressed
/// rows, as in PETSc.
///
/// A step has two sums over all rows, p·Ap and r·r, and each block needs both to go on: so it has two tasks, `advance`
/// and `descend`. It needs no p of other blocks, since it computes the two elements beside its own from their r.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../steps/program.hpp"

namespace apps::cg {

inline constexpr StepsProblem problem{"cg", 100'000, 32, 500'000'000, 100};
inline constexpr std::size_t most_chunks = 64;

/// Rows whose part of a sum is one number. They depend on the size alone, and so do the bits of a sum. There are few,
/// because each block reads the parts of all. Blocks have whole chunks.
class Chunks {
 public:
  /// \param field  what to name if there are too few rows for so many blocks
  /// \throws taskgrain::InvalidSpec
  Chunks(const StepsOptions& options, int blocks, std::string_view field)
      : size_(static_cast<std::size_t>(options.size)), blocks_(static_cast<std::size_t>(blocks)),
        rows_(std::max<std::size_t>(128, (size_ + 8 * most_chunks - 1) / (8 * most_chunks) * 8)) {
    if (blocks_ > count())
      throw taskgrain::InvalidSpec(std::string(field), std::to_string(field == "size" ? options.size : blocks),
                                   "up to 64 blocks, with 128 rows each");
    if (options.steps > 8 * options.size)
      throw taskgrain::InvalidSpec("steps", std::to_string(options.steps),
                                   "up to 8 times the size, after which r·r is too small for a number");
  }

  std::size_t size() const { return size_; }
  std::size_t count() const { return (size_ + rows_ - 1) / rows_; }
  /// The first row of a chunk; of the one after the last, the end of the rows.
  std::size_t begin(std::size_t chunk) const { return std::min(size_, chunk * rows_); }
  /// The first chunk of a block; of the one after the last, the end of the chunks.
  std::size_t first(std::size_t block) const { return count() * block / blocks_; }

 private:
  std::size_t size_, blocks_, rows_;
};

/// Of p·Ap, by chunk.
using Curvature = std::array<double, most_chunks>;

/// Of the residual r, by chunk: its part of r·r, and the elements that the chunks beside it need.
struct Residual {
  double squares = 0.0, first = 0.0, last = 0.0;
};
using Residuals = std::array<Residual, most_chunks>;

/// Pairs of halves: always in the same order, and in less time than one after the other.
template <std::size_t count>
double sum(std::array<double, count> parts) {
  for (std::size_t half = count / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) parts[k] += parts[k + half];
  return parts[0];
}
inline double sum(const Residuals& parts) {
  Curvature squares;
  for (std::size_t k = 0; k < most_chunks; ++k) squares[k] = parts[k].squares;
  return sum(squares);
}

/// 0 where there is nothing to divide by: before the first step, and where r is 0.
inline double ratio(double a, double b) { return b == 0.0 ? 0.0 : a / b; }

/// A solution with all wavelengths, or the method would end after a few steps. A x has no rounding.
inline double solution(std::int64_t row, std::int64_t size) {
  if (row < 0 || row >= size) return 0.0;
  const std::uint64_t mixed = (static_cast<std::uint64_t>(row) + 1) * 0x9E3779B97F4A7C15U;
  return static_cast<double>((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9U >> 43) * 0x1p-20 - 1.0;
}
inline double right_hand_side(std::int64_t row, std::int64_t size) {
  return 2.0 * solution(row, size) - solution(row - 1, size) - solution(row + 1, size);
}

/// In eight sums, so that no addition waits for the one before it.
inline double dot(const double* a, const double* b, std::size_t count) {
  std::array<double, 8> lanes{};
  std::size_t k = 0;
  for (; k + 8 <= count; k += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += a[k + lane] * b[k + lane];
  for (std::size_t lane = 0; k < count; ++k, ++lane) lanes[lane] += a[k] * b[k];
  return sum(lanes);
}

/// A matrix in compressed rows.
struct Rows {
  std::vector<std::int32_t> begins{0}, columns;
  std::vector<double> values;

  /// y = A x for rows from `begin` up to `end`.
  void multiply(const double* x, double* __restrict y, std::size_t begin, std::size_t end) const {
    auto entry = static_cast<std::size_t>(begins[begin]);
    for (std::size_t row = begin; row < end; ++row) {
      double sum = 0.0;
      for (const auto last = static_cast<std::size_t>(begins[row + 1]); entry < last; ++entry)
        sum += values[entry] * x[columns[entry]];
      y[row] = sum;
    }
  }
};

/// x += α p, r -= α q, for so many rows.
inline void move(const double* p, const double* q, double alpha, double* __restrict x, double* __restrict r,
                 std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) x[k] += alpha * p[k], r[k] -= alpha * q[k];
}
/// p = r + β p.
inline void turn(const double* r, double beta, double* __restrict p, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) p[k] = r[k] + beta * p[k];
}

/// The rows of some chunks. It begins a line of the cache, so that no other worker writes there.
class alignas(64) Block {
 public:
  Block() = default;
  /// x = 0, r = b.
  Block(const Chunks& chunks, std::size_t block) : first_(chunks.first(block)), last_(chunks.first(block + 1)) {
    const std::size_t begin = chunks.begin(first_), rows = chunks.begin(last_) - begin;
    for (std::size_t chunk = first_; chunk <= last_; ++chunk) begins_.push_back(chunks.begin(chunk) - begin);
    x_.resize(rows), q_.resize(rows), r_.resize(rows + 2), p_.resize(rows + 2);
    const auto size = static_cast<std::int64_t>(chunks.size());
    for (std::size_t k = 0; k < rows; ++k) {
      const auto row = static_cast<std::int64_t>(begin + k);
      r_[k + 1] = right_hand_side(row, size);
      for (const int offset : {-1, 0, 1})
        if (row + offset >= 0 && row + offset < size) {
          a_.columns.push_back(static_cast<std::int32_t>(k) + 1 + offset);
          a_.values.push_back(offset == 0 ? 2.0 : -1.0);
        }
      a_.begins.push_back(static_cast<std::int32_t>(a_.columns.size()));
    }
  }

  /// p = r + β p, q = A p, and the block's parts of p·q.
  void advance(const Residuals& residuals, Curvature& curvature) {
    const double before = std::exchange(squares_, sum(residuals)), beta = ratio(squares_, before);
    if (first_ > 0) r_.front() = residuals[first_ - 1].last;
    if (last_ < most_chunks) r_.back() = residuals[last_].first;
    std::size_t done = 0;
    for (std::size_t chunk = first_; chunk < last_; ++chunk) {
      const std::size_t begin = begins_[chunk - first_], end = begins_[chunk - first_ + 1];
      turn(&r_[done], beta, &p_[done], end + 2 - done), done = end + 2;  // with the element after those of the chunk
      a_.multiply(p_.data(), q_.data(), begin, end);
      curvature[chunk] = dot(&p_[begin + 1], &q_[begin], end - begin);
    }
  }

  /// x += α p, r -= α q, and the block's parts of r·r. The first call, with no curvature, only finds these.
  void descend(const Curvature& curvature, Residuals& residuals) {
    const double alpha = ratio(squares_, sum(curvature));
    for (std::size_t chunk = first_; chunk < last_; ++chunk) {
      const std::size_t begin = begins_[chunk - first_], count = begins_[chunk - first_ + 1] - begin;
      double* const r = &r_[begin + 1];
      move(&p_[begin + 1], &q_[begin], alpha, &x_[begin], r, count);
      residuals[chunk] = {dot(r, r, count), r[0], r[count - 1]};
    }
  }

  std::span<const double> x() const { return x_; }

 private:
  std::size_t first_ = 0, last_ = 0;  // chunks
  std::vector<std::size_t> begins_;   // the first row of each, and the end
  Rows a_;                            // columns count as the elements of p_
  double squares_ = 0.0;              // r·r
  std::vector<double> x_, q_;
  std::vector<double> r_, p_;  // with an element of each of the two blocks beside it
};

/// \param x        all of it
/// \param squares  r·r after the last step
///
/// Steps change r by a recurrence. Its norm is that of b - A x but for rounding, about ε ‖A‖ ‖x‖ for each step
/// (Greenbaum, "Estimating the Attainable Accuracy of Recursively Computed Residual Methods", 1997; x grows towards the
/// solution, whose norm bounds it). After as many steps as there are rows, x is the solution, but for ‖A⁻¹‖ times as
/// much. Errors are in units of ‖A‖ ‖x‖, and ‖A‖ < 4.
inline Verified verify(std::span<const double> x, double squares, int steps) {
  const auto size = static_cast<std::int64_t>(x.size());
  double residual = 0.0, distance = 0.0, norm = 0.0;
  const auto at = [&](std::int64_t row) { return row < 0 || row >= size ? 0.0 : x[static_cast<std::size_t>(row)]; };
  for (std::int64_t row = 0; row < size; ++row) {
    const double is = right_hand_side(row, size) - (2.0 * at(row) - at(row - 1) - at(row + 1));
    residual += is * is;
    distance += std::pow(at(row) - solution(row, size), 2);
    norm += std::pow(solution(row, size), 2);
  }
  const double least = 4.0 * std::pow(std::sin(0.5 * std::numbers::pi / static_cast<double>(size + 1)), 2);
  const double scale = 4.0 * std::sqrt(norm), gap = std::abs(std::sqrt(residual) - std::sqrt(squares)) / scale;
  const double error = steps < size ? gap : std::max(gap, least * std::sqrt(distance) / scale);
  return {error, (steps + 1) * std::numeric_limits<double>::epsilon(), digest(x)};
}

}  // namespace apps::cg
