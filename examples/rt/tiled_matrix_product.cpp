/// C = A B in tiles: two flows, with keys of three numbers and of two. A product waits for the tiles that it needs and
/// for the product before it that adds to the same tile of C; a tile that is loaded tells the products that wait for
/// it.

#include <array>
#include <cstdio>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int tiles = 6, side = 32, rows = tiles * side;

using Matrix = std::vector<double>;

double a(int row, int column) { return row + 2 * column; }
double b(int row, int column) { return 3 * row - column; }

int main() {
  Matrix A(rows * rows), B(rows * rows), C(rows * rows);
  rt::Runtime runtime;
  rt::Taskflow<std::array<int, 3>> products(runtime, "product");  // i, j, k: adds A(i, k) B(k, j) to C(i, j)
  rt::Taskflow<std::array<int, 2>> loads(runtime, "load");        // i, j: of A and B
  products.indegree([](std::array<int, 3> ijk) { return ijk[2] == 0 ? 2 : 3; });
  products.worker(
      [&](std::array<int, 3> ijk) { return (ijk[0] * tiles + ijk[1]) % runtime.workers(); });  // C(i, j) stays there
  products.run([&](std::array<int, 3> ijk) {
    const auto [i, j, k] = ijk;
    for (int r = i * side; r < (i + 1) * side; ++r)
      for (int m = k * side; m < (k + 1) * side; ++m)
        for (int c = j * side; c < (j + 1) * side; ++c) C[r * rows + c] += A[r * rows + m] * B[m * rows + c];
    if (k + 1 < tiles) products.fulfill({i, j, k + 1});
  });
  loads.indegree([](std::array<int, 2>) { return 0; });
  loads.run([&](std::array<int, 2> tile) {
    const auto [i, j] = tile;
    for (int r = i * side; r < (i + 1) * side; ++r)
      for (int c = j * side; c < (j + 1) * side; ++c) A[r * rows + c] = a(r, c), B[r * rows + c] = b(r, c);
    for (int other = 0; other < tiles; ++other) products.fulfill({i, other, j}), products.fulfill({other, j, i});
  });
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j < tiles; ++j) loads.fulfill({i, j});
  runtime.wait();

  int wrong = 0;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < rows; ++c) {
      double sum = 0;  // of whole numbers: exact in any order
      for (int m = 0; m < rows; ++m) sum += a(r, m) * b(m, c);
      wrong += C[r * rows + c] != sum;
    }
  std::printf("%d products of tiles, %d elements wrong\n", tiles * tiles * tiles, wrong);
  return wrong == 0 ? 0 : 1;
}
