#pragma once

/// How long the threads of a driver waited for processors that other programs had.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

namespace taskgrain {

/// Counts from its making on. Linux says of each thread how long it has waited on a run queue
/// (/proc/self/task/*/schedstat, see Documentation/scheduler/sched-stats.rst); what a thread waited that has ended
/// meanwhile is lost. Some kernels and containers have no such file.
class Waiting {
 public:
  Waiting();
  /// Stops the count. `total` adds up a number of all processes of the driver, which uses so many `cores`. \returns
  /// seconds, of all threads together; NaN where nobody knows
  template <typename Total>
  double seconds(int cores, const Total& total) {
    stop();
    // Threads that wait for each other's processors keep these busy: others had at most what the driver did not use.
    const double waited = total(waited_), ran = total(ran_);
    return std::max(0.0, std::min(waited, cores * wall_ - ran));
  }
  double seconds(int cores) {
    return seconds(cores, [](double own) { return own; });
  }

 private:
  /// Seconds since a thread began.
  struct OfThread {
    double waited = 0, ran = 0;
  };
  using ByThread = std::map<std::int64_t, OfThread>;
  /// A thread that ran for all but this share of the time is not looked at any closer.
  static constexpr double least_rest = 0.02;
  static ByThread by_thread();
  void stop();

  ByThread start_;
  std::chrono::steady_clock::time_point begin_;
  double waited_ = 0, ran_ = 0, wall_ = 0;  ///< seconds, of this process
};

}  // namespace taskgrain
