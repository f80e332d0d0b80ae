/// The flags of all programs.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>

#include "forks/program.hpp"
#include "matrix/options.hpp"
#include "overhead/program.hpp"
#include "steps/program.hpp"

namespace apps {

namespace {

using CLI::IsMember, CLI::Range, taskgrain::InvalidSpec;

constexpr int most = std::numeric_limits<int>::max(), most_threads = 4096;

class Flags : public CLI::App {
 public:
  Flags() {
    set_help_flag();
    option_defaults()->take_last();
  }
  /// \throws std::invalid_argument
  void read(int argc, char** argv) {
    try {
      parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      throw std::invalid_argument(error.what());
    }
  }
};

Grid grid_of(const std::string& text, bool layers, int ranks) {
  Grid given;
  int end = 0;
  if (layers)
    std::sscanf(text.c_str(), "%6dx%6dx%6d%n", &given.rows, &given.columns, &given.layers, &end);
  else
    std::sscanf(text.c_str(), "%6dx%6d%n", &given.rows, &given.columns, &end);
  const bool read = static_cast<std::size_t>(end) == text.size();
  if (!read || std::min({given.rows, given.columns, given.layers}) < 1 ||
      static_cast<std::int64_t>(given.rows) * given.columns * given.layers != ranks)
    throw InvalidSpec(
        "grid", text,
        (layers ? "PxQxR" : "PxQ") + std::string(" whose product is the number of ranks, ") + std::to_string(ranks));
  return given;
}

}  // namespace

Options parse(int argc, char** argv, const Extra& extra, int ranks) {
  Options options;
  std::string grid;
  Flags flags;
  flags.add_option("--size", options.size)->check(Range(1, 1 << 20));
  flags.add_option("--block", options.block)->check(Range(1, 1 << 20));
  flags.add_option("--threads", options.threads)->check(Range(1, most_threads));
  flags.add_option("--repeats", options.repeats)->check(Range(1, most));
  flags.add_option("--seed", options.seed)->check(Range(0, most));
  flags.add_option("--grid", grid);
  flags.add_flag("--validate", options.validate);
  if (extra.rho) flags.add_option("--rho", options.rho)->check(Range(1.0, 2.0));
  if (extra.messages) flags.add_option("--messages", options.messages)->check(IsMember({"small", "large"}));
  if (extra.tiles) flags.add_option("--tiles", options.tiles)->check(IsMember({"yes", "no"}));
  flags.read(argc, argv);
  options.grid = grid.empty() ? even_grid(ranks, extra.layers) : grid_of(grid, extra.layers, ranks);
  return options;
}

StepsOptions parse_steps(int argc, char** argv, const StepsProblem& problem, bool sequence) {
  StepsOptions options{.size = problem.size, .steps = problem.steps};
  Flags flags;
  flags.add_option("--size", options.size)->check(Range(problem.least, problem.most));
  flags.add_option("--steps", options.steps)->check(Range(1, 1'000'000'000));
  flags.add_option("--repeats", options.repeats)->check(Range(1, 1'000'000));
  flags.add_option("--threads", options.threads)->check(Range(1, sequence ? most_threads : 1));
  if (sequence) {
    flags.add_option("--blocks", options.blocks)->check(Range(1, most));
    flags.add_option("--mode", options.mode)->check(IsMember({"loop", "trace", "plain"}));
  }
  flags.read(argc, argv);
  if (options.blocks == 0) options.blocks = options.threads;
  if (sequence && options.blocks > options.size)
    throw InvalidSpec("blocks", std::to_string(options.blocks), "1 to " + std::to_string(options.size));
  return options;
}

OverheadOptions parse_overhead(int argc, char** argv, const OverheadExtra& extra) {
  constexpr int many = 100'000'000;
  OverheadOptions options;
  Flags flags;
  flags.add_option("--threads", options.threads)->check(Range(1, most_threads));
  flags.add_option("--repeats", options.repeats)->check(Range(1, many));
  flags.add_option("--size", options.size)->check(Range(1, many));
  flags.add_option("--spin", options.spin)->check(Range(0.0, 1e6));
  if (extra.apart) flags.add_option("--insertion", options.insertion)->check(IsMember({"counted", "apart"}));
  if (extra.interface) flags.add_option("--interface", options.interface)->check(IsMember({"task", "stf"}));
  if (extra.grid) {
    flags.add_option("--graph", options.graph)->check(IsMember({"independent", "grid"}));
    flags.add_option("--rows", options.rows)->check(Range(1, 10000));
    flags.add_option("--columns", options.columns)->check(Range(1, 10000));
    flags.add_option("--dependences", options.dependences)->check(Range(1, 10000));
  }
  flags.read(argc, argv);
  if (options.dependences > options.rows)
    throw InvalidSpec("dependences", std::to_string(options.dependences), "1 to " + std::to_string(options.rows));
  return options;
}

ForkOptions parse_forks(int argc, char** argv) {
  ForkOptions options;
  Flags flags;
  flags.add_option("--threads", options.threads)->check(Range(1, most_threads));
  flags.add_option("--repeats", options.repeats)->check(Range(1, 100'000'000));
  flags.add_option("--problem", options.problem)->check(IsMember({"fib", "queens", "tree", "sort", "loop"}));
  flags.add_option("--size", options.size)->check(Range(1, 1'000'000'000));
  flags.add_option("--spin", options.spin)->check(Range(0.0, 1e6));
  flags.read(argc, argv);
  const std::int64_t largest = options.problem == "fib" ? 45 : options.problem == "queens" ? 16 : 1'000'000'000;
  if (options.size > largest)
    throw InvalidSpec("--size", std::to_string(options.size), "1 to " + std::to_string(largest));
  return options;
}

}  // namespace apps
