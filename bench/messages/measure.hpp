#pragma once

/// What programs that measure messages between two ranks have in common: the sizes, how often a size is measured, and
/// how a result is printed.
///
///     latency    half of the time from a message to its answer
///     rate       the time of a message in windows of 64, each of which is answered by a small message

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace taskgrain::bench {

inline constexpr int window = 64;
inline constexpr std::size_t most_bytes = std::size_t{1} << 20;

/// The next larger size: 0, 1, 2, 4 and so on.
constexpr std::size_t next_size(std::size_t bytes) { return bytes == 0 ? 1 : 2 * bytes; }

/// Rounds (a message and its answer, or a window) of a measurement: about as long for each size.
constexpr int rounds_of(std::string_view measure, std::size_t bytes) {
  const int rounds = bytes <= 8192 ? 10000 : 1000;
  return measure == "latency" ? rounds : rounds / 20;
}
/// Before each measurement.
constexpr int warm_up(int rounds) { return rounds / 10; }

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A line of JSON, with the seconds of one message.
inline void print_result(const char* system, std::string_view measure, std::size_t bytes, int rounds, double seconds,
                         int repeat) {
  const double messages = measure == "latency" ? 2.0 * rounds : 1.0 * window * rounds;
  std::printf(R"({"system": "%s", "measure": "%.*s", "bytes": %zu, "seconds": %.6g, "repeat": %d})"
              "\n",
              system, static_cast<int>(measure.size()), measure.data(), bytes, seconds / messages, repeat);
  std::fflush(stdout);
}

/// The repeats that a program is asked for: its first argument, 1 without one.
/// \returns 0 if that is no number of repeats
inline int repeats_asked(int argc, char** argv) {
  if (argc < 2) return 1;
  char* end = nullptr;
  const long repeats = std::strtol(argv[1], &end, 10);
  return argc == 2 && end != argv[1] && *end == '\0' && repeats >= 1 && repeats <= 1000 ? static_cast<int>(repeats) : 0;
}

}  // namespace taskgrain::bench
