/// A graph that would not fit into memory: tasks exist from their first fulfilment until they have run, so memory
/// follows the tasks that wait and not the graph.
///
///     huge [TASKS]     10^8 by default

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr std::int64_t width =
    64;  // of a stencil: task (step, point) comes after the three points around it of the step before

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

int main(int argc, char** argv) {
  char* rest = nullptr;
  const double wanted = argc > 1 ? std::strtod(argv[1], &rest) : 1e8;
  if ((rest != nullptr && *rest != '\0') || !(wanted >= width && wanted <= 1e18))
    return std::fprintf(stderr, "huge: TASKS is '%s', allowed are %d to 1e18\n", argv[1], static_cast<int>(width)), 2;
  const auto steps = static_cast<std::int64_t>(wanted) / width;
  using Key = std::array<std::int64_t, 2>;
  std::vector<std::int64_t> ran(width);   // tasks of a point: it runs one after another
  rt::Runtime runtime({.check = false});  // it would remember every task
  rt::Taskflow<Key> flow(runtime, "stencil");
  const double before = peak_megabytes();
  flow.indegree([](Key key) { return key[0] == 0 ? 1 : 1 + (key[1] > 0) + (key[1] < width - 1); });
  flow.worker([&](Key key) { return static_cast<int>(key[1] * runtime.workers() / width); });
  flow.run([&](Key key) {
    const auto [step, point] = key;
    ++ran[point];
    if (step + 1 == steps) return;
    for (std::int64_t next = std::max(point - 1, std::int64_t{0}); next <= std::min(point + 1, width - 1); ++next)
      flow.fulfill({step + 1, next});
  });
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t point = 0; point < width; ++point) flow.fulfill({0, point});
  runtime.wait();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const auto tasks = static_cast<double>(steps * width);
  std::printf("%.0f tasks in %.3g s, %.3g ns of a core for a task; peak memory %.1f MiB, %.1f MiB before\n", tasks,
              seconds, 1e9 * seconds * runtime.workers() / tasks, peak_megabytes(), before);
  for (const std::int64_t count : ran)
    if (count != steps) return 1;
}
