#pragma once

/// The main loop of a worker. Each task pays for each instruction here.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "engine/poll_interval.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

/// While it lives, the calling thread is this worker, or none if it is null.
class CurrentWorkerScope {
 public:
  explicit CurrentWorkerScope(Worker* worker) : before_(std::exchange(Worker::current_, worker)) {
    if (worker != nullptr) worker->below_ = before_;
    show();
  }
  ~CurrentWorkerScope() {
    Worker::current_ = before_;
    show();
  }

 private:
  /// Updates `this_worker` of the user.
  static void show() noexcept { worker_index = Worker::current_ == nullptr ? -1 : Worker::current_->index(); }

  Worker* const before_;
};

#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
inline constexpr int shorter = 16;  // so that simulated schedules get to parks and steals in few steps
#else
inline constexpr int shorter = 1;
#endif

// Spins are pause instructions, of some ten nanoseconds each.
// Stealing has a price: the cache lines of the task's data move to this core, and each fulfilment of the owner's tasks
// becomes a message. So a worker spins before it steals: not at all after a steal that was worth it, twice as long
// after each that was not. The limit is proportional to the number of workers, so that the rate of useless steals of
// all workers together does not depend on it.
inline constexpr std::int64_t least_spins_before_steal = 128 / shorter,
                              most_spins_before_steal_per_worker = 512 / shorter;
inline constexpr int spins_before_idle = 16 / shorter;  // before it publishes that it is idle
/// The spins after a block of a loop in which a worker asks for nothing else, and does not pause either: the next block
/// may come soon.
inline constexpr int spins_after_block = 64 / shorter;
inline constexpr int spins_per_clock = 64 / shorter;    // between readings of the clock, of two spins each
inline constexpr int spins_before_yield = 2048;         // then it yields the core to other threads
inline constexpr int spins_before_yield_to_ranks = 32;  // if several ranks share cores: another rank may need the core

/// The longest spin inside a handler, whatever the options say: the worker must return to its loop, to steal and to be
/// counted as idle.
inline constexpr std::chrono::nanoseconds longest_spin_in_a_task = std::chrono::milliseconds(10);
/// The times that a thread parks before it checks its condition again, if no other thread may signal it: exponential
/// backoff from the one to the other.
inline constexpr std::chrono::microseconds shortest_park{50}, longest_park{5000};
/// The longest spin if ranks share a core: the kernel runs a thread that is woken sooner than one that has yielded.
inline constexpr std::chrono::microseconds longest_spin_if_oversubscribed{50};
/// The time that a worker parks if other ranks cannot wake it.
inline constexpr std::chrono::microseconds longest_park_without_doorbell{200};

/// The time at which a worker that begins to wait now has spun long enough; the end of time if that would overflow.
inline std::chrono::steady_clock::time_point end_of_spin(std::chrono::steady_clock::time_point now,
                                                         std::chrono::nanoseconds spin) noexcept {
  constexpr auto never = std::chrono::steady_clock::time_point::max();
  return spin < never - now ? now + spin : never;
}

template <bool often, typename Until>
void Worker::work(const Until& until) {
  engine_.progress_ == nullptr ? work<often, false>(until) : work<often, true>(until);
}

inline void Worker::poll_ranks_idle() {
  ProgressEngine& progress = *engine_.progress_;
  if ((progress.only_polls_show() || progress.anything()) && progress.may_poll()) progress.poll();
}

inline void Worker::poll_ranks() {
  ProgressEngine* const progress = engine_.progress_;
  if (progress != nullptr && progress->anything() && progress->may_poll()) progress->poll();
}

