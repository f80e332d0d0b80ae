#include "messenger.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

/// Reads the arguments. It begins at the head, as the Writer did, because both align relative to their beginning.
Reader arguments_of(std::span<const std::byte> packet) {
  Reader arguments(packet);
  arguments.take(sizeof(PacketHead));
  return arguments;
}

}  // namespace

Messenger::Messenger(std::unique_ptr<Transport> transport, const CommunicatorOptions& options,
                     std::shared_ptr<void> kept)
    : keep_alive_(std::move(kept)), transport_(std::move(transport)),
      rank_(transport_ == nullptr ? 0 : transport_->rank()), ranks_(transport_ == nullptr ? 1 : transport_->ranks()),
      shared_memory_(transport_ == nullptr ? nullptr : transport_->shared_memory()),
      has_progress_thread_(options.progress_thread), most_queued_(std::max<std::size_t>(1, options.queue_bytes)),
      queued_(new std::atomic<std::size_t>[static_cast<std::size_t>(ranks())]()), termination_(rank(), ranks()),
      departures_(static_cast<std::size_t>(ranks())) {
  try {
    if (transport_ != nullptr) {
      std::vector<std::atomic<std::size_t>*> by_rank;
      for (int other = 0; other < ranks(); ++other) by_rank.push_back(&queued_[static_cast<std::size_t>(other)]);
      transport_->count_queued_in(std::move(by_rank));
      transport_->watch(*this);
    }
    if (has_progress_thread_)
      progress_ = std::thread([this] {
        for (int spins = 0; !stop_.load(std::memory_order_relaxed); ++spins) {
          if (may_poll() && anything()) poll(), spins = 0;
          spins < 2048 ? pause() : std::this_thread::yield();
        }
      });
  } catch (const std::exception& error) {  // such as no more threads
    if (transport_ != nullptr) {
      transport_->announce_failure(message_of(error));  // ranks that have made their communicator wait for this one
      transport_->leave();
    }
    throw;
  }
}

Messenger::~Messenger() {
  if (engine_.load() != nullptr) {
    std::fputs("taskgrain: a Communicator ends before the Runtime that uses it; declare it before\n", stderr);
    std::terminate();
  }
  stop_ = true;
  if (progress_.joinable()) progress_.join();
  if (transport_ == nullptr) return;
  closing_ = true;
  if (std::uncaught_exceptions() > exceptions_ && !failed()) fail("an exception has ended its communicator");
  try {
    if (failed()) notify_failure();  // instead of a departure: the others fail, too
    for (int other = 0; other < ranks() && !failed(); ++other) {
      if (other == rank()) continue;
      const Departure left{ended_.load(), exchanges_.load(), transport_->persistent_counts(other)};
      send_control(other, departure, std::as_bytes(std::span(&left, 1)));
    }
    const PollGuard guard(*this, PollGuard::Wait::yes);
    while (!transport_->flush(*this) && !failed())
      std::this_thread::yield();     // a rank that ends meanwhile sets `failed`, so the loop ends
  } catch (const std::exception&) {  // no memory: the others notice the end of the process
  }
  transport_->leave();
}

// -- polling

bool Messenger::anything() const noexcept {
  return (transport_ != nullptr && transport_->anything()) || any_to_self_.load(std::memory_order_relaxed) ||
         unexpected_ready_.load(std::memory_order_relaxed);
}

bool Messenger::may_poll() const noexcept {
  if (!open_.load(std::memory_order_acquire)) return false;
  if (has_progress_thread_ && std::this_thread::get_id() != progress_.get_id()) return false;
  return transport_ == nullptr || transport_->may_poll();
}

void Messenger::open() noexcept {
  if (open_.load(std::memory_order_relaxed) || open_.exchange(true)) return;
  const std::lock_guard lock(engine_mutex_);
  if (Engine* const engine = engine_.load())
    engine->wake_all();  // sleeping workers were not watching the doorbell, as this rank did not poll
}

void Messenger::progress() {
  open();
  if ((anything() || only_polls_show()) && may_poll()) poll();
  if (failed()) raise();
}

void Messenger::poll() noexcept {
  bool any = false;
  {
    const PollGuard guard(*this, PollGuard::Wait::no);
    if (!guard) return;
    try {
      if (transport_ != nullptr) any = transport_->poll(*this);
      if (any_to_self_.load(std::memory_order_relaxed)) any = true, take_from_self();
      if (unexpected_ready_.load(std::memory_order_relaxed)) any = true, deliver_unexpected();
    } catch (const std::exception& error) {  // the transport has failed, or there is no memory
      fail(message_of(error));
    }
  }
  if (any && here() == nullptr) notify_main_worker();  // a worker publishes its state itself
}

void Messenger::mark_busy() const noexcept {
  if (Worker* const worker = here()) worker->mark_busy();
}

