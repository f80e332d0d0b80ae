#pragma once

/// What threads outside send to one worker: a list under a mutex.

#include <atomic>
#include <mutex>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class alignas(apart) InjectionQueue {
 public:
  /// By any thread. \param counted  is called before the worker can take the message
  template <typename Counted>
  void put(const Entry& message, const Counted& counted) {
    const std::lock_guard lock(mutex_);
    list_.push_back(message);
    counted();
    any_.store(true, std::memory_order_release);
  }

  // -- by the worker

  bool empty() const noexcept { return !any_.load(std::memory_order_relaxed); }
  template <typename Deliver>
  void take(const Deliver& deliver) {
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(list_);
      any_.store(false, std::memory_order_relaxed);
    }
    for (const Entry& message : taken_) deliver(message);
    taken_.clear();
  }

 private:
  std::atomic<bool> any_{false};  // the list is not empty; under the mutex
  std::mutex mutex_;              // protects the list
  std::vector<Entry> list_;
  std::vector<Entry> taken_;  // by the worker
};

}  // namespace taskgrain::rt::detail
