/// Whether a task of a measured graph lasts what it lasted in the program: each task of a file of `taskgrain graph
/// --from … --output`, alone on a core, beside the time that its weight stands for.
///
///     task-durations FILE WORK
///
/// The work is that of all tasks in microseconds, as `taskgrain graph --from` prints it. A task's time is the median
/// of 101 repeats, without the time that it takes to read the clock; beside each repeat, a long run of the kernel tells
/// how fast the core is at that moment.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "core/dag.hpp"
#include "taskgrain/graph.hpp"
#include "taskgrain/kernel.hpp"

namespace {

using namespace taskgrain;
using Clock = std::chrono::steady_clock;

double quantile(std::vector<double>& values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::ranges::nth_element(values, place);
  return *place;
}

double microseconds_of(const auto& run) {
  const auto begin = Clock::now();
  run();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: task-durations FILE WORK\n"), 2;
  const Graph graph({.pattern = "dag", .dag = argv[1], .kernel = {}});
  const double work = std::atof(argv[2]), mean = work / static_cast<double>(graph.tasks());
  constexpr int repeats = 101;
  const KernelLoop loop = compute_bound(Isa::automatic);
  constexpr std::int64_t many = 5'000;
  std::vector<double> times, beside, clocks;
  for (int repeat = 0; repeat < 20 * repeats; ++repeat) {
    beside.push_back(microseconds_of([&] { loop(many); }));
    clocks.push_back(microseconds_of([] {}));
  }
  const double iteration = quantile(beside, 0.5) / many, clock = quantile(clocks, 0.5);
  const Kernel kernel({.iterations = std::llround(mean / iteration)}, Isa::automatic, 0, 0, graph.weights());

  Scratch scratch;
  std::map<int, std::vector<double>> of_decade;  // the time of each task as a multiple of that in the program
  double took = 0;
  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) {
      const double wished = graph.dag().weight(step, point) * mean;
      if (wished == 0) continue;
      times.clear(), beside.clear();
      for (int repeat = 0; repeat < repeats; ++repeat) {
        beside.push_back(microseconds_of([&] { loop(many); }));
        times.push_back(microseconds_of([&] { kernel({0, step, point}, scratch); }));
      }
      const double slower = quantile(beside, 0.5) / many / iteration;
      const double time = (quantile(times, 0.5) - clock) / slower;
      of_decade[static_cast<int>(std::floor(std::log10(wished)))].push_back(time / wished);
      took += time;
    }
  }
  std::printf("an iteration takes %.2f ns; all tasks together %.3f times as long\n", 1e3 * iteration, took / work);
  for (auto& [decade, ratios] : of_decade) {
    const auto near = std::ranges::count_if(ratios, [](double one) { return std::abs(one - 1) <= 0.05; });
    std::printf("%g us to %g us: %zu tasks, %.0f %% within 5 %%; times as long: %.3f, 95 %% of them %.3f to %.3f\n",
                std::pow(10, decade), std::pow(10, decade + 1), ratios.size(),
                100.0 * static_cast<double>(near) / static_cast<double>(ratios.size()), quantile(ratios, 0.5),
                quantile(ratios, 0.025), quantile(ratios, 0.975));
  }
}
