#pragma once

/// The exceptions of the runtime.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace taskgrain::rt {

namespace detail {
class Failures;
/// Says whether a failure was told, and how. One that a task has passed on is the same failure.
enum class Told : std::uint8_t { no, printed, thrown };
}  // namespace detail

/// A misuse of the runtime. The call that makes it throws, if it finds it: a worker that does not exist, a cycle. What
/// is found only later, such as a negative indegree or a function that was not set, is nested in a TaskFailed.
struct UsageError : std::logic_error {
  using std::logic_error::logic_error;
};

/// A task threw. `nested_ptr` is what it threw; the message names the task and repeats the message.
class TaskFailed : public std::runtime_error, public std::nested_exception {
 public:
  /// Construct it in the handler of the exception `cause`.
  TaskFailed(std::string task, const std::string& message)
      : std::runtime_error(task + " failed: " + message), task_(std::move(task)) {}
  /// The name of the flow, and the key; or the names of the graph and the task, and the iteration if there are several.
  const std::string& task() const noexcept { return task_; }

 private:
  friend class detail::Failures;

  std::string task_;
  std::shared_ptr<std::atomic<detail::Told>> told_;  // null: it is not the runtime's
};

/// A launch was cancelled, so its events do not happen.
struct Cancelled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A task that waits for ever.
struct StuckTask {
  std::string task;        ///< name and key
  std::int64_t fulfilled;  ///< the number of times
  std::int64_t indegree;
};

/// Nothing runs, nothing is under way, nothing holds the runtime, and there are tasks that still wait: too few
/// fulfilments, a cycle, a task that had run and was fulfilled once more, or a thread outside of the runtime that would
/// have fulfilled them later and has no `Runtime::hold`.
class Stuck : public std::runtime_error {
 public:
  Stuck(std::vector<StuckTask> tasks, std::size_t total);
  /// The first few of them.
  const std::vector<StuckTask>& tasks() const noexcept { return tasks_; }
  /// The number of all of them.
  std::size_t total() const noexcept { return total_; }

 private:
  std::vector<StuckTask> tasks_;
  std::size_t total_;
};

/// A rank has ended before its time, or something has failed on it: a task, a function of an active message.
class RankFailed : public std::runtime_error {
 public:
  RankFailed(int rank, const std::string& why)
      : std::runtime_error("rank " + std::to_string(rank) + " failed: " + why), rank_(rank) {}
  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

namespace detail {

/// `what()` of a user's exception may be null.
inline const char* message_of(const std::exception& error) noexcept {
  const char* const what = error.what();
  return what == nullptr ? "an exception without a message" : what;
}

/// The message of the exception that is being handled.
inline std::string message_of_current() {
  try {
    throw;
  } catch (const std::exception& error) {
    return message_of(error);
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace detail

}  // namespace taskgrain::rt
