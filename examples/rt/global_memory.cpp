/// A global address space: heat in a rod whose cells are dealt out to the ranks, and a sum by recursion over all of
/// them. No rank sends anything itself.

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr std::size_t cells = 1000, block = 100;
constexpr int steps = 50;

int main() {
  rt::Communicator comm;  // the ranks that taskgrain-run has started
  rt::Runtime runtime({.communicator = &comm});
  rt::GlobalMemory memory(runtime);
  rt::GlobalArray<double> now(memory, cells), next(memory, cells);

  if (comm.rank() == 0) now.write(cells / 2, 1)[0] = 1000;  // of another rank, perhaps
  memory.fence();                                           // now all see it

  for (int step = 0; step < steps; ++step) {
    const auto &from = step % 2 == 0 ? now : next, &to = step % 2 == 0 ? next : now;
    rt::parallel_for(to, [&](std::size_t k) {  // on the rank that owns element k, and a fence for all
      const std::size_t first = k - std::min<std::size_t>(k, 1), last = std::min(k + 2, cells);
      const auto near = from.read(first, last - first);
      to.write(k, 1)[0] = std::accumulate(near.begin(), near.end(), 0.0) / 3;
    });
  }

  rt::GlobalForks forks(memory);
  const rt::GlobalFunction<double(std::size_t, std::size_t)> sum = forks.function(
      [&](std::size_t first, std::size_t count) -> double {
        if (count <= block) {
          const auto part = now.read(first, count);
          return std::accumulate(part.begin(), part.end(), 0.0);
        }
        auto left = sum.fork(first, count / 2);  // which another rank may take
        const double right = sum(first + count / 2, count - count / 2);
        return left.join() + right;
      },
      "sum");
  const double heat = forks.run(sum, 0, cells);  // by all ranks, and known to all
  if (comm.rank() == 0) std::printf("%d ranks, %d steps: the heat is still %.6f\n", comm.ranks(), steps, heat);
  return heat > 999.999 && heat < 1000.001 ? 0 : 1;
}
