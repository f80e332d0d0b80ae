#pragma once

/// The engine: workers that run tasks and send one another messages, their threads, and the end of a run. A Runtime
/// owns one and shows its user half; the faces (Taskflow, CompiledGraph) are its handlers.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/options.hpp"

namespace taskgrain::rt {
class Runtime;
}

namespace taskgrain::rt::detail {

class Trace;

class Engine {
 public:
  /// Starts the threads.
  /// \throws UsageError, std::system_error
  explicit Engine(RuntimeOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// As given, and what was left open is filled in.
  const RuntimeOptions& options() const noexcept { return options_; }
  int workers() const noexcept { return static_cast<int>(workers_.size()); }
  Worker& worker(int index) noexcept { return *workers_[static_cast<std::size_t>(index)]; }
  /// The calling thread's worker, null if it is none of this engine.
  Worker* here() const noexcept {
    Worker* worker = Worker::current();
    return worker != nullptr && &worker->engine() == this ? worker : nullptr;
  }

  // -- for handlers

  /// A handler lives from `add` to `remove`; remove waits for its messages and tasks.
  void add(Handler& handler);
  void remove(Handler& handler) noexcept;
  /// Whether a task has failed, so that all that is left is dropped.
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  /// Fails the run with the exception that is being handled.
  void fail(const std::string& task) noexcept;

  // -- for Runtime, which says what they do

  void wait();
  void work_until(const std::function<bool()>& done);
  void notify() noexcept { workers_[0]->wake(); }
  void join();
  void start();
  void hold() noexcept { holds_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    holds_.fetch_sub(1, std::memory_order_release);
    notify();
  }

 private:
  friend class Worker;

  void stop_threads() noexcept;
  /// Whether everything is done: no worker has work, no message is under way, and there is no Hold. Only worker 0 asks.
  bool quiescent() noexcept;
  template <typename Done>
  void work_as_first(const Done& done);
  class Closed;
  /// Forgets the remaining tasks of a run that has ended, and throws TaskFailed or Stuck if it went wrong.
  void end_run();
  std::vector<Handler*> handlers();

  RuntimeOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::unique_ptr<Trace> trace_;
  std::mutex caller_mutex_;  // held by the thread that is worker 0
  std::mutex mutex_;         // protects the members below
  std::vector<Handler*> handlers_;
  std::exception_ptr failure_;
  std::vector<std::uint64_t> epochs_;  // of worker 0, while it asks whether all is done

  // Written seldom.
  alignas(apart) std::atomic<bool> failed_{false};  // written by who fails first, and by worker 0 when all are idle
  std::atomic<bool> stop_{false};
  std::atomic<bool> closed_{false};  // by worker 0: the others stay idle
  // Written by outside threads.
  alignas(apart) std::atomic<std::uint64_t> sent_from_outside_{0};
  std::atomic<std::int64_t> holds_{0};
};

/// The engine of a runtime: for its faces, when they are made.
Engine& engine_of(Runtime& runtime) noexcept;

}  // namespace taskgrain::rt::detail
