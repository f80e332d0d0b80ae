#pragma once

/// The loop of a worker. Every instruction here is paid by every task.

#include <algorithm>

#include "taskgrain/rt/detail/engine.hpp"

namespace taskgrain::rt::detail {

// In pauses, of some ten nanoseconds each.
inline constexpr int patience =
    1024;  // before it robs others: a task stolen takes its data along, and what it tells comes back as messages
inline constexpr int before_idle = 16;     // before the others are told
inline constexpr int clock_every = 64;     // looks at the clock, which take two pauses each
inline constexpr int before_yield = 2048;  // before other threads may have the core

template <typename Until>
void Worker::work(const Until& until) {
  publish_busy();
  for (;;) {
    receive();
    if (const Entry* task = next())
      execute(*task);
    else if (!find_work(until))
      return;
  }
}

[[gnu::always_inline]] inline void Worker::execute(const Entry& task) {
  if (engine_.failed()) [[unlikely]]
    return task.handler->drop(task.payload);
  if (trace_ != nullptr) [[unlikely]]
    return execute_traced(task);
  task.handler->run(*this, task.payload);
}

inline const Entry* Worker::next() {
  if (ranked_) [[unlikely]]
    return next_ranked();
  if (stealable_.empty()) return take_back();
  const Entry* task = &stealable_.pop_plain();
  if (!victims_.empty() && shared_.size() <= 0 && !stealable_.empty()) [[unlikely]] {
    taken_ = *task;
    task = &taken_;
    share();
  }
  return task;
}

inline void Worker::receive() {
  if (!victims_.empty()) receive_from_peers();
  if (outside_.load(std::memory_order_relaxed)) [[unlikely]]
    receive_from_outside();
}

inline bool Worker::mail() const noexcept {
  if (outside_.load(std::memory_order_relaxed)) return true;
  return std::ranges::any_of(inboxes_, [](const Mailbox* box) { return !box->empty(); });
}

inline void Worker::rest(std::int64_t spins) noexcept {
  if (spins < before_yield)
    pause();
  else
    std::this_thread::yield();
}

template <typename Ready>
Waited Worker::wait_for(const Ready& ready, std::chrono::steady_clock::time_point& until) {
  constexpr std::chrono::steady_clock::time_point open{};
  for (int spins = 1;; ++spins) {
    if (ready()) {
      until = open;
      return Waited::ready;
    }
    if (spins % clock_every == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (until == open) until = now + engine_.options().spin;
      if (now >= until) {
        until = open;
        return Waited::too_long;
      }
      if (engine_.failed() || has_work()) return Waited::interrupted;
    }
    rest(spins);
  }
}

template <typename Until>
bool Worker::find_work(const Until& until) {
  std::chrono::steady_clock::time_point sleep_at{};
  Entry task;
  for (std::int64_t spins = 0;; ++spins) {
    if (!kept_back_.empty()) [[unlikely]]
      send_kept_back();
    if (mail() || has_tasks()) {
      publish_busy();
      return true;
    }
    if (spins >= patience && loot()) {
      publish_busy();
      if (steal(task)) {
        execute(task);
        return true;
      }
    }
    if (spins >= before_idle && kept_back_.empty()) {
      publish_idle();
      if (until()) return false;
    }
    if (spins % clock_every == clock_every - 1 && kept_back_.empty()) {
      const auto now = std::chrono::steady_clock::now();
      if (sleep_at == std::chrono::steady_clock::time_point{}) {
        constexpr auto never = std::chrono::steady_clock::time_point::max();
        sleep_at = engine_.options().spin < never - now ? now + engine_.options().spin : never;
      }
      if (now >= sleep_at) {
        publish_idle();
        sleeper_.sleep_unless([&] { return mail() || loot() || until(); });
        sleep_at = {};
      }
    }
    rest(spins);
  }
}

}  // namespace taskgrain::rt::detail
