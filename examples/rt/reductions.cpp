/// Reductions: what tasks compute, combined over the workers of a rank and over all ranks. Here they integrate
/// 4 / (1 + x²) from 0 to 1, which is π, by blocks; each rank has every ranks-th block.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main() {
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});

  int blocks = comm.rank() == 0 ? 100 : 0;  // as if rank 0 had read it from a file
  comm.broadcast(blocks);                   // now all ranks know it

  constexpr int points = 1000;                    // of a block
  rt::Combinable<double> highest(runtime, 0.0);   // a value for each worker, from 0 on
  rt::Collector<int, double> integrals(runtime);  // a value for each key
  rt::Taskflow<int> flow(runtime, "block");
  flow.indegree([](int) { return 1; });
  flow.run(integrals.collect([&](int block) {
    const double width = 1.0 / (blocks * points);
    double sum = 0;
    for (int k = 0; k < points; ++k) {
      const double x = (block * points + k + 0.5) * width, value = 4 / (1 + x * x);
      highest.local() = std::max(highest.local(), value);
      sum += value * width;
    }
    return sum;  // of this key
  }));
  for (int block = comm.rank(); block < blocks; block += comm.ranks()) flow.fulfill(block);
  runtime.wait();

  const double most = comm.all_reduce(highest.combine(std::ranges::max), std::ranges::max);
  const double pi = integrals.all_reduce(comm);  // in the order of blocks, whatever rank and worker had them
  if (comm.rank() == 0)
    std::printf("%d blocks on %d ranks: pi is %.12f, the highest value %.6f\n", blocks, comm.ranks(), pi, most);
  return std::abs(pi - std::acos(-1)) < 1e-9 ? 0 : 1;
}
