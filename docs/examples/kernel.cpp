/// The work of a task: four tasks whose sizes differ, as `load_imbalance` makes them.

#include <cstdio>

#include "taskgrain/kernel.hpp"

using namespace taskgrain;

int main() {
  KernelSpec spec;
  spec.name = "load_imbalance";
  spec.iterations = 1000;
  spec.imbalance = 1.0;
  const Kernel kernel(spec, Isa::automatic);

  Scratch scratch;  // one for each worker
  for (std::int64_t point = 0; point < 4; ++point) {
    const std::int64_t iterations = kernel({.graph = 0, .step = 0, .point = point}, scratch);
    std::printf("point %d: %d iterations, %.0f FLOP\n", static_cast<int>(point), static_cast<int>(iterations),
                static_cast<double>(iterations) * kernel.flops_per_iteration());
  }
}