void Messenger::notify_main_worker() noexcept {
  const Worker* const worker = here();
  if (worker != nullptr && worker->index() == 0) return;
  const std::lock_guard lock(engine_mutex_);
  if (Engine* const engine = engine_.load()) engine->notify();
}

void Messenger::ring_own_doorbell() noexcept {
  if (std::atomic<std::uint32_t>* const own = doorbell())
    ring(*own);
  else
    notify_main_worker();
}

void Messenger::packet(int from, std::span<const std::byte> bytes) {
  PacketHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.kind >= first_control) [[unlikely]]
    return receive_control(from, head.kind, bytes.subspan(sizeof head));
  if (failed() || closing_) [[unlikely]]
    return;
  mark_busy();
  if (const DeclaredKind* const kind = deliverable(head)) [[likely]]
    return run(from, *kind, bytes);
  keep_unexpected({from, head, {bytes.begin(), bytes.end()}, nullptr});
}

const Messenger::DeclaredKind* Messenger::deliverable(const PacketHead& head) noexcept {
  const auto later = static_cast<std::int32_t>(head.waits - static_cast<std::uint32_t>(returned_.load()));
  return later > 0 ? nullptr : kind_of(head.kind);
}

void Messenger::run(int from, const DeclaredKind& kind, std::span<const std::byte> packet) noexcept {
  // The sender means another kind by this number. Its declaration comes, or has come, and fails this rank.
  if (reinterpret_cast<const PacketHead*>(packet.data())->check != kind.check) [[unlikely]]
    return;
  guarded(kind, [&] {
    Reader arguments = arguments_of(packet);
    kind.run(from, arguments);
  });
  count(&Share::processed);
}

template <typename Function>
void Messenger::guarded(const DeclaredKind& kind, const Function& function) noexcept {
  if (failed() || closing_) return;
  const auto fail_with = [&](const char* what) {
    const Worker* const worker = here();
    fail((kind.name + " " + std::to_string(kind.number) + " failed: " + what +
          (worker == nullptr ? "" : worker->engine().waiting_here()))
             .c_str());
  };
  try {
    function();
  } catch (const std::exception& error) {
    fail_with(message_of(error));
  } catch (...) {
    fail_with("an exception that is no std::exception");
  }
}

Transport::Receiver::Place Messenger::place(int, std::span<const std::byte> bytes, std::size_t size) {
  PacketHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  auto large =
      std::make_unique<Large>(head.kind, std::vector<std::byte>(bytes.begin(), bytes.end()), std::vector<std::byte>());
  std::byte* to = nullptr;
  const DeclaredKind* const kind = deliverable(head);
  if (kind != nullptr && kind->check == head.check) {
    mark_busy();
    guarded(*kind, [&] {
      Reader arguments = arguments_of(large->head);
      to = kind->place(arguments, size);
      if (to == nullptr && size > 0) throw UsageError("`place` has returned a null pointer");
      large->placed = true;
    });
  }
  if (to == nullptr && size > 0) {
    large->body.resize(size);
    to = large->body.data();
  }
  return {to, large.release()};
}

bool Messenger::take_in_place(int from, std::span<const std::byte> bytes, std::span<const std::byte> body) {
  PacketHead head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.kind != long_message) return false;
  packet(from, body);
  return true;
}

void Messenger::arrived(int from, void* token) {
  std::unique_ptr<Large> large(static_cast<Large*>(token));
  if (large->kind == long_message) return packet(from, large->body);
  if (failed() || closing_) return;
  mark_busy();
  PacketHead head{};
  std::memcpy(&head, large->head.data(), sizeof head);
  // If it was placed, `place` was called, and so `process` must be.
  if (const DeclaredKind* const kind = large->placed ? kind_of(head.kind) : deliverable(head))
    return process(from, *kind, *large);
  keep_unexpected({from, head, {}, std::move(large)});
}

void Messenger::process(int, const DeclaredKind& kind, const Large& large) noexcept {
  if (reinterpret_cast<const PacketHead*>(large.head.data())->check != kind.check) return;  // another kind, as in `run`
  guarded(kind, [&] {
    if (!large.placed) {  // it was unexpected, so its body is in memory of the runtime
      Reader where = arguments_of(large.head);
      std::byte* const to = kind.place(where, large.body.size());
      if (to == nullptr && !large.body.empty()) throw UsageError("`place` has returned a null pointer");
      if (!large.body.empty()) std::memcpy(to, large.body.data(), large.body.size());
    }
    Reader what = arguments_of(large.head);
    kind.process(what);
  });
  count(&Share::processed);
}

void Messenger::reusable(void* token) {
  const std::unique_ptr<Large> large(static_cast<Large*>(token));
  if (large->queued != 0) queued_[static_cast<std::size_t>(large->to)] -= large->queued;
  if (large->piece != nullptr) transport_->shared_memory()->release(large->piece);
  if (large->kind == long_message) return;
  mark_busy();
  const DeclaredKind& kind = *kind_of(large->kind);
  guarded(kind, [&] {
    Reader arguments = arguments_of(large->head);
    kind.reusable(arguments);
  });
  count(&Share::processed);
}

