#pragma once

/// The threads of the workers but worker 0, which is a thread that waits (MainWorker). They form a tree: each thread
/// starts its children, and wakes them in the end, so that both take logarithmic time in the number of workers.
///   starting_ = threads that have not said that they have started, and 1 while their tree is being started
///   running_  ⇒  all workers but worker 0 have threads

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class Engine;

class WorkerThreads {
 public:
  WorkerThreads(Engine& engine, std::size_t workers) : engine_(engine), threads_(workers) {}

  bool running() const noexcept { return running_.load(); }

  // -- by worker 0, or while nothing waits

  /// \throws std::system_error
  void start();
  void stop() noexcept;

 private:
  void start_below(int worker) noexcept;
  void wake_below(int worker) noexcept;
  void run(int k) noexcept;
  static void* begin(void* worker) noexcept;
  /// A thread has started those below it in the tree, or could not be started itself.
  void started() noexcept;
  /// Keeps the exception that is being handled: why a thread could not start.
  void note_failed_start() noexcept;

  Engine& engine_;
  std::vector<std::optional<pthread_t>> threads_;  // [k]: of worker k, made by the thread above it in their tree
  // starting_ counts threads that have yet to start those below them, and `start` itself. Each of them adds its own
  // before it takes itself off, so 0 comes once, when all have started or failed to. `start` waits for that.
  // running_ is true from the end of `start` to `stop`, which worker 0 calls.
  std::atomic<int> starting_{0};
  std::atomic<bool> running_{false};
  std::mutex mutex_;                              // protects the next
  std::exception_ptr why_not_started_;            // a thread, or where it is to run
  alignas(apart) std::atomic<bool> stop_{false};  // read by all workers, and written seldom
};

}  // namespace taskgrain::rt::detail
