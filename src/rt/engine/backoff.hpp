#pragma once

#include <chrono>
#include <thread>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// The pause between two looks of a thread that waits and that nobody wakes: it spins so often, then yields until it
/// has looked so often, then sleeps.
class Backoff {
 public:
  explicit Backoff(int spins = 2000, int looks = 20'000) : spins_(spins), looks_(looks) {}

  void wait() {
    if (idle_ < spins_)
      pause();
    else if (idle_ < looks_)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (idle_ < looks_) ++idle_;
  }
  void reset() { idle_ = 0; }

 private:
  int spins_, looks_, idle_ = 0;
};

}  // namespace taskgrain::rt::detail
