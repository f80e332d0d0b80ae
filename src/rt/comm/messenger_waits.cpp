/// The messenger: waits for all ranks (termination, exchanges), the engine that joins and leaves, and failures.

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "messenger.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

void Messenger::begin() {
  open();
  if (failed()) raise();
  check_may_poll();
  // Under the polling lock, so that no unexpected message comes between this check and the store to begun_, after which
  // keep_unexpected checks.
  const PollGuard guard(*this, PollGuard::Wait::yes);
  for (const Unexpected& message : unexpected_)
    if (kind_of(message.head.kind) == nullptr && message.head.waits == static_cast<std::uint32_t>(ended_.load())) {
      fail_unknown(message);
      break;
    }
  const std::lock_guard lock(termination_mutex_);
  begun_.fetch_add(1);
  done_.store(false, std::memory_order_relaxed);
  termination_.begin();
  check_departures();
}

void Messenger::send_all() noexcept {
  for (int spins = 0; transport_ != nullptr && !failed() && !transport_->all_sent(); ++spins) {
    if (may_poll()) poll();
    spins < 2048 ? pause() : std::this_thread::yield();
  }
}

void Messenger::end() noexcept {
  send_all();  // others wait for it, and the caller may poll no more after this
  returned_.store(ended_.load());
  unexpected_ready_.store(true);
  ring_own_doorbell();
}

bool Messenger::alone() noexcept {
  if (departed_.load() + 1 < ranks()) return false;
  const PollGuard guard(*this, PollGuard::Wait::no);  // held: no function of a message runs
  if (!guard || anything()) return false;
  const std::lock_guard lock(termination_mutex_);
  for (int other = 0; other < ranks(); ++other)
    if (const auto& left = departures_[static_cast<std::size_t>(other)]) {
      const PersistentCounts own = transport_->persistent_counts(other);
      if (own.receives_done < std::min(own.receives_allowed, left->persistent.sends_allowed) ||
          own.sends_done < std::min(own.sends_allowed, left->persistent.receives_allowed))
        return false;
    }
  return true;
}

ProgressEngine::Counts Messenger::counts() const noexcept {
  const std::uint64_t control_received = control_received_.load(std::memory_order_acquire);
  Counts sum{outside_.queued.load(std::memory_order_acquire), outside_.processed.load(std::memory_order_acquire),
             control_received};
  for (std::size_t w = 0; w < workers_; ++w) {
    sum.queued += shares_[w].queued.load(std::memory_order_acquire);
    sum.processed += shares_[w].processed.load(std::memory_order_acquire);
  }
  return sum;
}

/// \pre termination_mutex_ is held
void Messenger::publish_end() noexcept {
  if (!termination_.done() || done_.load(std::memory_order_relaxed) || ended_.load() == begun_.load()) return;
  stuck_ = termination_.stuck() != 0;
  ended_.store(begun_.load());
  done_.store(true, std::memory_order_release);
}

