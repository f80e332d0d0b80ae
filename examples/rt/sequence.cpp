/// A rod whose heat spreads, as a sequential program whose tasks say what they read and write.

#include <cstdio>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main() {
  constexpr std::size_t cells = 1000, blocks = 10, size = cells / blocks;
  std::vector<double> rods[2] = {std::vector<double>(cells), std::vector<double>(cells)};
  rods[0][cells / 2] = 1000.0;

  double heat = 0.0;  // what tasks use is declared before the sequence

  rt::Runtime runtime({.workers = 2});
  rt::Sequence sequence(runtime);

  // A block, and what a step reads of it and of its neighbours: that overlaps with theirs.
  std::vector<rt::Data> block[2], around[2];
  for (int which : {0, 1}) {
    const std::span<double> rod(rods[which]);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t first = b == 0 ? 0 : b * size - 1, last = b == blocks - 1 ? cells : (b + 1) * size + 1;
      block[which].push_back(sequence.data(rod.subspan(b * size, size), {.home = static_cast<int>(b % 2)}));
      around[which].push_back(sequence.data(rod.subspan(first, last - first)));
    }
  }
  const auto step = [&](int from, int to) {
    for (std::size_t b = 0; b < blocks; ++b)
      sequence.task({read(around[from][b]), write(block[to][b])}, [&old = rods[from], &rod = rods[to], b] {
        for (std::size_t i = b * size; i < (b + 1) * size; ++i) {
          const double left = i == 0 ? old[i] : old[i - 1], right = i + 1 == cells ? old[i] : old[i + 1];
          rod[i] = old[i] + 0.25 * (left - 2.0 * old[i] + right);
        }
      });
  };

  step(0, 1);
  step(1, 0);
  // The same again and again: the order is found once.
  sequence.loop(249, [&] {
    step(0, 1);
    step(1, 0);
  });

  const rt::Data of_heat = sequence.data(heat);
  for (std::size_t b = 0; b < blocks; ++b)
    sequence.reduce(of_heat, heat, std::plus<>(), {read(block[0][b])}, [&rod = rods[0], b] {
      double sum = 0.0;
      for (std::size_t i = b * size; i < (b + 1) * size; ++i) sum += rod[i];
      return sum;
    });
  const auto middle = sequence.task({read(block[0][blocks / 2])}, [&] { return rods[0][cells / 2]; });
  sequence.wait(of_heat);
  std::printf("heat %.6f, %.6f in the middle\n", heat, sequence.wait(middle));

  std::vector<double> old(cells), now(cells);
  now[cells / 2] = 1000.0;
  for (int time = 0; time < 500; ++time) {
    old.swap(now);
    for (std::size_t i = 0; i < cells; ++i)
      now[i] = old[i] + 0.25 * ((i == 0 ? old[i] : old[i - 1]) - 2.0 * old[i] + (i + 1 == cells ? old[i] : old[i + 1]));
  }
  std::printf("500 steps: %s\n", rods[0] == now ? "as in one loop" : "WRONG");
  return rods[0] == now ? 0 : 1;
}
