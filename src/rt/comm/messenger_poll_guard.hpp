#pragma once

/// The lock under which one thread at a time polls. It also protects what only polls read.

#include <atomic>
#include <thread>

#include "messenger.hpp"

namespace taskgrain::rt::detail {

class Messenger::PollGuard {
 public:
  enum class Wait : bool { no, yes };

  PollGuard(Messenger& of, Wait wait) : of_(of) {
    if (of_.polling_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      polls_ = wait == Wait::yes;  // a function that this thread runs makes another kind; but it does not poll
      return;
    }
    while (of_.polling_.load(std::memory_order_relaxed) || of_.polling_.exchange(true, std::memory_order_acquire)) {
      if (wait == Wait::no) return;
      std::this_thread::yield();
    }
    of_.polling_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    polls_ = ends_polling_ = true;
  }
  ~PollGuard() {
    if (!ends_polling_) return;
    of_.polling_thread_.store({}, std::memory_order_relaxed);
    of_.polling_.store(false, std::memory_order_release);
  }
  PollGuard(const PollGuard&) = delete;
  PollGuard& operator=(const PollGuard&) = delete;
  explicit operator bool() const noexcept { return polls_; }

 private:
  Messenger& of_;
  bool polls_ = false, ends_polling_ = false;
};

}  // namespace taskgrain::rt::detail