void Messenger::idle(const Counts& counts, bool stuck) noexcept {
  try {
    const std::lock_guard lock(termination_mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    // The counts are of a moment at which this rank was idle. It must come after the last control message, or a wave
    // would count this rank before it was requested (termination_detection.hpp).
    if (counts.control_received != control_received_.load(std::memory_order_relaxed) || check_early_exchange()) return;
    termination_.idle(counts.queued, counts.processed, stuck, sends_termination());
    publish_end();
  } catch (const std::exception& error) {
    fail(message_of(error));
  }
}

/// Fails if this rank waits for all, and a rank has departed before this wait. \pre termination_mutex_ is held
void Messenger::check_departures() noexcept {
  if (begun_.load() == ended_.load()) return;
  for (int other = 0; other < ranks(); ++other)
    if (const auto& left = departures_[static_cast<std::size_t>(other)]; left && left->waits <= ended_.load())
      set_failed(other, "it has ended its communicator, while this rank waits for all");
}

/// Called when this rank is idle in a wait for all ranks. Another rank that has begun an exchange instead waits for
/// this one for ever: then fails. \returns whether it has failed \pre termination_mutex_ is held
bool Messenger::check_early_exchange() noexcept {
  if (!early_exchange_ || early_exchange_->head.number < exchanges_.load() ||
      early_exchange_->head.waits >= begun_.load())
    return false;
  fail(
      ("rank " + std::to_string(early_exchange_->from) + " calls " + readable(early_exchange_->call) +
       ", and this rank Runtime::wait: all ranks make these calls in the same order. If another thread of this rank is "
       "to make the call, it needs a Runtime::hold")
          .c_str());
  return true;
}

void Messenger::check_departures(std::uint64_t exchange, std::string_view call, const Parts& parts) noexcept {
  const std::lock_guard lock(termination_mutex_);
  for (int other = 0; other < ranks(); ++other)
    if (const auto& left = departures_[static_cast<std::size_t>(other)];
        left && left->exchanges <= exchange && parts.count(other) == 0)
      set_failed(other,
                 "it has ended its communicator, while this rank waits for it in " + readable(std::string(call)));
}

template <typename Done>
void Messenger::poll_until(const Done& done) {
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
    } else if (engine_.load() == nullptr && may_poll()) {
      sleeper_.sleep_unless([&] { return anything() || failed(); }, sleep_time, doorbell());
      sleep_time = std::min(2 * sleep_time, std::chrono::microseconds(2000));
    } else {  // the doorbell wakes workers, not this thread
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

/// \throws UsageError  no thread would poll while this one waits
void Messenger::check_may_poll() const {
  if (!has_progress_thread_ && transport_ != nullptr && !transport_->may_poll())
    throw UsageError(
        "a wait for all ranks is called by another thread than MPI's main thread, which alone may call MPI here; "
        "initialise MPI with MPI_THREAD_MULTIPLE");
}

Messages::Gathered Messenger::exchange(const Gathered& to_each, std::string_view call) {
  if (here() != nullptr || polls_here())
    throw UsageError("a task, or the function of a message, cannot wait for all ranks");
  if (failed()) raise();
  open();
  check_may_poll();
  const auto bytes_to = [&](int other) -> const auto& {
    return to_each[to_each.size() == 1 ? 0 : static_cast<std::size_t>(other)];
  };
  const std::uint64_t number = exchanges_.fetch_add(1);
  const ExchangeHead head{number, begun_.load(), call.size()};
  Writer beginning;
  beginning.write(&head, sizeof head);
  beginning.write(call.data(), call.size());
  for (int other = 0; other < ranks(); ++other) {
    const auto& bytes = bytes_to(other);
    if (other != rank())
      send_control(other, exchange_part, beginning.bytes(),
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  Gathered gathered(static_cast<std::size_t>(ranks()));
  gathered[static_cast<std::size_t>(rank())] = bytes_to(rank());
  std::string unlike;
  poll_until([&] {
    const PollGuard guard(*this, PollGuard::Wait::no);
    if (!guard) return false;
    const auto found = exchange_parts_.try_emplace(number).first;
    check_departures(number, call, found->second);
    if (found->second.size() + 1 < static_cast<std::size_t>(ranks())) return false;
    for (auto& [from, part] : found->second) {
      if (part.call != call) unlike = "rank " + std::to_string(from) + " calls " + readable(part.call);
      gathered[static_cast<std::size_t>(from)] = std::move(part.bytes);
    }
    exchange_parts_.erase(found);
    return true;
  });
  send_all();
  if (!unlike.empty())
    throw AgreedError(unlike + " where this rank calls " + readable(std::string(call)) +
                      "; all ranks make the same calls in the same order");
  return gathered;
}

// -- engines

void Messenger::join(Engine& engine) {
  const std::lock_guard lock(engine_mutex_);
  if (engine_.load() != nullptr) throw UsageError("another runtime uses this communicator");
  workers_ = static_cast<std::size_t>(engine.workers());
  shares_ = std::make_unique<Share[]>(workers_);
  if (transport_ != nullptr) {
    std::vector<int> processors = engine.options().cores;
    if (!engine.options().pin) {
      processors.clear();
      for (const auto& core : usable_cores()) processors.insert(processors.end(), core.begin(), core.end());
    }
    transport_->use(processors, engine.workers() + (has_progress_thread_ ? 1 : 0));
  }
  engine_.store(&engine);
}

void Messenger::leave() noexcept {
  const PollGuard guard(*this, PollGuard::Wait::yes);  // held: no thread polls, and so calls the engine
  const std::lock_guard lock(engine_mutex_);
  if (transport_ != nullptr) transport_->use({}, 0);
  engine_.store(nullptr);
  for (std::size_t w = 0; w < workers_; ++w) {  // atomically: threads that are no workers may add meanwhile
    outside_.queued.fetch_add(shares_[w].queued.exchange(0));
    outside_.processed.fetch_add(shares_[w].processed.exchange(0));
  }
  workers_ = 0;
}

// -- failures

void Messenger::fail(const char* what) noexcept {
  if (!set_failed(rank(), what) || transport_ == nullptr) return;
  try {
    transport_->announce_failure(what);
  } catch (const std::bad_alloc&) {
  }
  notify_failure();
}

void Messenger::fail_for(int rank, const std::string& what) noexcept {
  if (rank == this->rank()) return fail(what.c_str());
  if (set_failed(rank, what)) notify_failure();
}

void Messenger::notify_failure() noexcept {
  for (int other = 0; other < ranks(); ++other)
    if (other != rank()) notify_failure_to(other);
}

void Messenger::notify_failure_to(int other) noexcept {
  try {
    int of = 0;
    std::string reason;
    {
      const std::lock_guard lock(failure_mutex_);
      of = failed_rank_;
      reason = why_.substr(0, transport_->most_bytes() / 2);
    }
    send_control(other, failure, std::as_bytes(std::span(&of, 1)), reason);
  } catch (const std::bad_alloc&) {  // the transport has announced the reason
  }
}

void Messenger::lost(int rank, const std::string& why) noexcept {
  bool is_news = false;
  try {
    constexpr std::string_view said = "it said: ";
    constexpr std::string_view unsaid = "; it has not said which tasks were pending there";
    if (why.starts_with(said)) {  // the words of the message that its end has overtaken
      is_news = set_failed(rank, why.substr(said.size()));
    } else {
      is_news = set_failed(rank, why.ends_with(unsaid) ? why : why + std::string(unsaid));
    }
  } catch (const std::bad_alloc&) {
    is_news = set_failed(rank, "");
  }
  // The lost rank may only have been stopped. If it goes on, it must not wait for this rank. Other ranks notice its
  // loss themselves.
  if (is_news && rank != this->rank()) notify_failure_to(rank);
}

bool Messenger::set_failed(int of, const std::string& why) noexcept {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (of != rank() && transport_ != nullptr) transport_->blame(of, why);
    failed_rank_ = of;
    try {
      why_ = why;
    } catch (const std::bad_alloc&) {  // then without a reason
    }
    // Before failed_: a thread that sees failed_ may free bodies that the transport still reads or writes.
    if (transport_ != nullptr) transport_->abandon();
    failed_.store(true, std::memory_order_release);
  }
  const std::lock_guard lock(engine_mutex_);
  if (Engine* const engine = engine_.load()) engine->notify();
  return true;
}

bool Messenger::failed_here() const noexcept {
  const std::lock_guard lock(failure_mutex_);
  return failed_rank_ == rank();
}

void Messenger::settle() noexcept { const PollGuard guard(*this, PollGuard::Wait::yes); }

void Messenger::raise() {
  const std::lock_guard lock(failure_mutex_);
  throw RankFailed(failed_rank_, why_);
}

}  // namespace taskgrain::rt::detail