template <bool often, bool ranks, typename Until>
void Worker::work(const Until& until) {
  publish_busy();
  checks_between_tasks_ = often;
  [[maybe_unused]] PollInterval poll_interval;
  [[maybe_unused]] std::size_t before_look = poll_interval.tasks();
  [[maybe_unused]] PollInterval rank_interval;  // tasks between two polls of other ranks
  [[maybe_unused]] std::size_t before_poll = 0;
  for (;;) {
    receive();
    if constexpr (ranks)
      if (before_poll-- == 0) {
        before_poll = index_ == 0 ? 0 : rank_interval.next() - 1;  // worker 0 polls after each task
        poll_ranks();
      }
    if constexpr (often)
      if (before_look-- == 0) {
        before_look = poll_interval.next() - 1;
        if (until()) return;
      }
    if (const Entry* task = next())
      execute(*task);
    else if (!find_work<often, ranks>(until))
      return;
    else if constexpr (often)
      poll_interval.enter();  // so that the time of the wait does not count
  }
}

[[gnu::always_inline]] inline void Worker::execute(const Entry& task) {
  if (trace_ != nullptr) [[unlikely]]
    return execute_traced(task);
  engine_.handlers_.numbered[task.handler].run(*this, task.payload);
}

[[gnu::always_inline]] inline const Entry* Worker::next() {
  if (ranked_) [[unlikely]]
    return next_ranked();
  const Entry* task = stealable_.pop_plain();
  if (stealable_.can_share()) [[unlikely]]
    share();
  return task;
}

[[gnu::always_inline]] inline void Worker::receive() {
  if (!victims_.empty()) receive_from_workers();
  if (!injected_.empty()) [[unlikely]]
    injected_.take([this](const Entry& message) { deliver(message); });
}

inline bool Worker::has_messages() const noexcept { return !injected_.empty() || !inbox_.empty(); }

inline std::int64_t Worker::spins_before_yield_with_ranks() const noexcept {
  return engine_.progress_->oversubscribed() ? spins_before_yield_to_ranks : spins_before_yield;
}

inline void Worker::backoff(std::int64_t spins, std::int64_t yield_after) noexcept {
  if (spins < yield_after)
    pause();
  else
    std::this_thread::yield();
}

template <typename Ready>
Waited Worker::wait_for(const Ready& ready, std::chrono::steady_clock::time_point& until) {
  constexpr std::chrono::steady_clock::time_point open{};
  const bool must_poll = engine_.progress_ != nullptr && engine_.progress_->only_polls_show();
  std::int64_t yield_after = spins_before_yield;
  for (int spins = 1;; ++spins) {
    if (ready()) {
      until = open;
      return Waited::ready;
    }
    if (spins % spins_per_clock == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (until == open) until = end_of_spin(now, std::min(engine_.options().spin, longest_spin_in_a_task));
      if (now >= until) {
        until = open;
        return Waited::too_long;
      }
      if (!overflow_.empty()) [[unlikely]]
        send_overflow();  // the receiver may need them to produce what this worker waits for
      poll_ranks();
      if (has_work()) return Waited::interrupted;
    }
    if (must_poll) poll_ranks_idle();
    if (spins == spins_before_yield_to_ranks && engine_.progress_ != nullptr)
      yield_after = spins_before_yield_with_ranks();
    backoff(spins, yield_after);
  }
}

/// True if all of its overflow is for worker 0 while no thread is worker 0. Then it cannot send it until a thread
/// waits, so it may park although it is not idle.
inline bool Worker::starved() const noexcept {
  return overflow_.size() == 1 && overflow_[0].to == 0 && !engine_.main_.taken.load();
}

template <bool ranks, typename Until>
bool Worker::park(const Until& until, std::chrono::nanoseconds most) {
  const bool is_starved = !overflow_.empty();
  if (is_starved)
    engine_.main_.starved.fetch_add(1);
  else
    publish_idle();
  engine_.awake_.park(static_cast<std::size_t>(index_));
  const auto busy = [this] { return index_ == 0 ? engine_.completion_.busy() : Completion::anybody; };
  const std::size_t before = busy();
  if (index_ == 0) engine_.completion_.await(checks_between_tasks_ ? Completion::anybody : before);
  // Worker 0 does not sleep if its last scan has stopped at another worker than `before`, which does not know that it
  // must wake worker 0.
  const auto found = [&] {
    return has_messages() || any_to_steal() || until() || busy() != before ||
           (is_starved && engine_.main_.taken.load());
  };
  bool is_timed = false;
  if constexpr (ranks)
    is_timed = park_at_doorbell(found, most);
  else
    sleeper_.sleep_unless(found, most);
  if (engine_.awake_.wake(static_cast<std::size_t>(index_))) request_work();
  if (is_starved) engine_.main_.starved.fetch_sub(1);
  return is_timed;
}

