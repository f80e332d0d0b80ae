#include "messenger.hpp"

#include <cstdio>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backoff.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/detail/trace.hpp"
#include "taskgrain/rt/detail/worker.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

namespace {

/// The lane in which the worker of this thread records its tasks. Its work for other ranks is no part of the task that
/// runs.
TraceLane* traced_here() noexcept {
  const Worker* const here = Worker::current();
  return here == nullptr ? nullptr : here->trace();
}

}  // namespace

Messenger::Messenger(std::unique_ptr<Transport> transport, const CommunicatorOptions& options,
                     std::shared_ptr<void> kept)
    : keep_alive_(std::move(kept)), transport_(std::move(transport)),
      shared_memory_(transport_ == nullptr ? nullptr : transport_->shared_memory()),
      engine_(transport_.get(), options.progress_thread), outbox_(transport_.get(), options.queue_bytes, engine_) {
  try {
    if (transport_ != nullptr) transport_->watch(delivery_);
    if (options.progress_thread) progress_.start_thread();
  } catch (const std::exception& error) {  // such as no more threads
    if (transport_ != nullptr) {
      transport_->announce_failure(message_of(error));  // ranks that have made their communicator wait for this one
      transport_->leave();
    }
    throw;
  }
}

Messenger::~Messenger() {
  if (in_use()) {
    std::fputs("taskgrain: a Communicator ends before the Runtime that uses it; declare it before\n", stderr);
    std::terminate();
  }
  progress_.stop_thread();
  if (transport_ == nullptr) return;
  delivery_.close();
  if (std::uncaught_exceptions() > exceptions_ && !failure_.exists())
    failure_.fail("an exception has ended its communicator");
  try {
    if (failure_.exists()) failure_.tell_all();  // instead of a departure: the others fail, too
    for (int other = 0; other < ranks() && !failure_.exists(); ++other) {
      if (other == rank()) continue;
      const Departure left{waits_.ended(), waits_.exchanges(), transport_->persistent_counts(other)};
      outbox_.send_control(other, Control::departure, std::as_bytes(std::span(&left, 1)));
    }
    const PollingLock::Guard guard(progress_.lock(), PollingLock::Wait::yes);
    while (!transport_->flush(delivery_) && !failure_.exists())
      std::this_thread::yield();     // a rank that ends meanwhile fails this one, so the loop ends
  } catch (const std::exception&) {  // no memory: the others notice the end of the process
  }
  transport_->leave();
}

const MessageKind& Messenger::add(MessageKind kind) {
  const PollingLock::Guard guard(progress_.lock(), PollingLock::Wait::yes);
  return delivery_.add(std::move(kind));
}

void Messenger::progress() {
  progress_.open();
  if ((progress_.anything() || progress_.only_polls_show()) && progress_.may_poll()) {
    const TraceLane::Away away(traced_here());
    progress_.poll();
  }
  if (failure_.exists()) failure_.raise();
}

void Messenger::wait_until(const std::function<bool()>& done) {
  if (progress_.runs_here()) throw UsageError("the function of a message cannot wait for other ranks");
  progress_.open();
  progress_.check_may_wait();
  const TraceLane::Away away(traced_here());
  progress_.poll_until(done);
}

// -- sending

void Messenger::send(int to, const MessageKind& kind, Writer& message) {
  check_sends(to, kind);
  const auto& known = static_cast<const DeclaredKind&>(kind);
  const auto bytes = message.bytes();
  stamp_waits(message);
  if (to != rank() && !known.declared_to[static_cast<std::size_t>(to)].load(std::memory_order_relaxed)) [[unlikely]]
    declare_to(to, known);
  engine_.count_queued();
  send_counted(
      [&] { message.is_shared() && to != rank() ? outbox_.send_in_place(to, message) : outbox_.send(to, bytes); });
}

/// \throws UsageError, RankFailed
void Messenger::check_sends(int to, const MessageKind& kind) {
  if (to < 0 || to >= ranks())
    throw UsageError("an active message to rank " + std::to_string(to) + ", allowed are 0 to " +
                     std::to_string(ranks() - 1));
  if (failure_.exists()) [[unlikely]]
    failure_.raise();
  if (outbox_.is_full(to) && kind.may_wait) [[unlikely]]
    wait_for_room(to);
}

/// Back-pressure: waits until fewer bytes are queued for the rank than there may be, or it has departed. The thread
/// polls meanwhile, so two ranks that wait here for each other both go on. The waiting message is not counted as queued
/// yet, but the task that sends it still runs, so termination is not detected too early.
void Messenger::wait_for_room(int to) {
  if (!progress_.may_wait_for_room()) return;
  const TraceLane::Away away(traced_here());
  for (Backoff backoff(64, 4096); outbox_.is_full(to) && !waits_.has_departed(to); backoff.wait()) {
    if (failure_.exists()) failure_.raise();
    if (progress_.may_poll()) progress_.poll();
  }
}

