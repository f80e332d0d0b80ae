#pragma once

/// The number of tasks that run between two polls. An actor of a compiled graph polls for a failure, messages and other
/// tasks of its worker; a thread that works while it waits checks its condition.

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace taskgrain::rt::detail {

/// An interval of as many tasks as take about 20 µs, and 128 at most. Reading the clock costs as much as a few tasks,
/// so it is read once an interval.
class PollInterval {
  using Clock = std::chrono::steady_clock;

 public:
  std::size_t tasks() const noexcept { return tasks_; }
  /// Tasks begin, or go on after a wait or other tasks, whose time must not count.
  void enter() noexcept {
    begin_ = paused_ ? Clock::now() : unknown;
    paused_ = false;
  }
  /// Other tasks run now.
  void pause() noexcept { paused_ = true; }
  /// Ends one interval and begins another. \returns its number of tasks
  std::size_t next() noexcept {
    const auto now = Clock::now();
    if (begin_ != unknown)
      tasks_ = now - begin_ < time ? std::min(2 * tasks_, most) : std::max<std::size_t>(tasks_ / 2, 1);
    begin_ = now;
    return tasks_;
  }

 private:
  static constexpr std::chrono::microseconds time{20};
  static constexpr std::size_t most = 128;
  static constexpr Clock::time_point unknown{};  // not measured: saves a reading of the clock

  Clock::time_point begin_ = unknown;
  std::size_t tasks_ = 1;
  bool paused_ = false;
};

}  // namespace taskgrain::rt::detail
