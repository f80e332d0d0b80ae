#pragma once

/// A trace: which task ran on which worker and when, in the trace-event format that chrome://tracing and
/// ui.perfetto.dev read.

#include <chrono>
#include <string>
#include <vector>

namespace taskgrain::rt::detail {

/// The tasks of one worker, written by its thread.
class TraceLane {
 public:
  using Clock = std::chrono::steady_clock;

  void record(std::string task, Clock::time_point begin, Clock::time_point end) {
    spans_.push_back({std::move(task), begin, end});
  }

 private:
  friend class Trace;
  struct Span {
    std::string task;
    Clock::time_point begin, end;
  };
  std::vector<Span> spans_;
};

class Trace {
 public:
  explicit Trace(std::size_t workers) : lanes_(workers) {}

  TraceLane& lane(std::size_t worker) noexcept { return lanes_[worker]; }
  /// \throws std::system_error  if the file cannot be written
  void write(const std::string& file) const;

 private:
  TraceLane::Clock::time_point begin_ = TraceLane::Clock::now();
  std::vector<TraceLane> lanes_;
};

}  // namespace taskgrain::rt::detail
