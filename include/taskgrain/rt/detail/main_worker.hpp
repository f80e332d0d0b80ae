#pragma once

/// Worker 0 has no thread of its own: one of the threads that wait is it, until its wait ends. Then it is the turn of
/// another one.
///
/// Dekker: a worker adds itself to `starved`, and then loads `taken`, before it sleeps; a thread that becomes worker 0
/// stores `taken`, and then loads `starved`, to wake it.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace taskgrain::rt::detail {

class Engine;

class MainWorker {
 public:
  class Guard;

  /// True if the calling thread is worker 0.
  bool is_here() {
    const std::lock_guard lock(mutex_);
    return taken && thread_ == std::this_thread::get_id();
  }
  /// Wakes the threads that wait and are not worker 0.
  void notify_others() noexcept {
    if (others_.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard lock(mutex_);
    left_.notify_all();
  }

  std::atomic<bool> taken{false};  ///< a thread is worker 0; written under the mutex
  std::atomic<int> starved{0};     ///< workers that sleep until worker 0 is there, because they have messages for it

 private:
  std::mutex mutex_;  // protects the two below
  std::condition_variable left_;
  std::thread::id thread_;      // the last that was worker 0
  std::atomic<int> others_{0};  // threads that wait and are not worker 0
};

}  // namespace taskgrain::rt::detail