/// Writes the number of ended waits into the head. The const_cast is allowed, because the Writer owns these bytes.
void Messenger::stamp_waits(Writer& message) const noexcept {
  auto* const head = reinterpret_cast<PacketHead*>(const_cast<std::byte*>(message.bytes().data()));
  head->waits = static_cast<std::uint32_t>(waits_.ended());
}

void Messenger::declare_to(int rank, const DeclaredKind& kind) {
  if (kind.declared_to[static_cast<std::size_t>(rank)].exchange(true, std::memory_order_relaxed)) return;
  outbox_.send_control(rank, Control::declare, std::as_bytes(std::span(&kind.number, 1)), MessageKinds::text(kind));
}

/// Calls `send` for a message that was counted as queued. If `send` throws, no rank will count it as processed, so the
/// run fails: it would not terminate.
template <typename Send>
void Messenger::send_counted(const Send& send) {
  try {
    send();
  } catch (const std::exception& error) {
    failure_.fail(message_of(error));
    throw;
  }
}

void Messenger::send_large(int to, const MessageKind& kind, Writer& head, std::span<const std::byte> body) {
  check_sends(to, kind);
  stamp_waits(head);
  const auto bytes = head.bytes();
  if (to == rank()) {
    engine_.count_queued(2);
    send_counted([&] { outbox_.send_large_to_self(bytes, body); });
    return outbox_.ring_own_doorbell();
  }
  if (bytes.size() > transport_->most_bytes())
    throw UsageError(MessageKinds::text(kind) + ": the arguments beside the body take " + std::to_string(bytes.size()) +
                     " bytes, allowed are up to " + std::to_string(transport_->most_bytes()));
  declare_to(to, static_cast<const DeclaredKind&>(kind));
  auto large = std::make_unique<Large>(kind.number, std::vector<std::byte>(bytes.begin(), bytes.end()),
                                       std::vector<std::byte>());
  engine_.count_queued(2);
  const std::span<const std::byte> kept = large->head;
  send_counted([&] { transport_->send_large(to, kept, body, large.get()); });
  static_cast<void>(large.release());
}

/// Each message counts as two, as a large one does: `on_done` on the receiver, and `on_done` on the sender.
void Messenger::allow(PersistentMessage& message, std::int64_t messages) noexcept {
  if (messages <= message.allowed()) return;
  if (message.sends()) engine_.count_queued(2 * static_cast<std::uint64_t>(messages - message.allowed()));
  message.allow(messages);
}

// -- exchanges

Messages::Gathered Messenger::exchange(const Gathered& to_each, std::string_view call) {
  if (engine_.here() != nullptr || progress_.runs_here())
    throw UsageError("a task, or the function of a message, cannot wait for all ranks");
  if (failure_.exists()) failure_.raise();
  progress_.open();
  progress_.check_may_wait();
  const auto bytes_to = [&](int other) -> const auto& {
    return to_each[to_each.size() == 1 ? 0 : static_cast<std::size_t>(other)];
  };
  const std::uint64_t number = waits_.begin_exchange();
  const ExchangeHead head{number, waits_.begun(), call.size()};
  Writer beginning;
  beginning.write(&head, sizeof head);
  beginning.write(call.data(), call.size());
  for (int other = 0; other < ranks(); ++other) {
    const auto& bytes = bytes_to(other);
    if (other != rank())
      outbox_.send_control(other, Control::exchange_part, beginning.bytes(),
                           {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  Gathered gathered(static_cast<std::size_t>(ranks()));
  gathered[static_cast<std::size_t>(rank())] = bytes_to(rank());
  std::string unlike;
  progress_.poll_until([&] {
    const PollingLock::Guard guard(progress_.lock(), PollingLock::Wait::no);
    if (!guard) return false;
    const auto found = delivery_.exchange_parts().try_emplace(number).first;
    waits_.check_departures(number, call, found->second);
    if (found->second.size() + 1 < static_cast<std::size_t>(ranks())) return false;
    for (auto& [from, part] : found->second) {
      if (part.call != call) unlike = "rank " + std::to_string(from) + " calls " + MessageKinds::readable(part.call);
      gathered[static_cast<std::size_t>(from)] = std::move(part.bytes);
    }
    delivery_.exchange_parts().erase(found);
    return true;
  });
  progress_.send_all();
  if (!unlike.empty())
    throw AgreedError(unlike + " where this rank calls " + MessageKinds::readable(std::string(call)) +
                      "; all ranks make the same calls in the same order");
  return gathered;
}

}  // namespace taskgrain::rt::detail
