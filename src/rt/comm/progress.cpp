#include "progress.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

void Progress::start_thread() {
  has_thread_ = true;
  thread_ = std::thread([this] {
    for (int spins = 0; !stop_.load(std::memory_order_relaxed); ++spins) {
      if (may_poll() && anything()) poll(), spins = 0;
      spins < 2048 ? pause() : std::this_thread::yield();
    }
  });
}

void Progress::stop_thread() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

// -- polling

bool Progress::anything() const noexcept {
  return (transport_ != nullptr && transport_->anything()) || outbox_.any_to_self() || delivery_.unexpected_ready();
}

bool Progress::may_poll() const noexcept {
  if (!open_.load(std::memory_order_acquire)) return false;
  if (has_thread_ && std::this_thread::get_id() != thread_.get_id()) return false;
  return transport_ == nullptr || transport_->may_poll();
}

void Progress::open() noexcept {
  if (open_.load(std::memory_order_relaxed) || open_.exchange(true)) return;
  engine_.wake_all();  // sleeping workers were not watching the doorbell, as this rank did not poll
}

void Progress::poll() noexcept {
  bool any = false;
  {
    const PollingLock::Guard guard(lock_, PollingLock::Wait::no);
    if (!guard) return;
    try {
      if (transport_ != nullptr) any = transport_->poll(delivery_);
      if (outbox_.any_to_self()) any = true, delivery_.take_from_self();
      if (delivery_.unexpected_ready()) any = true, delivery_.deliver_unexpected();
    } catch (const std::exception& error) {  // the transport has failed, or there is no memory
      fail(message_of(error));
    }
  }
  if (any && engine_.here() == nullptr) engine_.notify_main_worker();  // a worker publishes its state itself
}

void Progress::send_all() noexcept {
  for (int spins = 0; transport_ != nullptr && !failed() && !transport_->all_sent(); ++spins) {
    if (may_poll()) poll();
    spins < 2048 ? pause() : std::this_thread::yield();
  }
}

bool Progress::may_wait_for_room() const noexcept {
  if (runs_here() || !open_.load(std::memory_order_acquire)) return false;
  return has_thread_ || engine_.here() != nullptr || may_poll();
}

void Progress::check_may_wait() const {
  if (!has_thread_ && transport_ != nullptr && !transport_->may_poll())
    throw UsageError(
        "a wait for other ranks is called by another thread than MPI's main thread, which alone may call MPI here; "
        "initialise MPI with MPI_THREAD_MULTIPLE");
}

void Progress::poll_until(const std::function<bool()>& done) {
  constexpr int before_sleep = 4096;
  const int before_yield = oversubscribed() ? 32 : 2048;
  auto sleep_time = std::chrono::microseconds(50);
  for (int spins = 0; !done(); ++spins) {
    if (failed()) {
      settle();
      if (may_poll()) poll();  // what `done` waits for may have arrived before the failure
      if (done()) return;
      raise();
    }
    if (may_poll()) poll();
    if (spins < before_yield) {
      pause();
    } else if (spins < before_sleep) {
      std::this_thread::yield();
    } else if (!engine_.exists() && may_poll()) {
      sleeper_.sleep_unless([&] { return anything() || failed(); }, sleep_time, doorbell());
      sleep_time = std::min(2 * sleep_time, std::chrono::microseconds(2000));
    } else {  // the doorbell wakes workers, not this thread
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

// -- waits

void Progress::leave() noexcept {
  const PollingLock::Guard guard(lock_, PollingLock::Wait::yes);  // held: no thread polls, and so calls the engine
  engine_.leave();
}

void Progress::begin() {
  open();
  if (failed()) raise();
  check_may_wait();
  // Under the polling lock, so that no unexpected message comes between this check and the begin of the wait, after
  // which each that comes is checked.
  const PollingLock::Guard guard(lock_, PollingLock::Wait::yes);
  delivery_.check_unexpected();
  waits_.begin();
}

void Progress::end() noexcept {
  send_all();  // others wait for it, and the caller may poll no more after this
  waits_.end();
  delivery_.expect_more();
  outbox_.ring_own_doorbell();
}

bool Progress::alone() noexcept {
  if (waits_.others_left()) return false;
  const PollingLock::Guard guard(lock_, PollingLock::Wait::no);  // held: no function of a message runs
  return guard && !anything() && waits_.all_complete();
}

}  // namespace taskgrain::rt::detail
