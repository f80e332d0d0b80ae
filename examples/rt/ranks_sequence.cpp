/// Heat in a rod on several ranks, as a sequential program: all ranks run it, and each task runs on the rank of the
/// data that it writes. What a task reads of another rank is brought to it.

#include <cstdio>
#include <functional>
#include <span>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main() {
  constexpr std::size_t cells = 1000, blocks = 10, size = cells / blocks;
  std::vector<double> rods[2] = {std::vector<double>(cells), std::vector<double>(cells)};
  rods[0][cells / 2] = 1000.0;
  double heat = 0.0;

  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  rt::Sequence sequence(runtime, comm);

  std::vector<rt::Data> block[2], around[2];
  for (int which : {0, 1}) {
    const std::span<double> rod(rods[which]);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t first = b == 0 ? 0 : b * size - 1, last = b == blocks - 1 ? cells : (b + 1) * size + 1;
      const int rank = static_cast<int>(b) * comm.ranks() / static_cast<int>(blocks);
      block[which].push_back(sequence.data(rod.subspan(b * size, size), {.rank = rank}));
      around[which].push_back(sequence.data(rod.subspan(first, last - first)));
    }
  }
  const rt::Data of_heat = sequence.data(heat);

  // The points at the ends of the ranks' parts cross in each step, and nothing else.
  sequence.loop(250, [&] {
    for (int from : {0, 1})
      for (std::size_t b = 0; b < blocks; ++b)
        sequence.task({read(around[from][b]), write(block[1 - from][b])},
                      [&old = rods[from], &rod = rods[1 - from], b] {
                        for (std::size_t i = b * size; i < (b + 1) * size; ++i) {
                          const double left = i == 0 ? old[i] : old[i - 1];
                          const double right = i + 1 == cells ? old[i] : old[i + 1];
                          rod[i] = old[i] + 0.25 * (left - 2.0 * old[i] + right);
                        }
                      });
  });
  for (std::size_t b = 0; b < blocks; ++b)
    sequence.reduce(of_heat, heat, std::plus<>(), {read(block[0][b])}, [&rod = rods[0], b] {
      double sum = 0.0;
      for (std::size_t i = b * size; i < (b + 1) * size; ++i) sum += rod[i];
      return sum;
    });
  sequence.wait(of_heat);  // on all ranks
  if (comm.rank() == 0) std::printf("heat %.6f on %d ranks\n", heat, comm.ranks());
}
