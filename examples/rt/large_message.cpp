/// The transpose of a matrix whose rows of blocks are dealt out to ranks. Blocks travel by large active messages:
/// from the memory of the sender to where the receiver wants them. The sender frees a block when it is told that it
/// may.

#include <array>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int blocks = 6, side = 128;
using Key = std::array<int, 2>;  // row and column of a block
using Block = std::vector<double>;

double entry(int row, int column) { return row + 1e-4 * column; }
int number(int i, int j) { return i * blocks + j; }

int main() {
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  std::vector<Block> a(blocks * blocks), transposed(blocks * blocks);  // those of this rank
  rt::Taskflow<Key> make(runtime, "make"), transpose(runtime, "transpose");
  const auto rank_of = [&](int i) { return i % comm.ranks(); };  // of block (i, j)
  int freed = 0, wrong = 0;

  const auto block = comm.large_active_message(
      [&](int i, int j, std::size_t elements) {  // on the receiver: where they go
        transposed[number(i, j)].resize(elements);
        return transposed[number(i, j)].data();
      },
      [&](int i, int j) { transpose.fulfill({i, j}); },  // on the receiver: they are there
      [&](int i, int j) {                                // on the sender: it may change or free its own
        a[number(j, i)] = Block();
        ++freed;
      },
      "block");
  const auto report = comm.active_message([&](int its_wrong) { wrong += its_wrong; });

  make.indegree([](Key) { return 1; }).run([&](Key key) {
    const auto [i, j] = key;
    Block& made = a[number(i, j)];
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column) made.push_back(entry(i * side + row, j * side + column));
    block.send(rank_of(j), made, j, i);  // also to this rank
  });
  transpose.indegree([](Key) { return 1; }).run([&](Key key) {
    const auto [i, j] = key;
    Block& its = transposed[number(i, j)];
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < row; ++column) std::swap(its[row * side + column], its[column * side + row]);
    int its_wrong = 0;
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column)
        its_wrong += its[row * side + column] != entry(j * side + column, i * side + row);
    report.send(0, its_wrong);
  });

  for (int i = comm.rank(); i < blocks; i += comm.ranks())
    for (int j = 0; j < blocks; ++j) make.fulfill({i, j});
  runtime.wait();
  if (comm.rank() == 0) std::printf("rank 0 has freed %d blocks; %d entries of all ranks are wrong\n", freed, wrong);
  return wrong == 0 ? 0 : 1;
}
