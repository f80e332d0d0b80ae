#pragma once

/// Events: each happens once. They connect launches of graphs.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace taskgrain::rt {

/// Copies are the same event. Any thread may set it and ask.
class Event {
 public:
  Event() : state_(std::make_shared<State>()) {}

  bool is_set() const noexcept { return state_->set.load(std::memory_order_acquire); }
  /// Sets the event and calls everything that waits for it. A second call does nothing.
  void set() const {
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->set.exchange(true, std::memory_order_acq_rel)) return;
      waiting.swap(state_->waiting);
    }
    for (const auto& call : waiting) call();
  }
  /// Calls `call` when the event is set, in the thread that sets it; at once if it is set.
  void then(std::function<void()> call) const {
    {
      const std::lock_guard lock(state_->mutex);
      if (!is_set()) return state_->waiting.push_back(std::move(call));
    }
    call();
  }

 private:
  struct State {
    std::atomic<bool> set{false};
    std::mutex mutex;
    std::vector<std::function<void()>> waiting;
  };
  std::shared_ptr<State> state_;
};

}  // namespace taskgrain::rt
