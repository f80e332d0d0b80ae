#pragma once

/// The engine: pinned threads that run tasks and send one another messages. The faces stand on it: Taskflow, CompiledGraph.
///
///     rt::Runtime runtime({.workers = 4});
///     rt::Taskflow<int> flow(runtime, "hello");
///     flow.indegree(…).run(…).worker(…);
///     flow.fulfill(0);
///     runtime.wait();

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/options.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/worker.hpp"

namespace taskgrain::rt {

namespace detail {
class Trace;
}

inline constexpr const char* version = "0.1.0";

/// Index of the worker whose thread calls; -1 outside of workers.
inline int this_worker() noexcept { return detail::Worker::current() == nullptr ? -1 : detail::Worker::current()->index(); }

/// Worker 0 is whoever waits: a thread in `wait` runs its tasks. The others are threads of their own. Several runtimes can be in
/// one process.
class Runtime {
 public:
  /// Starts the threads.
  /// \throws UsageError, std::system_error
  explicit Runtime(RuntimeOptions options = {});
  /// Waits for all tasks; what goes wrong then is lost.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int workers() const noexcept { return static_cast<int>(workers_.size()); }
  /// The processor of each worker.
  const std::vector<int>& cores() const noexcept { return options_.cores; }
  const RuntimeOptions& options() const noexcept { return options_; }

  /// Works until nothing is left to do: no task, no message, no hold. Afterwards the runtime is as new, also if it throws. Starts the
  /// threads if it is joined and there is something to do.
  /// \throws TaskFailed  a task threw; tasks that had not started were dropped
  /// \throws Stuck       tasks wait for what can no longer come
  /// \throws UsageError  when called by a task
  void wait();
  /// Works until `done()` or until nothing is left to do. `done` is asked again and again while this thread finds no task; whoever
  /// makes it true calls `notify` after that.
  /// \throws as wait
  void work_until(const std::function<bool()>& done);
  /// Calls `body(worker)` once on every worker, and waits.
  /// \returns what the calls returned, by worker, if they return something
  /// \throws as wait
  template <std::invocable<int> Body>
  auto on_each_worker(const Body& body) {
    using Result = std::invoke_result_t<const Body&, int>;
    static_assert(!std::is_same_v<Result, bool>, "the workers would write into one word of a vector of bits");
    if constexpr (std::is_void_v<Result>) {
      call_on_each_worker(body);
    } else {
      std::vector<Result> results(workers_.size());
      call_on_each_worker([&](int worker) { results[static_cast<std::size_t>(worker)] = body(worker); });
      return results;
    }
  }
  /// Wakes the thread in `wait` or `work_until`, if it sleeps, to look again.
  void notify() noexcept { workers_[0]->wake(); }

  /// Waits, and ends the threads.
  /// \throws as wait
  void join();
  /// Starts the threads again after `join`.
  void start();

  /// While it lives, `wait` goes on waiting: somebody outside will still fulfill something.
  class Hold {
   public:
    explicit Hold(Runtime& runtime) noexcept : runtime_(&runtime) { runtime.holds_.fetch_add(1, std::memory_order_relaxed); }
    Hold(Hold&& other) noexcept : runtime_(std::exchange(other.runtime_, nullptr)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (runtime_ == nullptr) return;
      runtime_->holds_.fetch_sub(1, std::memory_order_release);
      runtime_->notify();
    }

   private:
    Runtime* runtime_;
  };
  Hold hold() noexcept { return Hold(*this); }

  // -- for handlers

  detail::Worker& worker(int index) noexcept { return *workers_[static_cast<std::size_t>(index)]; }
  /// The calling thread's worker, null if it is none of this runtime.
  detail::Worker* here() const noexcept {
    detail::Worker* worker = detail::Worker::current();
    return worker != nullptr && &worker->runtime() == this ? worker : nullptr;
  }
  /// Whether a task has failed, so that all that is left is dropped.
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  /// Fails the run with the exception that is being handled.
  void fail(const std::string& task) noexcept;
  /// A handler lives from `add` to `remove`; remove waits for what it has under way.
  void add(detail::Handler& handler);
  void remove(detail::Handler& handler) noexcept;

 private:
  friend class detail::Worker;

  void call_on_each_worker(const std::function<void(int worker)>& body);
  void stop_threads() noexcept;
  /// Whether no worker has anything to do, no message is under way and nobody holds. Asked by worker 0.
  bool quiescent() noexcept;
  template <typename Done>
  void work_as_first(const Done& done);
  class Closed;
  /// Forgets what is left of a run that has ended, and throws what is to be said of it.
  void end_run();
  std::vector<detail::Handler*> handlers();

  RuntimeOptions options_;
  std::vector<std::unique_ptr<detail::Worker>> workers_;
  std::vector<std::thread> threads_;
  std::unique_ptr<detail::Trace> trace_;
  std::mutex caller_mutex_;  // held by the thread that is worker 0
  std::mutex mutex_;         // of what follows
  std::vector<detail::Handler*> handlers_;
  std::exception_ptr failure_;
  std::vector<std::uint64_t> epochs_;  // of worker 0, while it asks whether all is done

  // Written seldom.
  alignas(detail::apart) std::atomic<bool> failed_{false};  // by who fails first; by worker 0 when all are idle
  std::atomic<bool> stop_{false};
  std::atomic<bool> closed_{false};  // by worker 0: the others stay idle
  // Written by outside threads.
  alignas(detail::apart) std::atomic<std::uint64_t> sent_from_outside_{0};
  std::atomic<std::int64_t> holds_{0};
};

}  // namespace taskgrain::rt
