/// Recursion, loops and futures: how many ways there are to place n queens, the length of a vector, and an integral.

#include <cmath>
#include <cstdio>
#include <functional>
#include <ranges>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

/// Parts of an integral are futures, and so is their sum, which follows them.
rt::SharedFuture<double> pi(rt::Runtime& runtime) {
  constexpr int steps = 100'000, parts = 8;
  std::vector<rt::SharedFuture<double>> sums;
  for (int part = 0; part < parts; ++part)
    sums.push_back(rt::async(runtime, [part] {
      double sum = 0;
      for (double k = part + 0.5 / steps; k < part + 1; k += 1.0 / steps) sum += 4 / (1 + k / parts * (k / parts));
      return sum / steps / parts;
    }));
  return rt::when_all(std::move(sums)).then([](const std::vector<rt::SharedFuture<double>>& all) {
    double sum = 0;
    for (const auto& one : all) sum += one.get();
    return sum;
  });
}

/// Free columns and diagonals of the next row, a bit for each column.
struct Board {
  unsigned columns, falling, rising;
};

long solutions(const Board& board, int rows) {
  if (rows == 0) return 1;
  const unsigned free = board.columns & board.falling & board.rising;
  const auto with = [&](unsigned queen) {
    return Board{board.columns & ~queen, (board.falling & ~queen) >> 1 | 1U << 31, (board.rising & ~queen) << 1 | 1U};
  };
  if (free == 0) return 0;
  const unsigned first = free & (0 - free), rest = free & ~first;
  // The first queen of this row is a fork; the others are what this call goes on with, one less each time.
  rt::Fork one([&, below = with(first)] { return solutions(below, rows - 1); });
  long others = 0;
  for (unsigned left = rest; left != 0; left &= left - 1) others += solutions(with(left & (0 - left)), rows - 1);
  return others + one.join();
}

int main() {
  rt::Runtime runtime;
  constexpr int n = 8;
  const long found = rt::fork_join(runtime, [] { return solutions({(1U << n) - 1, ~0U, ~0U}, n); });
  std::printf("%d queens: %ld ways\n", n, found);

  std::vector<double> x(100'000);
  rt::parallel_for(runtime, std::views::iota(std::size_t{0}, x.size()),
                   [&](std::size_t k) { x[k] = k % 2 == 0 ? 3.0 : 4.0; });
  const double squares = rt::parallel_reduce(runtime, x, 0.0, std::plus<>(), [](double one) { return one * one; },
                                             {.least = 1000, .fixed = true});
  std::printf("the vector is %.1f long\n", std::sqrt(squares));

  const rt::SharedFuture<double> area = pi(runtime).then([](double value) { return value * 4; });
  std::printf("a circle of radius 2 has the area %.4f\n", area.get());
  return found == 92 ? 0 : 1;
}
