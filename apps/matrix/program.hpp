#pragma once

/// What the programs for matrices have in common: flags, repeats, timing, validation, and the line of JSON for each
/// repeat.

#include <chrono>
#include <concepts>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "../ended.hpp"
#include "norms.hpp"
#include "options.hpp"
#include "tiling.hpp"
#include "world.hpp"

namespace apps {

/// What is computed: C = A·B, or L of A = L·Lᵀ.
struct Problem {
  const char* name;
  double (*operations)(double size);
  double (*error)(const World& world, std::int64_t size, std::uint64_t seed, std::span<const Piece> result);
};

inline constexpr Problem product{"gemm", [](double n) { return 2 * n * n * n; }, product_error};
inline constexpr Problem factorisation{"cholesky", [](double n) { return n * n * n / 3; }, factor_error};

/// A system's way to solve a problem.
template <typename S>
concept Solver =
    std::constructible_from<S, const World&, const Options&> && requires(S solver, nlohmann::ordered_json& line) {
      solver.prepare();                                       // the matrices as they are before
      { solver.run() } -> std::convertible_to<std::int64_t>;  // what is timed; the tasks that this rank has run
      { solver.result() } -> std::same_as<std::vector<Piece>>;
      solver.describe(line);  // fields of its own
    };

/// \returns the exit code
template <Solver S>
int drive(int argc, char** argv, const Problem& problem, const char* system, const Extra& extra, int thread_level) {
  using Clock = std::chrono::steady_clock;
  const World world(argc, argv, thread_level);
  const int code = ended(std::string(problem.name) + "-" + system, world.rank(), [&] {
    const Options options = parse(argc, argv, extra, world.ranks());
    S solver(world, options);
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      solver.prepare();
      world.barrier();
      const auto start = Clock::now();
      const std::int64_t tasks = solver.run();
      world.barrier();
      const double seconds = world.max(std::chrono::duration<double>(Clock::now() - start).count());
      nlohmann::ordered_json line{{"program", problem.name},
                                  {"system", system},
                                  {"ranks", world.ranks()},
                                  {"threads", options.threads},
                                  {"grid", options.grid.text()},
                                  {"size", options.size},
                                  {"block", options.block},
                                  {"seed", options.seed},
                                  {"repeat", repeat},
                                  {"seconds", seconds},
                                  {"gflops", problem.operations(static_cast<double>(options.size)) / seconds * 1e-9},
                                  {"tasks", world.sum(tasks)},
                                  {"error", nullptr}};
      if (options.validate) line["error"] = problem.error(world, options.size, options.seed, solver.result());
      solver.describe(line);
      if (world.rank() == 0) std::cout << line.dump() << std::endl;
    }
  });
  if (code == 1) MPI_Abort(MPI_COMM_WORLD, 1);
  return code;
}

}  // namespace apps
