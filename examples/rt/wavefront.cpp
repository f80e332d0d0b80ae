/// The edit distance of two texts, by blocks of its table. A block waits for the one above and the one to the left;
/// blocks on a diagonal run at once.

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int blocks = 12, side = 50, length = blocks * side;

/// d(r, c): how many letters to insert, delete or replace to make the first c letters of `to` from the first r of
/// `from`.
struct Table {
  std::string from, to;
  std::vector<int> values = std::vector<int>((length + 1) * (length + 1));

  int& d(int r, int c) { return values[static_cast<std::size_t>(r * (length + 1) + c)]; }
  void fill(int r_begin, int r_end, int c_begin, int c_end) {
    for (int r = r_begin; r < r_end; ++r)
      for (int c = c_begin; c < c_end; ++c)
        d(r + 1, c + 1) = std::min({d(r, c) + (from[r] != to[c]), d(r, c + 1) + 1, d(r + 1, c) + 1});
  }
};

int main() {
  Table table;
  for (int k = 0; k < length; ++k) table.from += "acgt"[k * k % 11 % 4], table.to += "acgt"[k * k * k % 13 % 4];
  for (int k = 0; k <= length; ++k) table.d(k, 0) = table.d(0, k) = k;
  Table expected = table;
  expected.fill(0, length, 0, length);

  rt::Runtime runtime({.order = rt::Order::oldest});  // no block lies while the next diagonal waits for it
  rt::Taskflow<std::array<int, 2>> flow(runtime, "block");
  flow.indegree([](std::array<int, 2> block) { return (block[0] > 0) + (block[1] > 0); });
  flow.worker(
      [&](std::array<int, 2> block) { return block[0] * runtime.workers() / blocks; });  // rows that lie together
  flow.run([&](std::array<int, 2> block) {
    const auto [i, j] = block;
    table.fill(i * side, (i + 1) * side, j * side, (j + 1) * side);
    if (i + 1 < blocks) flow.fulfill({i + 1, j});
    if (j + 1 < blocks) flow.fulfill({i, j + 1});
  });
  flow.fulfill({0, 0});
  runtime.wait();
  std::printf("edit distance %d, by one loop %d\n", table.d(length, length), expected.d(length, length));
  return table.values == expected.values ? 0 : 1;
}
