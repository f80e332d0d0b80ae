#include "taskgrain/rt/detail/awaited_ends.hpp"

#include <algorithm>

#include "engine/work.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/failures.hpp"

namespace taskgrain::rt::detail {

void AwaitedEnds::add(Handler& handler, const Event& event) {
  std::exception_ptr broken_by;
  {
    const std::lock_guard lock(mutex_);
    awaited_.emplace_back(&handler, event);
    any_.store(true, std::memory_order_release);
    broken_by = handler.broken_by_;  // null: a later failure finds the event in awaited_
  }
  if (broken_by) settle(&handler, broken_by);
}

void AwaitedEnds::fail(Handler& handler, const std::exception_ptr& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    handler.broken_by_ = why;
  }
  if (any_.load(std::memory_order_acquire)) settle(&handler, why);
}

void AwaitedEnds::mend(Handler& handler) noexcept {
  const std::lock_guard lock(mutex_);
  handler.broken_by_ = nullptr;
}

bool AwaitedEnds::settle(const Handler* broken, const std::exception_ptr& why) noexcept {
  // As a thread outside, not as worker 0, which may have published that it is idle: messages of callbacks must be
  // counted.
  const CurrentWorkerScope outside(nullptr);
  const Engine::Callback inside;
  for (bool any = false;; any = true) {
    std::unique_lock lock(mutex_);
    const auto ended = std::ranges::find_if(awaited_, [&](const auto& one) {
      return broken != nullptr ? one.first == broken : !one.first->broken() && one.first->done();
    });
    if (ended == awaited_.end()) return any;
    const auto [handler, event] = *ended;
    awaited_.erase(ended);
    any_.store(!awaited_.empty(), std::memory_order_release);
    lock.unlock();
    try {
      broken != nullptr ? event.fail(why) : event.set();
    } catch (...) {
      failures_.report(*handler, "a call of Event::then");
    }
  }
}

}  // namespace taskgrain::rt::detail
