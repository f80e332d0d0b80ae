#pragma once

/// What a task costs: tasks that only let time pass, by themselves or with many dependences.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "../ended.hpp"

namespace apps {

struct OverheadOptions {
  int threads = 1, repeats = 1;
  std::int64_t size = 10000;          ///< tasks of independent ones
  double spin = 10;                   ///< microseconds of each task
  std::string graph = "independent";  ///< or grid: (i, j) before ((i + k) mod rows, j + 1) for k < dependences
  std::string insertion = "counted";  ///< apart: the time begins when all tasks are submitted
  std::string interface = "task";     ///< of StarPU: task, stf
  int rows = 32, columns = 100, dependences = 4;

  bool grid() const { return graph == "grid"; }
  bool apart() const { return insertion == "apart"; }
  std::int64_t tasks() const { return grid() ? static_cast<std::int64_t>(rows) * columns : size; }
};

struct OverheadExtra {
  bool grid = false, apart = false, interface = false;
};

/// \throws WrongFlags; taskgrain::InvalidSpec
OverheadOptions parse_overhead(int argc, char** argv, const OverheadExtra& extra);

/// A task: lets `microseconds` pass.
inline void spin(double microseconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(microseconds));
  while (Clock::now() < end) {
  }
}

/// Runs all tasks. It submits them, calls `start` if the time begins then, and waits.
template <typename S>
concept TaskSystem =
    std::constructible_from<S, const OverheadOptions&> && requires(S system, void (*start)()) { system.run(start); };

/// \returns the exit code
template <TaskSystem S>
int drive_overhead(int argc, char** argv, const char* name, const OverheadExtra& extra) {
  using Clock = std::chrono::steady_clock;
  return ended(std::string("overhead-") + name, 0, [&] {
    const OverheadOptions options = parse_overhead(argc, argv, extra);
    S system(options);
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      static Clock::time_point start;
      start = Clock::now();
      system.run(+[] { start = Clock::now(); });
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const auto tasks = static_cast<double>(options.tasks());
      nlohmann::ordered_json line{{"program", "overhead"},
                                  {"system", name},
                                  {"ranks", 1},
                                  {"threads", options.threads},
                                  {"size", options.tasks()},
                                  {"graph", options.graph},
                                  {"insertion", options.insertion},
                                  {"spin", options.spin},
                                  {"repeat", repeat},
                                  {"seconds", seconds},
                                  {"tasks", options.tasks()},
                                  {"efficiency", options.spin * 1e-6 * tasks / options.threads / seconds},
                                  {"error", nullptr}};
      if (extra.interface) line["interface"] = options.interface;
      if (options.grid()) line["rows"] = options.rows, line["dependences"] = options.dependences;
      std::cout << line.dump() << std::endl;
    }
  });
}

}  // namespace apps
