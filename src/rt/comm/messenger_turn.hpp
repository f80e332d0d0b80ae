#pragma once

/// Whose turn it is to poll. Who has the turn also writes what only polls read.

#include <atomic>
#include <thread>

#include "messenger.hpp"

namespace taskgrain::rt::detail {

class Messenger::Turn {
 public:
  enum class Wait : bool { no, yes };

  Turn(Messenger& of, Wait wait) : of_(of) {
    if (of_.turn_of_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      has_it_ = wait == Wait::yes;  // a function that this thread runs makes another kind; but it does not poll
      return;
    }
    while (of_.turn_.load(std::memory_order_relaxed) || of_.turn_.exchange(true, std::memory_order_acquire)) {
      if (wait == Wait::no) return;
      std::this_thread::yield();
    }
    of_.turn_of_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    has_it_ = gives_back_ = true;
  }
  ~Turn() {
    if (!gives_back_) return;
    of_.turn_of_.store({}, std::memory_order_relaxed);
    of_.turn_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const noexcept { return has_it_; }

 private:
  Messenger& of_;
  bool has_it_ = false, gives_back_ = false;
};

}  // namespace taskgrain::rt::detail
