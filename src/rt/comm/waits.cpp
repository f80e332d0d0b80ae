#include "waits.hpp"

#include <algorithm>
#include <exception>

#include "message_kinds.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

// -- a wait

void Waits::begin() {
  const std::lock_guard lock(mutex_);
  begun_.fetch_add(1);
  done_.store(false, std::memory_order_relaxed);
  termination_.begin();
  check_departures();
}

void Waits::idle(const ProgressEngine::Counts& counts, bool stuck) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    // The counts are of a moment at which this rank was idle. It must come after the last control message, or a wave
    // would count this rank before it was requested (termination_detection.hpp).
    if (counts.control_received != control_received_.load(std::memory_order_relaxed) || check_early_exchange()) return;
    termination_.idle(counts.queued, counts.processed, stuck, sends_termination());
    publish_end();
  } catch (const std::exception& error) {
    failure_.fail(message_of(error));
  }
}

/// \pre the mutex is held
void Waits::publish_end() noexcept {
  if (!termination_.done() || done_.load(std::memory_order_relaxed) || ended_.load() == begun_.load()) return;
  stuck_ = termination_.stuck() != 0;
  ended_.store(begun_.load());
  done_.store(true, std::memory_order_release);
}

void Waits::receive(int from, const TerminationMessage& message) {
  const std::lock_guard lock(mutex_);
  control_received_.fetch_add(1, std::memory_order_release);
  termination_.receive(from, message, sends_termination());
  publish_end();
}

// -- departures

void Waits::depart(int from, const Departure& left) {
  const std::lock_guard lock(mutex_);
  departures_[static_cast<std::size_t>(from)] = left;
  departed_.fetch_add(1);
  check_departures();
}

bool Waits::has_departed(int rank) {
  if (departed_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  return departures_[static_cast<std::size_t>(rank)].has_value();
}

bool Waits::others_left() const noexcept { return departed_.load() + 1 < outbox_.ranks(); }

bool Waits::all_complete() {
  const std::lock_guard lock(mutex_);
  for (int other = 0; other < outbox_.ranks(); ++other)
    if (const auto& left = departures_[static_cast<std::size_t>(other)]) {
      const PersistentCounts own = outbox_.transport()->persistent_counts(other);
      if (own.receives_done < std::min(own.receives_allowed, left->persistent.sends_allowed) ||
          own.sends_done < std::min(own.sends_allowed, left->persistent.receives_allowed))
        return false;
    }
  return true;
}

/// Fails if this rank waits for all, and a rank has departed before this wait. \pre the mutex is held
void Waits::check_departures() noexcept {
  if (begun_.load() == ended_.load()) return;
  for (int other = 0; other < outbox_.ranks(); ++other)
    if (const auto& left = departures_[static_cast<std::size_t>(other)]; left && left->waits <= ended_.load())
      failure_.set(other, "it has ended its communicator, while this rank waits for all");
}

void Waits::check_departures(std::uint64_t exchange, std::string_view call, const ExchangeParts& parts) noexcept {
  const std::lock_guard lock(mutex_);
  for (int other = 0; other < outbox_.ranks(); ++other)
    if (const auto& left = departures_[static_cast<std::size_t>(other)];
        left && left->exchanges <= exchange && !parts.contains(other))
      failure_.set(other, "it has ended its communicator, while this rank waits for it in " +
                              MessageKinds::readable(std::string(call)));
}

// -- exchanges

bool Waits::receive_part(int from, const ExchangeHead& head, const std::string& call) {
  const std::lock_guard lock(mutex_);
  const bool waits = head.number >= exchanges_.load() && begun_.load() != ended_.load();
  early_exchange_ = {from, head, call};
  if (waits) control_received_.fetch_add(1, std::memory_order_release);  // so that `idle` runs again, and checks it
  return waits;
}

/// Called when this rank is idle in a wait for all ranks. Another rank that has begun an exchange instead waits for
/// this one for ever: then fails. \returns whether it has failed \pre the mutex is held
bool Waits::check_early_exchange() noexcept {
  if (!early_exchange_ || early_exchange_->head.number < exchanges_.load() ||
      early_exchange_->head.waits >= begun_.load())
    return false;
  failure_.fail(
      ("rank " + std::to_string(early_exchange_->from) + " calls " + MessageKinds::readable(early_exchange_->call) +
       ", and this rank Runtime::wait: all ranks make these calls in the same order. If another thread of this rank is "
       "to make the call, it needs a Runtime::hold")
          .c_str());
  return true;
}

}  // namespace taskgrain::rt::detail
