/// What a rank sends, and how it counts it.

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "messenger.hpp"
#include "taskgrain/rt/detail/engine.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

Worker* Messenger::here() const noexcept {
  Worker* const worker = Worker::current();
  return worker != nullptr && &worker->engine() == engine_.load(std::memory_order_relaxed) ? worker : nullptr;
}

void Messenger::count(std::atomic<std::uint64_t> Share::* which, std::uint64_t number) noexcept {
  if (const Worker* const worker = here()) {
    auto& counter = shares_[static_cast<std::size_t>(worker->index())].*which;
    counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_release);
  } else {
    (others_.*which).fetch_add(number, std::memory_order_acq_rel);
  }
}

void Messenger::check_rank(int rank) const {
  if (rank < 0 || rank >= ranks())
    throw UsageError("an active message to rank " + std::to_string(rank) + ", allowed are 0 to " +
                     std::to_string(ranks() - 1));
}

void Messenger::send(int to, const MessageKind& kind, Writer& message) {
  check_rank(to);
  if (failed()) [[unlikely]]
    raise();
  const auto& known = static_cast<const DeclaredKind&>(kind);
  const auto bytes = message.bytes();
  if (is_full(to) && known.may_wait) [[unlikely]]
    wait_for_room(to);
  note_waits(message);
  if (to != rank() && !known.declared_to[static_cast<std::size_t>(to)].load(std::memory_order_relaxed)) [[unlikely]]
    declare_to(to, known);
  count(&Share::queued);
  counted([&] { message.is_shared() && to != rank() ? send_in_place(to, message) : send_packet(to, bytes); });
}

/// Returns when the rank has taken some, or does not any more. This thread handles what comes meanwhile: two ranks that
/// send to each other both wait here, and each goes on because the other takes its messages. Nothing has been counted
/// for the message that waits, but the task that sends it still runs, so its rank is not idle.
///
/// It does not wait where nothing would go on: in the function of a message, because no other thread of the rank may
/// take messages then; before the rank takes any, because the others may be there, too; and in a thread of the program
/// that may not poll, because the one that may could wait for that thread.
void Messenger::wait_for_room(int to) {
  if (polls_here() || !open_.load(std::memory_order_acquire)) return;
  if (!has_progress_thread_ && here() == nullptr && !may_poll()) return;
  const auto has_left = [&] {
    if (number_left_.load() == 0) return false;
    const std::lock_guard lock(termination_mutex_);
    return left_[static_cast<std::size_t>(to)].has_value();
  };
  for (int spins = 0; is_full(to) && !has_left(); ++spins) {
    if (failed()) raise();
    if (may_poll()) poll();
    if (spins < 64)
      pause();
    else if (spins < 4096)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// The head is this call's own: the writer has just begun with it.
void Messenger::note_waits(Writer& message) const noexcept {
  auto* const head = reinterpret_cast<PacketHead*>(const_cast<std::byte*>(message.bytes().data()));
  head->waits = static_cast<std::uint32_t>(ended_.load(std::memory_order_relaxed));
}

/// Sends what has been counted as queued. If there is no memory for it, nobody will count it as processed.
template <typename Send>
void Messenger::counted(const Send& send) {
  try {
    send();
  } catch (const std::exception& error) {
    fail(message_of(error));
    throw;
  }
}

/// The receiver reads it where it is.
void Messenger::send_in_place(int to, Writer& message) {
  auto large = std::make_unique<Large>(long_message, std::vector<std::byte>(), std::vector<std::byte>());
  const auto body = message.give_away();
  large->piece = body.data();
  send_long(to, std::move(large), body);
}

/// A large packet whose body is a packet, in memory of the runtime.
void Messenger::send_long(int to, std::unique_ptr<Large> large, std::span<const std::byte> body) {
  large->to = to;
  large->queued = sizeof *large + body.size();
  queued_[static_cast<std::size_t>(to)] += large->queued;
  const PacketHead head{long_message};
  transport_->send_large(to, std::as_bytes(std::span(&head, 1)), body, large.get());
  static_cast<void>(large.release());  // the transport's, until it says `reusable`
}

void Messenger::send_packet(int to, std::span<const std::byte> packet) {
  if (to == rank()) {
    {
      const std::lock_guard lock(self_mutex_);
      to_self_.emplace_back(packet.begin(), packet.end());
      any_to_self_.store(true, std::memory_order_release);
    }
    return ring_own_doorbell();
  }
  if (packet.size() <= transport_->most_bytes()) [[likely]]
    return transport_->send(to, packet);
  auto large = std::make_unique<Large>(long_message, std::vector<std::byte>(),
                                       std::vector<std::byte>(packet.begin(), packet.end()));
  const std::span<const std::byte> body = large->body;
  send_long(to, std::move(large), body);
}

void Messenger::send_large(int to, const MessageKind& kind, Writer& head, std::span<const std::byte> body) {
  check_rank(to);
  if (failed()) raise();
  if (is_full(to) && kind.may_wait) wait_for_room(to);
  note_waits(head);
  const auto bytes = head.bytes();
  if (to == rank()) {
    count(&Share::queued, 2);
    counted([&] {
      const std::lock_guard lock(self_mutex_);
      large_to_self_.emplace_back(std::vector<std::byte>(bytes.begin(), bytes.end()), body);
      any_to_self_.store(true, std::memory_order_release);
    });
    return ring_own_doorbell();
  }
  if (bytes.size() > transport_->most_bytes())
    throw UsageError(text(kind) + ": the arguments beside the body take " + std::to_string(bytes.size()) +
                     " bytes, allowed are up to " + std::to_string(transport_->most_bytes()));
  declare_to(to, static_cast<const DeclaredKind&>(kind));
  auto large = std::make_unique<Large>(kind.number, std::vector<std::byte>(bytes.begin(), bytes.end()),
                                       std::vector<std::byte>());
  count(&Share::queued, 2);
  const std::span<const std::byte> kept = large->head;
  counted([&] { transport_->send_large(to, kept, body, large.get()); });
  static_cast<void>(large.release());
}

/// Each counts twice, as a large one: for `on_done` on the receiver and on the sender, where somebody may wait for it.
void Messenger::allow(PersistentMessage& message, std::int64_t messages) noexcept {
  if (messages <= message.allowed()) return;
  if (message.sends()) count(&Share::queued, 2 * static_cast<std::uint64_t>(messages - message.allowed()));
  message.allow(messages);
}

void Messenger::send_own(int to, Own kind, std::span<const std::byte> what, std::string_view words) {
  Writer packet;
  const PacketHead head{kind};
  packet.write(&head, sizeof head);
  packet.write(what.data(), what.size());
  packet.write(words.data(), words.size());
  send_packet(to, packet.bytes());
}

}  // namespace taskgrain::rt::detail
