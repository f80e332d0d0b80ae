/// The reference on a GPU: the kernel alone on all of its multiprocessors, which efficiency there is measured against.
/// It serves `hello`, `peak` and `quit` as taskgrain-reference does, where the GPU counts as one core; with `--peak` it
/// prints the rate of compute_bound and its share of what the GPU's data sheet promises.

#include <chrono>
#include <cstdio>
#include <string>

#include "../reference/serve.hpp"
#include "device.hpp"
#include "launch.hpp"

namespace {

using namespace taskgrain;
using Clock = std::chrono::steady_clock;

/// One task.
GraphSpec graph_of(const KernelSpec& kernel) {
  GraphSpec graph;
  graph.steps = graph.width = 1;
  graph.kernel = kernel;
  return graph;
}

/// Runs a kernel as a task again and again.
class Kernels {
 public:
  explicit Kernels(const KernelSpec& kernel)
      : run_({graph_of(kernel)}, Validation::off, Isa::automatic), account_(run_, 0, device::blocks(), false) {}

  /// Seconds that so many tasks take, one after another.
  double seconds(int tasks) {
    const device::Task task = device::task_of(run_, 0, 0, 0, output_.data(), nullptr, 0, account_.shared());
    const auto start = Clock::now();
    for (int n = 0; n < tasks; ++n) device::check(device::launch(task, stream_), "launch");
    stream_.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  double work() const {
    const Kernel& kernel = run_.kernel(0);
    return kernel.work_per_iteration() * static_cast<double>(kernel.spec().iterations);
  }
  WorkUnit unit() const { return run_.kernel(0).work_unit(); }

 private:
  Execution run_;
  device::Account account_;
  device::Stream stream_;
  device::Memory<std::byte> output_{16};
};

/// Work per second, of tasks of some milliseconds, during about `seconds`; as last measured, when clocks have settled.
Peak rate(KernelSpec spec, double seconds) {
  device::check_kernel(Kernel(spec, Isa::automatic), "reference");
  for (spec.iterations = 1; Kernels(spec).seconds(1) < 5e-3;) spec.iterations *= 2;
  Kernels kernels(spec);
  constexpr int tasks = 4;
  const auto start = Clock::now();
  for (double took = kernels.seconds(tasks);; took = kernels.seconds(tasks))
    if (std::chrono::duration<double>(Clock::now() - start).count() >= seconds)
      return {{tasks * kernels.work() / took}, kernels.unit()};
}

/// FLOP/s in double precision without tensor cores at the highest clock, from the arithmetic throughputs of the CUDA
/// programming guide.
double promised() {
  const int major = device::attribute(cudaDevAttrComputeCapabilityMajor),
            minor = device::attribute(cudaDevAttrComputeCapabilityMinor);
  const double fmas = minor != 0 ? 2 : major == 9 || major == 10 ? 64 : major == 8 || major == 7 ? 32 : 2;
  return 2 * fmas * device::blocks() * 1e3 * device::attribute(cudaDevAttrClockRate);
}

}  // namespace

int main(int argc, char** argv) try {
  device::choose(0);
  if (argc == 2 && std::string(argv[1]) == "--peak") {
    const double found = rate({.name = "compute_bound"}, 1).rates[0];
    std::printf("CUDA %s: %.4g FLOP/s, %.1f %% of %.4g\n", device::version().c_str(), found, 100 * found / promised(),
                promised());
    return 0;
  }
  if (argc > 1) return std::fprintf(stderr, "usage: %s [--peak]\n", argv[0]), 2;
  const auto own = []() -> nlohmann::json {
    return {{"version", device::version()}, {"cores", 1}, {"binding", nlohmann::json::array()}};
  };
  serve_peaks(own, 0.05, [](const auto&, const KernelSpec& spec, double seconds) { return rate(spec, seconds); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
