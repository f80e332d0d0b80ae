#pragma once

/// The polling lock: one thread at a time polls, and runs the functions of messages. It is a spin lock that a thread
/// may take again while it holds it, because these functions may call the messenger.

#include <atomic>
#include <thread>

namespace taskgrain::rt::detail {

class PollingLock {
 public:
  class Guard;
  enum class Wait : bool { no, yes };

  bool is_held_here() const noexcept { return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  std::atomic<bool> held_{false};          // taken with acquire, freed with release
  std::atomic<std::thread::id> thread_{};  // its holder, written by the holder alone; relaxed: only an equal id matters
};

class PollingLock::Guard {
 public:
  Guard(PollingLock& of, Wait wait) : of_(of) {
    if (of_.is_held_here()) {
      polls_ = wait == Wait::yes;  // nested: it may change what the lock protects, but not poll
      return;
    }
    while (of_.held_.load(std::memory_order_relaxed) || of_.held_.exchange(true, std::memory_order_acquire)) {
      if (wait == Wait::no) return;
      std::this_thread::yield();
    }
    of_.thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    polls_ = ends_polling_ = true;
  }
  ~Guard() {
    if (!ends_polling_) return;
    of_.thread_.store({}, std::memory_order_relaxed);
    of_.held_.store(false, std::memory_order_release);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  explicit operator bool() const noexcept { return polls_; }

 private:
  PollingLock& of_;
  bool polls_ = false, ends_polling_ = false;
};

}  // namespace taskgrain::rt::detail
