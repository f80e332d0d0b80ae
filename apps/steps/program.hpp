#pragma once

/// Programs that take many steps over a state in blocks: flags, timing, and the line of JSON for each repeat. With MPI
/// each rank has a block; as a sequence of tasks a worker has one or more.

#include <bit>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>

#include "../ended.hpp"

namespace apps {

/// What is computed.
struct StepsProblem {
  const char* name;
  std::int64_t size, least, most;  ///< the default size, and what is allowed
  int steps;                       ///< by default
};

struct StepsOptions {
  std::int64_t size = 0;
  int steps = 0, repeats = 1;
  int threads = 1, blocks = 0;  ///< of a sequence; with MPI there is a block for each rank
  std::string mode = "loop";    ///< of a sequence: loop, trace, plain
};

/// Of the state after the last step.
struct Verified {
  double error, allowed;
  std::uint64_t digest;  ///< of the bits of the result
};

/// FNV-1a over the bits of `values`, after `digest`.
inline std::uint64_t digest(std::span<const double> values, std::uint64_t digest = 14695981039346656037U) {
  for (const double value : values) digest = (digest ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211U;
  return digest;
}

/// The ranks of a program without MPI. As apps::World.
struct OneRank {
  static int rank() { return 0; }
  static int ranks() { return 1; }
  static void barrier() {}
  static double max(double value) { return value; }
};

/// A way to solve a problem.
template <typename S, typename Ranks>
concept StepsSolver = std::constructible_from<S, const StepsOptions&, const Ranks&> && requires(S solver) {
  solver.run();  // what is timed: all steps
  { solver.verify() } -> std::same_as<Verified>;
  { solver.tasks() } -> std::convertible_to<std::int64_t>;  // of a step; 0 without tasks
};

/// \throws WrongFlags; taskgrain::InvalidSpec
StepsOptions parse_steps(int argc, char** argv, const StepsProblem& problem, bool sequence);

/// \returns the exit code
template <typename S, typename Ranks>
  requires StepsSolver<S, Ranks>
int drive_steps(int argc, char** argv, const StepsProblem& problem, const char* system, const Ranks& ranks,
                bool sequence) {
  using Clock = std::chrono::steady_clock;
  return ended(std::string(problem.name) + "-" + system, ranks.rank(), [&] {
    const StepsOptions options = parse_steps(argc, argv, problem, sequence);
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      S solver(options, ranks);
      ranks.barrier();
      const auto start = Clock::now();
      solver.run();
      ranks.barrier();
      const double seconds = ranks.max(std::chrono::duration<double>(Clock::now() - start).count());
      const Verified found = solver.verify();
      if (ranks.rank() == 0 && !std::isfinite(found.error)) throw std::runtime_error("the result is no number");
      nlohmann::ordered_json line{{"program", problem.name},  {"system", system},
                                  {"ranks", ranks.ranks()},   {"threads", options.threads},
                                  {"size", options.size},     {"steps", options.steps},
                                  {"repeat", repeat},         {"seconds", seconds / options.steps},
                                  {"tasks", solver.tasks()},  {"error", found.error},
                                  {"allowed", found.allowed}, {"digest", found.digest}};
      if (sequence) line["blocks"] = options.blocks, line["mode"] = options.mode;
      if (ranks.rank() == 0) std::cout << line.dump() << std::endl;
    }
  });
}

}  // namespace apps
