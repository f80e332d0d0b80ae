#pragma once

/// How long the threads of a driver waited for processors that other programs had.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

namespace taskgrain {

/// Counts from its making on. Linux says of each thread how long it has waited on a run queue
/// (/proc/self/task/*/schedstat, see Documentation/scheduler/sched-stats.rst). Some kernels and containers have no such
/// file.
class Waiting {
 public:
  Waiting();
  /// Stops the count. `total` adds up a number of all processes of the driver, which uses so many `cores`. \returns
  /// seconds of all threads together, at most those of the cores in the time `of` that was measured; NaN where nobody
  /// knows
  template <typename Total>
  double seconds(int cores, double of, const Total& total) {
    stop();
    // Threads that wait for each other's processors keep these busy: others had at most what the driver did not use.
    const double waited = total(waited_), left = cores * total(wall_) / total(1.0) - total(ran_);
    return std::max(std::min(waited, std::min(left, cores * of)), 0.0);  // NaN if `waited` is
  }
  double seconds(int cores, double of) {
    return seconds(cores, of, [](double own) { return own; });
  }

 private:
  /// What is known of a thread since it began.
  struct OfThread {
    double waited = 0, ran = 0;  ///< seconds
    long long turns = 0;         ///< on a processor
  };
  using ByThread = std::map<std::int64_t, OfThread>;
  static ByThread by_thread();
  void stop();

  ByThread start_;
  std::chrono::steady_clock::time_point begin_;
  double waited_ = 0, ran_ = 0, wall_ = 0;  ///< seconds, of this process
};

}  // namespace taskgrain
