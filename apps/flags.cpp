/// The flags of all programs.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>

#include "ended.hpp"
#include "forks/program.hpp"
#include "matrix/options.hpp"
#include "overhead/program.hpp"
#include "steps/program.hpp"

namespace apps {

namespace {

using CLI::IsMember, taskgrain::InvalidSpec;

constexpr int most = std::numeric_limits<int>::max(), most_threads = 4096;

template <typename Number>
std::string range(Number least, Number most) {
  std::ostringstream text;
  text << least << " to " << most;
  return text.str();
}

class Flags : public CLI::App {
 public:
  Flags() {
    set_help_flag();
    option_defaults()->take_last();
  }
  /// A number from `least` to `most`, in decimal. CLI11 by itself takes 0100 for 64, and NaN to be in any range.
  template <typename Number>
  void number(const std::string& flag, Number& value, std::type_identity_t<Number> least,
              std::type_identity_t<Number> most) {
    add_option_function<std::string>(flag, [flag, &value, least, most](const std::string& text) {
      const char* const end = text.data() + text.size();
      Number given{};
      const auto [stopped, error] = std::from_chars(text.data(), end, given);
      const bool in_range = given >= least && given <= most;
      if (error != std::errc() || stopped != end || !in_range) throw InvalidSpec(flag, text, range(least, most));
      value = given;
    });
  }
  /// \throws WrongFlags; InvalidSpec
  void read(int argc, char** argv) {
    try {
      parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      throw WrongFlags(error.what());
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
  flags.number("--size", options.size, 1, 1 << 20);
  flags.number("--block", options.block, 1, 1 << 20);
  flags.number("--threads", options.threads, 1, most_threads);
  flags.number("--repeats", options.repeats, 1, most);
  flags.number("--seed", options.seed, 0, most);
  flags.add_option("--grid", grid);
  flags.add_flag("--validate", options.validate);
  if (extra.rho) flags.number("--rho", options.rho, 1.0, 2.0);
  if (extra.messages) flags.add_option("--messages", options.messages)->check(IsMember({"small", "large"}));
  if (extra.tiles) flags.add_option("--tiles", options.tiles)->check(IsMember({"yes", "no"}));
  flags.read(argc, argv);
  options.grid = grid.empty() ? even_grid(ranks, extra.layers) : grid_of(grid, extra.layers, ranks);
  return options;
}

StepsOptions parse_steps(int argc, char** argv, const StepsProblem& problem, bool sequence) {
  StepsOptions options{.size = problem.size, .steps = problem.steps};
  Flags flags;
  flags.number("--size", options.size, problem.least, problem.most);
  flags.number("--steps", options.steps, 1, 1'000'000'000);
  flags.number("--repeats", options.repeats, 1, 1'000'000);
  flags.number("--threads", options.threads, 1, sequence ? most_threads : 1);
  if (sequence) {
    flags.number("--blocks", options.blocks, 1, most);
    flags.add_option("--mode", options.mode)->check(IsMember({"loop", "trace", "plain"}));
  }
  flags.read(argc, argv);
  if (options.blocks == 0)
    options.blocks = options.threads;
  else if (options.blocks > options.size)
    throw InvalidSpec("blocks", std::to_string(options.blocks), range<std::int64_t>(1, options.size));
  return options;
}

OverheadOptions parse_overhead(int argc, char** argv, const OverheadExtra& extra) {
  constexpr int many = 100'000'000;
  OverheadOptions options;
  Flags flags;
  flags.number("--threads", options.threads, 1, most_threads);
  flags.number("--repeats", options.repeats, 1, many);
  flags.number("--size", options.size, 1, many);
  flags.number("--spin", options.spin, 0.0, 1e6);
  if (extra.apart) flags.add_option("--insertion", options.insertion)->check(IsMember({"counted", "apart"}));
  if (extra.interface) flags.add_option("--interface", options.interface)->check(IsMember({"task", "stf"}));
  if (extra.grid) {
    flags.add_option("--graph", options.graph)->check(IsMember({"independent", "grid"}));
    flags.number("--rows", options.rows, 1, 10000);
    flags.number("--columns", options.columns, 1, 10000);
    flags.number("--dependences", options.dependences, 1, 10000);
  }
  flags.read(argc, argv);
  if (extra.grid && flags.count("--dependences") > 0 && options.dependences > options.rows)
    throw InvalidSpec("dependences", std::to_string(options.dependences), range(1, options.rows));
  return options;
}

ForkOptions parse_forks(int argc, char** argv) {
  ForkOptions options;
  Flags flags;
  flags.number("--threads", options.threads, 1, most_threads);
  flags.number("--repeats", options.repeats, 1, 100'000'000);
  flags.add_option("--problem", options.problem)->check(IsMember({"fib", "queens", "tree", "sort", "loop"}));
  flags.number("--size", options.size, 1, 1'000'000'000);
  flags.number("--spin", options.spin, 0.0, 1e6);
  flags.read(argc, argv);
  const std::int64_t largest = options.problem == "fib" ? 45 : options.problem == "queens" ? 16 : 1'000'000'000;
  if (options.size > largest)
    throw InvalidSpec("--size", std::to_string(options.size), range<std::int64_t>(1, largest));
  return options;
}

}  // namespace apps
