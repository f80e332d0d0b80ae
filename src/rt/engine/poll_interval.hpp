#pragma once

/// How long tasks run before whoever runs them looks at what else there is: the actor of a compiled graph at a failure,
/// messages and other tasks of its worker; a thread that works while it waits, at whether that has come.

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace taskgrain::rt::detail {

/// The number of tasks between two looks: as many as take about 20 µs, and 128 at most, because a look at the clock
/// costs as much as a few tasks.
class PollInterval {
  using Clock = std::chrono::steady_clock;

 public:
  std::size_t tasks() const noexcept { return tasks_; }
  /// It begins, or goes on after others. Their time, and that of a wait, is not the time of its tasks.
  void enter() noexcept {
    begin_ = paused_ ? Clock::now() : unknown;
    paused_ = false;
  }
  /// It goes on after others, who have their turn now.
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
  static constexpr Clock::time_point unknown{};  // an entry that is no return from others saves a look at the clock

  Clock::time_point begin_ = unknown;
  std::size_t tasks_ = 1;
  bool paused_ = false;
};

}  // namespace taskgrain::rt::detail
