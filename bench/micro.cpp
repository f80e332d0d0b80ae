/// What the core costs: a query, a kernel without iterations, an empty task, validation; and how near compute_bound
/// comes to the core's peak. Ratios are of loops that take turns in one run.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "fma_peak.hpp"
#include "taskgrain/binding.hpp"
#include "taskgrain/execution.hpp"
#include "taskgrain/outputs.hpp"

namespace {

using namespace taskgrain;

std::atomic<std::int64_t> allocations{0};

GraphSpec graph_of(const char* pattern, std::int64_t radix, std::int64_t iterations) {
  GraphSpec spec;
  spec.pattern = pattern;
  spec.steps = 1 << 20;
  spec.width = 16;
  spec.radix = radix;
  spec.kernel.name = iterations < 0 ? "empty" : "compute_bound";
  spec.kernel.iterations = std::max<std::int64_t>(iterations, 0);
  return spec;
}

void query(benchmark::State& state, const char* pattern, std::int64_t radix) {
  const Graph graph(graph_of(pattern, radix, -1));
  const std::int64_t before = allocations;
  std::int64_t point = 0, sum = 0;
  for (auto _ : state) {
    graph.deps(7, point).for_each([&](Interval deps) { sum += deps.last - deps.first; });
    point = (point + 1) & 15;
    benchmark::DoNotOptimize(sum);
  }
  state.counters["allocations"] = static_cast<double>(allocations - before);
}
BENCHMARK_CAPTURE(query, nearest_5, "nearest", 5)->Name("query/nearest radix=5");
BENCHMARK_CAPTURE(query, stencil_1d, "stencil_1d", 3)->Name("query/stencil_1d");
BENCHMARK_CAPTURE(query, spread_5, "spread", 5)->Name("query/spread radix=5");
BENCHMARK_CAPTURE(query, fft, "fft", 3)->Name("query/fft");

void kernel(benchmark::State& state) {
  const KernelLoop run = compute_bound(Isa::automatic);
  std::int64_t iterations = state.range(0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(iterations);
    run(iterations);
  }
  state.SetLabel(std::string(name(best_isa())));
}
BENCHMARK(kernel)->Name("compute_bound, iterations:")->Arg(0)->Arg(1)->Arg(8)->Arg(64);

/// Tasks of a stencil, one after another, with addresses at hand: three inputs of 16 bytes.
class Loop {
 public:
  Loop(Validation validation, std::int64_t iterations)
      : run_({graph_of("stencil_1d", 3, iterations)}, validation, Isa::automatic), outputs_(run_.graphs()[0]),
        context_(run_.context(0)) {
    std::vector<const std::byte*> space;
    for (const std::int64_t step : {2, 3})
      for (std::int64_t point = 0; point < 16; ++point) {
        outputs_.inputs(step, point, space);
        inputs_[step & 1].push_back(space);
      }
  }

  /// Executes `steps` steps of 16 tasks.
  void operator()(std::int64_t steps) {
    for (std::int64_t k = 0; k < steps; ++k) {
      if (++step_ >= run_.graphs()[0].steps()) {
        step_ = 0;
        run_.clear();
      }
      for (std::int64_t point = 0; point < 16; ++point) {
        const auto& inputs = inputs_[step_ & 1][static_cast<std::size_t>(point)];
        run_.execute_point(
            context_, 0, step_, point, outputs_.at(step_, point),
            step_ == 0 ? std::span<const std::byte* const>() : std::span<const std::byte* const>(inputs));
      }
    }
  }
  bool holds() const { return !run_.violation(); }

 private:
  Execution run_;
  Outputs outputs_;
  ThreadContext& context_;
  std::vector<std::vector<const std::byte*>> inputs_[2];
  std::int64_t step_ = -1;
};

void execute_point(benchmark::State& state, Validation validation, std::int64_t iterations) {
  Loop loop(validation, iterations);
  for (auto _ : state) loop(1);
  if (!loop.holds()) state.SkipWithError("the loop itself is wrong");
  state.counters["ns a task"] = benchmark::Counter(16e-9 * static_cast<double>(state.iterations()),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(execute_point, off, Validation::off, -1)->Name("16 empty tasks, validation off");
BENCHMARK_CAPTURE(execute_point, sample, Validation::sample, -1)->Name("16 empty tasks, validation sample");
BENCHMARK_CAPTURE(execute_point, full, Validation::full, -1)->Name("16 empty tasks, validation full");
BENCHMARK_CAPTURE(execute_point, zero, Validation::sample, 0)
    ->Name("16 compute_bound tasks of 0 iterations, validation sample");

template <typename Body>
double seconds(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median of the ratio of two loops that take turns, and its 95 % interval (the order statistics around the median).
template <typename A, typename B>
void print_ratio(const char* what, int turns, A a, B b) {
  std::vector<double> ratios;
  for (int turn = 0; turn < turns; ++turn) {
    const bool a_first = turn % 2 == 0;
    const double first = a_first ? a() : b(), second = a_first ? b() : a();
    ratios.push_back(a_first ? first / second : second / first);
  }
  std::ranges::sort(ratios);
  const double middle = turns / 2.0, reach = 0.98 * std::sqrt(turns);
  const auto at = [&](double rank) { return ratios[static_cast<std::size_t>(rank)]; };
  std::printf("%-58s %.4f (95 %%: %.4f to %.4f)\n", what, at(middle), at(middle - reach), at(middle + reach));
}

void print_ratios() {
  const std::string_view isa = name(best_isa());
  const KernelLoop run = compute_bound(Isa::automatic);
  if (fma_peak_flops(isa, 1)) {
    const std::string what = "compute_bound / FMA peak of the core, " + std::string(isa) + ":";
    print_ratio(
        what.c_str(), 501, [&] { return 128 * 20000 / seconds([&] { run(20000); }); },
        [&] {
          double flops = 0;
          const double time = seconds([&] { flops = *fma_peak_flops(isa, 6667); });
          return flops / time;
        });
  }
  std::int64_t iterations = 1;  // until a task lasts 1 us
  while (seconds([&] {
           for (int k = 0; k < 1000; ++k) run(iterations);
         }) < 1e-3)
    ++iterations;
  Loop checked(Validation::sample, iterations), unchecked(Validation::off, iterations);
  print_ratio(
      "tasks of 1 us, validation sample / off:", 5001, [&] { return seconds([&] { checked(10); }); },
      [&] { return seconds([&] { unchecked(10); }); });
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {  // inlined, GCC takes new and free for a mismatch
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  pin_this_thread(cores().front());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  print_ratios();
}
