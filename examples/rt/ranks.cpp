/// A graph on several ranks: Pascal's triangle, whose columns are dealt out to them. A task fulfills tasks of its own
/// rank itself, and those of others by an active message, which takes along the value that they need.

#include <array>
#include <cstdio>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int rows = 20;
using Key = std::array<int, 2>;  // row, column

int main() {
  rt::Communicator comm;  // the ranks that taskgrain-run has started
  rt::Runtime runtime({.communicator = &comm});
  rt::Taskflow<Key> flow(runtime, "entry");
  long data[rows][rows] = {}, sum = 0;  // of this rank
  const auto rank_of = [&](Key key) { return key[1] % comm.ranks(); };

  const auto need = comm.active_message([&](Key next, Key key, long value) {
    data[key[0]][key[1]] = value;
    flow.fulfill(next);
  });
  const auto add = comm.active_message([&](long value) { sum += value; });  // one at a time on a rank

  flow.indegree([](Key key) { return (key[1] > 0) + (key[1] < key[0]); });  // the entries above, left and right
  flow.run([&](Key key) {
    const auto [row, column] = key;
    long& value = data[row][column];
    value = row == 0 ? 1 : 0;
    if (column > 0) value += data[row - 1][column - 1];
    if (column < row) value += data[row - 1][column];
    if (row + 1 == rows) return add.send(0, value);
    for (const Key next : {Key{row + 1, column}, Key{row + 1, column + 1}})
      if (rank_of(next) == comm.rank())
        flow.fulfill(next);
      else
        need.send(rank_of(next), next, key, value);
  });

  if (comm.rank() == 0) flow.fulfill({0, 0});
  runtime.wait();  // until nothing is left to do on any rank
  if (comm.rank() != 0) return 0;
  std::printf("%d ranks: the last of %d rows sums up to %ld\n", comm.ranks(), rows, sum);
  return sum == 1L << (rows - 1) ? 0 : 1;
}
