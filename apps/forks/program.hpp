#pragma once

/// What a fork costs: recursions of calls in pairs, and a loop. A system says how two calls run beside each other, and
/// the iterations of a loop.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../ended.hpp"

namespace apps {

struct ForkOptions {
  int threads = 1, repeats = 1;
  std::string problem = "fib";  ///< fib, queens, tree, sort, loop
  std::int64_t size = 30;       ///< of fib and queens n; leaves of a tree; elements
  double spin = 0;              ///< microseconds of an element of a loop
};

/// \throws WrongFlags; taskgrain::InvalidSpec
ForkOptions parse_forks(int argc, char** argv);

/// The problems. Each returns a number that all systems must agree about, and the forks that it made.
template <typename System>
struct Forks {
  System& system;

  /// A call of its own each time, also where nothing is forked.
  [[gnu::noinline]] std::int64_t fib(int n) const {
    if (n < 2) return n;
    const auto [left, right] = system.both([&] { return fib(n - 1); }, [&] { return fib(n - 2); });
    return left + right;
  }
  /// Ways to place queens in so many rows, where these columns and diagonals of the next one are free.
  std::int64_t queens(int rows, std::uint32_t columns, std::uint32_t falling, std::uint32_t rising) const {
    return rows == 0 ? 1 : choices(rows, columns & falling & rising, columns, falling, rising);
  }
  std::int64_t choices(int rows, std::uint32_t free, std::uint32_t columns, std::uint32_t falling,
                       std::uint32_t rising) const {
    if (free == 0) return 0;
    const std::uint32_t one = free & (0 - free);
    const auto [first, others] = system.both(
        [&] { return queens(rows - 1, columns & ~one, (falling & ~one) >> 1 | 1U << 31, (rising & ~one) << 1 | 1U); },
        [&] { return choices(rows, free & ~one, columns, falling, rising); });
    return first + others;
  }
  /// Nodes of a random tree with so many leaves, of which a call gets one part in 2 to 50.
  std::int64_t tree(std::int64_t leaves, std::uint64_t seed) const {
    if (leaves <= 1) return 1;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
    const std::int64_t part = std::max<std::int64_t>(1, leaves / static_cast<std::int64_t>(2 + (seed >> 33) % 49));
    const auto [left, right] =
        system.both([&] { return tree(part, seed); }, [&] { return tree(leaves - part, ~seed); });
    return 1 + left + right;
  }
  /// Sorts by halves that are merged. \returns its forks
  std::int64_t sort(std::vector<double>::iterator begin, std::vector<double>::iterator end) const {
    if (end - begin <= 512) return std::sort(begin, end), 0;
    const auto middle = begin + (end - begin) / 2;
    const auto [left, right] = system.both([&] { return sort(begin, middle); }, [&] { return sort(middle, end); });
    std::inplace_merge(begin, middle, end);
    return 1 + left + right;
  }
};

/// \returns the exit code
template <typename System>
int drive_forks(int argc, char** argv, const char* name) {
  using Clock = std::chrono::steady_clock;
  return ended(std::string("forks-") + name, 0, [&] {
    const ForkOptions options = parse_forks(argc, argv);
    System system(options.threads);
    const Forks<System> forks{system};
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      const auto n = static_cast<int>(options.size);
      std::vector<double> values(options.problem == "sort" ? static_cast<std::size_t>(options.size) : 0);
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k * 7919 % 1'000'003);
      std::int64_t result = 0;
      const auto begin = Clock::now();
      if (options.problem == "loop") {
        const std::chrono::duration<double, std::micro> spin(options.spin);
        system.loop(options.size, [spin](std::int64_t element) {
          asm volatile("" : : "r"(element));  // a loop of nothing is no loop
          if (spin.count() == 0) return;
          for (const auto until = Clock::now() + spin; Clock::now() < until;) {
          }
        });
      } else {
        system.begin([&] {
          result = options.problem == "fib"      ? forks.fib(n)
                   : options.problem == "queens" ? forks.queens(n, (1U << n) - 1, ~0U, ~0U)
                   : options.problem == "tree"   ? forks.tree(options.size, 1)
                                                 : forks.sort(values.begin(), values.end());
        });
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (!std::is_sorted(values.begin(), values.end())) throw std::runtime_error("the values are not sorted");
      const nlohmann::ordered_json line{
          {"program", "forks"},   {"system", name},       {"problem", options.problem}, {"threads", options.threads},
          {"size", options.size}, {"spin", options.spin}, {"repeat", repeat},           {"seconds", seconds},
          {"result", result},     {"error", nullptr}};
      std::cout << line.dump() << std::endl;
    }
  });
}

}  // namespace apps
