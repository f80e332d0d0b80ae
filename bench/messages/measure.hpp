#pragma once

/// What programs that measure messages between two ranks have in common: the sizes, a measurement, and how a result is
/// printed.
///
///     latency    half of the time from a message to its answer
///     rate       the time of a message in windows of 64, each of which is answered by a small message

#include <chrono>
#include <cstddef>
#include <cstdio>
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
inline void print_result(const char* system, std::string_view measure, std::size_t bytes, int rounds, double seconds) {
  const double messages = measure == "latency" ? 2.0 * rounds : 1.0 * window * rounds;
  std::printf(R"({"system": "%s", "measure": "%.*s", "bytes": %zu, "seconds": %.6g})"
              "\n",
              system, static_cast<int>(measure.size()), measure.data(), bytes, seconds / messages);
  std::fflush(stdout);
}

/// Both ranks call this with their own end of a pair; rank 0 prints the result.
template <typename Pair>
void measure(Pair& pair, std::string_view what, std::size_t bytes) {
  const int rounds = rounds_of(what, bytes);
  const auto run = [&](int times) {
    for (int k = 0; k < times; ++k)
      if (what == "latency")
        pair.ping_pong(bytes);
      else
        pair.stream(bytes);
  };
  pair.barrier();
  run(warm_up(rounds));
  const Clock clock;
  run(rounds);
  if (pair.rank() == 0) print_result(pair.name(), what, bytes, rounds, clock.seconds());
}

}  // namespace taskgrain::bench
