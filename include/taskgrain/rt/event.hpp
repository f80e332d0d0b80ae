#pragma once

/// Events: each happens once, or fails. They connect launches of graphs.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace taskgrain::rt {

/// Copies are the same event. Any thread may set it and ask.
class Event {
 public:
  Event() : state_(std::make_shared<State>()) {}

  /// True if it has happened.
  bool is_set() const noexcept { return state_->is.load(std::memory_order_acquire) == happened; }
  /// The reason why the event will never happen; null while it may, and if it has.
  std::exception_ptr failure() const noexcept {
    return state_->is.load(std::memory_order_acquire) == failed ? state_->failure : nullptr;
  }

  /// Sets the event and calls everything that waits for it. Once it is set or failed, another call does nothing.
  /// \throws what a call throws, when all have been called; of several the first
  void set() const { settle(happened, nullptr); }
  /// Like set, but the event will never happen. Launches after it fail with the same exception.
  void fail(std::exception_ptr why) const {
    if (!why) why = std::make_exception_ptr(std::invalid_argument("an event failed with no exception"));
    settle(failed, std::move(why));
  }
  /// Calls `call` when the event is set or fails, in the thread that does it; at once if that was before.
  void then(std::function<void()> call) const {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->is.load(std::memory_order_relaxed) == open) return state_->waiting.push_back(std::move(call));
    }
    call();
  }

 private:
  enum Is : unsigned char { open, happened, failed };
  struct State {
    std::atomic<Is> is{open};  // written once, under the mutex
    std::mutex mutex;
    std::exception_ptr failure;  // written before `is`
    std::vector<std::function<void()>> waiting;
  };

  void settle(Is is, std::exception_ptr why) const {
    const std::shared_ptr<State> state = state_;  // a call may destroy this copy of the event
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock(state->mutex);
      if (state->is.load(std::memory_order_relaxed) != open) return;
      state->failure = std::move(why);
      state->is.store(is, std::memory_order_release);
      waiting.swap(state->waiting);
    }
    std::exception_ptr thrown;
    for (const auto& call : waiting) {
      try {
        call();
      } catch (...) {
        if (!thrown) thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  std::shared_ptr<State> state_;
};

}  // namespace taskgrain::rt
