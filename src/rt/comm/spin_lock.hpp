#pragma once

#include <atomic>
#include <thread>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// A lock for short critical sections with little contention: a copy into a ring, or a call of MPI. After 128 pauses a
/// waiting thread yields its core, because the holder may have been preempted.
class SpinLock {
 public:
  void lock() noexcept {
    for (int spins = 0; taken_.exchange(true, std::memory_order_acquire);)
      while (taken_.load(std::memory_order_relaxed)) {
        if (++spins < 128)
          pause();
        else
          std::this_thread::yield();
      }
  }
  bool try_lock() noexcept {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace taskgrain::rt::detail