/// The last worker to park waits at the doorbell of the rank. Of the other parked ones, one polls with a timeout,
/// because the workers that are awake may be in long tasks; with a long timeout if none is awake.
template <typename Found>
bool Worker::park_at_doorbell(const Found& found, std::chrono::nanoseconds most) {
  ProgressEngine& progress = *engine_.progress_;
  if (!progress.may_poll()) {
    sleeper_.sleep_unless([&] { return found() || progress.may_poll(); },
                          most);  // `open` wakes it when the rank begins to poll
    return false;
  }
  const auto asleep = [this] { return engine_.awake_.asleep() == engine_.workers() - (engine_.main_.taken ? 0 : 1); };
  // If only polls show arrivals, `anything` says when to poll next, and not that something has arrived.
  const auto found_or_arrived = [&] { return found() || (!progress.only_polls_show() && progress.anything()); };
  if (asleep() && !engine_.waits_at_doorbell_.exchange(true)) {
    std::atomic<std::uint32_t>* const doorbell = progress.doorbell();
    if (doorbell == nullptr) most = std::min<std::chrono::nanoseconds>(most, longest_park_without_doorbell);
    sleeper_.sleep_unless(found_or_arrived, most, doorbell);
    engine_.waits_at_doorbell_.store(false);
    return doorbell == nullptr;
  }
  if (engine_.parks_with_timeout_.exchange(true)) return sleeper_.sleep_unless(found, most), false;
  sleeper_.sleep_unless(found_or_arrived, std::min<std::chrono::nanoseconds>(
                                              most, asleep() ? longest_park : longest_park_without_doorbell));
  engine_.parks_with_timeout_.store(false);
  return true;
}

template <bool often, bool ranks, typename Until>
bool Worker::find_work(const Until& until) {
  std::chrono::steady_clock::time_point sleep_at{};
  [[maybe_unused]] auto park_time = shortest_park;
  std::int64_t yield_after = spins_before_yield;
  for (std::int64_t spins = 0;; ++spins) {
    if (!overflow_.empty()) [[unlikely]]
      send_overflow();
    if constexpr (ranks) poll_ranks_idle();
    if (has_messages() || has_tasks()) {
      publish_busy();
      return true;
    }
    if (steal_branch(spins >= spins_before_request_)) return true;
    if (spins >= spins_before_steal_) {
      Worker* const found = victim();
      if (found != nullptr && steal(*found)) return true;
    }
    if (spins >= spins_before_idle) {
      if (overflow_.empty()) publish_idle();
      if (until()) return false;
    }
    if (spins % spins_per_clock == spins_per_clock - 1 && (overflow_.empty() || starved())) {
      const auto now = std::chrono::steady_clock::now();
      if (sleep_at == std::chrono::steady_clock::time_point{}) {
        auto spin = engine_.options().spin;
        if (yield_after != spins_before_yield)
          spin = std::min<std::chrono::nanoseconds>(spin, longest_spin_if_oversubscribed);
        sleep_at = end_of_spin(now, spin);
      }
      if (now >= sleep_at) {
        const bool is_timed = park<ranks>(until, often ? park_time : Sleeper::for_ever);
        if constexpr (often)
          park_time = std::min(2 * park_time, longest_park);  // it keeps sleep_at, so it parks again soon
        else if (!is_timed)
          sleep_at = {};
        spins = std::max(spins, spins_before_steal_);
      }
    }
    if constexpr (ranks)
      if (spins == spins_before_yield_to_ranks) yield_after = spins_before_yield_with_ranks();
    if (spins >= spins_before_request_) backoff(spins, yield_after);
  }
}

}  // namespace taskgrain::rt::detail
