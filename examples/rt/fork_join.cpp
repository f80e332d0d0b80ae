/// Recursion and loops in parallel: how many ways there are to place n queens, and the length of a vector.

#include <cmath>
#include <cstdio>
#include <functional>
#include <ranges>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

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
  return found == 92 ? 0 : 1;
}