void Messenger::drop(void* token) noexcept {
  const std::unique_ptr<Large> large(static_cast<Large*>(token));
  if (large->piece != nullptr) transport_->shared_memory()->release(large->piece);
}

void Messenger::persistent_done(const PersistentMessage::Plan& plan) {
  if (failed() || closing_) return;
  mark_busy();
  plan.on_done();
  count(&Share::processed);
}

void Messenger::take_from_self() {
  std::vector<std::vector<std::byte>> small;
  std::vector<std::pair<std::vector<std::byte>, std::span<const std::byte>>> larges;
  {
    const std::lock_guard lock(self_mutex_);
    small.swap(to_self_);
    larges.swap(large_to_self_);
    any_to_self_.store(false, std::memory_order_relaxed);
  }
  for (const auto& bytes : small) packet(rank(), bytes);
  for (const auto& [head, body] : larges) {
    if (failed()) return;
    const Place where = place(rank(), head, body.size());
    if (!body.empty()) std::memmove(where.to, body.data(), body.size());
    arrived(rank(), where.token);
    reusable(new Large{reinterpret_cast<const PacketHead*>(head.data())->kind, head, {}});
  }
}

// -- unexpected messages

void Messenger::keep_unexpected(Unexpected message) {
  if (kind_of(message.head.kind) == nullptr && begun_.load() > ended_.load() &&
      message.head.waits == static_cast<std::uint32_t>(ended_.load()))
    return fail_unknown(message);
  unexpected_.push_back(std::move(message));
}

/// The sender made this kind before the wait in which this rank is already, so this rank will not make it: ranks
/// differ.
void Messenger::fail_unknown(const Unexpected& message) noexcept {
  const auto& declared = declared_[message.head.kind];
  const auto found = declared.find(message.from);
  fail(("rank " + std::to_string(message.from) + " sends " +
        (found == declared.end() ? std::to_string(message.head.kind) : found->second) +
        ", an active message that this rank had not made when it began to wait")
           .c_str());
}

void Messenger::deliver_unexpected() {
  unexpected_ready_.exchange(false);  // before the loads of returned_ below: `end` stores returned_ and then this flag
  std::deque<Unexpected> all;
  all.swap(unexpected_);
  for (Unexpected& one : all) {
    const DeclaredKind* const kind = deliverable(one.head);
    if (kind == nullptr)
      unexpected_.push_back(std::move(one));
    else if (mark_busy(); one.large != nullptr)
      process(one.from, *kind, *one.large);
    else
      run(one.from, *kind, one.packet);
  }
}

// -- control messages

void Messenger::receive_control(int from, std::uint32_t kind, std::span<const std::byte> bytes) {
  const auto read = [&]<typename T>(T& what) {
    std::memcpy(&what, bytes.data(), sizeof what);
    bytes = bytes.subspan(sizeof what);
  };
  const auto words = [&] { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
  switch (kind) {
    case declare: {
      std::uint32_t number = 0;
      read(number);
      declared_[number][from] = words();
      return check_declared(number);
    }
    case termination: {
      TerminationMessage message{};
      read(message);
      {
        const std::lock_guard lock(termination_mutex_);
        control_received_.fetch_add(1, std::memory_order_release);
        termination_.receive(from, message, sends_termination());
        publish_end();
      }
      return notify_main_worker();
    }
    case failure: {
      int of = 0;
      read(of);
      return static_cast<void>(set_failed(of, words()));
    }
    case departure: {
      Departure left{};
      read(left);
      {
        const std::lock_guard lock(termination_mutex_);
        departures_[static_cast<std::size_t>(from)] = left;
        departed_.fetch_add(1);
        check_departures();
      }
      return notify_main_worker();  // all others may have departed: `alone`
    }
    case exchange_part: {
      ExchangeHead head{};
      read(head);
      Part part{words().substr(0, head.call), {bytes.begin() + static_cast<std::ptrdiff_t>(head.call), bytes.end()}};
      bool waits = false;
      {
        const std::lock_guard lock(termination_mutex_);
        waits = head.number >= exchanges_.load() && begun_.load() != ended_.load();
        early_exchange_ = {from, head, part.call};
        if (waits)
          control_received_.fetch_add(
              1, std::memory_order_release);  // so that `idle` runs again, and check_early_exchange
      }
      exchange_parts_[head.number][from] = std::move(part);
      if (waits) notify_main_worker();
      return;
    }
    default:
      fail(("rank " + std::to_string(from) + " sends a packet of kind " + std::to_string(kind) +
            "; is it of another version?")
               .c_str());
  }
}

}  // namespace taskgrain::rt::detail
