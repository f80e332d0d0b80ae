/// The session's shared reference: the kernel alone on every core at once, which efficiency is measured against.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "serve.hpp"
#include "taskgrain/binding.hpp"
#include "taskgrain/kernel_entry.hpp"

namespace {

using namespace taskgrain;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Runs `body(k)` on each core, all at once.
template <typename Body>
void on_all_cores(Body body) {
  const std::vector<int> processors = cores();
  std::atomic<std::size_t> waiting{processors.size()};
  std::vector<std::jthread> threads;
  for (std::size_t k = 0; k < processors.size(); ++k) {
    threads.emplace_back([&, k] {
      pin_this_thread(processors[k]);
      --waiting;
      while (waiting.load() != 0) {
      }
      body(k);
    });
  }
}

/// Iterations that last at least a tenth of a millisecond, at which no fixed cost of the kernel shows.
KernelSpec lasting_some_time(KernelSpec spec, Isa isa) {
  Scratch scratch;
  for (spec.iterations = 1;; spec.iterations *= 2) {
    const Kernel kernel(spec, isa);
    double least = 1.0;  // of a few, as an interruption lasts, too
    for (int once = 0; once < 3; ++once) {
      const auto start = Clock::now();
      kernel({0, 0, 0}, scratch);
      least = std::min(least, seconds_since(start));
    }
    if (least > 1e-4) return spec;
  }
}

/// A kernel that is ready to run on each core: asked for again, it costs no more than the time that it runs.
struct Prepared {
  std::string what;
  Kernel kernel;
  std::vector<Scratch> scratch;  // by core, touched first by its own thread
};

Prepared& prepared(const Json& request, const KernelSpec& spec, Isa isa) {
  static std::optional<Prepared> last;
  const std::string what = request.value("kernel", Json::object()).dump() + std::string(name(isa));
  if (!last || last->what != what)
    last.emplace(what, Kernel(lasting_some_time(spec, isa), isa), std::vector<Scratch>(cores().size()));
  return *last;
}

/// Work per second of the kernel on each core, all of them running for about `seconds`: that of the median step. A step
/// that others interrupted, or the hypervisor, says nothing about the kernel.
std::vector<double> rates(Prepared& prepared, double seconds) {
  const Kernel& kernel = prepared.kernel;
  std::vector<double> rates(cores().size());
  on_all_cores([&](std::size_t k) {
    Scratch& scratch = prepared.scratch[k];
    kernel({0, 0, 0}, scratch);  // and first touch
    const auto start = Clock::now();
    double before = 0;
    std::vector<double> found;
    // One call that was interrupted must not be the only one, nor many that are long anyway.
    while (before < seconds || (found.size() < 5 && before < 10 * seconds)) {
      const auto step = static_cast<std::int64_t>(found.size());
      const double work = static_cast<double>(kernel({0, step, 0}, scratch)) * kernel.work_per_iteration();
      const double now = seconds_since(start);
      found.push_back(work / (now - before));
      before = now;
    }
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
    std::ranges::nth_element(found, middle);
    rates[k] = *middle;
  });
  return rates;
}

}  // namespace

int main() {
  const auto own = [] {
    Json told = {{"version", "1"}, {"cores", cores().size()}, {"binding", Json::array()}};
    for (const int core : cores()) told["binding"].push_back({core});
    return told;
  };
  serve_peaks(own, 0.01, [](const Json& request, const KernelSpec& spec, double seconds) -> Peak {
    Prepared& ready = prepared(request, spec, isa_from_name(request.value("isa", "auto")));
    return {rates(ready, seconds), ready.kernel.work_unit()};
  });
}
