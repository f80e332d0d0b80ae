/// The messenger: declaring kinds of messages, sending, and counting what was sent.

#include <cxxabi.h>

#include <chrono>
#include <cstdlib>
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

// -- kinds

namespace {

/// FNV-1a, because std::hash may differ between ranks that other compilers have built.
std::uint32_t hash_of(std::string_view text) noexcept {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x01000193u;
  return hash;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                        std::free);
  return status == 0 ? readable.get() : name;
}

}  // namespace

std::string Messenger::text(const MessageKind& kind) {
  return kind.name + " " + std::to_string(kind.number) + " " + demangled(kind.signature);
}

std::string Messenger::readable(const std::string& call) {
  const std::size_t of = call.find(" of ");
  return of == std::string::npos ? call : call.substr(0, of + 4) + demangled(call.substr(of + 4));
}

const MessageKind& Messenger::add(MessageKind kind) {
  const PollGuard guard(*this, PollGuard::Wait::yes);
  kind.number = static_cast<std::uint32_t>(kinds_.size());
  kind.check = hash_of(text(kind));
  kinds_.emplace_back(std::move(kind), ranks());
  check_declared(kinds_.back().number);
  for (const Unexpected& message : unexpected_)
    if (message.head.kind == kinds_.back().number) unexpected_ready_.store(true);
  if (unexpected_ready_.load()) ring_own_doorbell();
  return kinds_.back();
}

/// Compares the declarations of other ranks with the kind that this rank has made under that number.
void Messenger::check_declared(std::uint32_t number) {
  const auto found = declared_.find(number);
  const DeclaredKind* const kind = kind_of(number);
  if (kind == nullptr || found == declared_.end()) return;
  for (const auto& [from, theirs] : found->second)
    if (theirs != text(*kind))
      fail(("rank " + std::to_string(from) + " has made " + theirs + " where this rank has made " + text(*kind) +
            "; all ranks make the same active messages in the same order")
               .c_str());
  declared_.erase(found);
}

void Messenger::declare_to(int rank, const DeclaredKind& kind) {
  if (kind.declared_to[static_cast<std::size_t>(rank)].exchange(true, std::memory_order_relaxed)) return;
  send_control(rank, declare, std::as_bytes(std::span(&kind.number, 1)), text(kind));
}

// -- sending

Worker* Messenger::here() const noexcept {
  Worker* const worker = Worker::current();
  return worker != nullptr && &worker->engine() == engine_.load(std::memory_order_relaxed) ? worker : nullptr;
}

void Messenger::count(std::atomic<std::uint64_t> Share::* which, std::uint64_t number) noexcept {
  if (const Worker* const worker = here()) {
    auto& counter = shares_[static_cast<std::size_t>(worker->index())].*which;
    counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_release);
  } else {
    (outside_.*which).fetch_add(number, std::memory_order_acq_rel);
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
  stamp_waits(message);
  if (to != rank() && !known.declared_to[static_cast<std::size_t>(to)].load(std::memory_order_relaxed)) [[unlikely]]
    declare_to(to, known);
  count(&Share::queued);
  send_counted([&] { message.is_shared() && to != rank() ? send_in_place(to, message) : send_packet(to, bytes); });
}

/// Back-pressure: waits until fewer than most_queued_ bytes are queued for the rank, or it has departed. The thread
/// polls meanwhile, so two ranks that wait here for each other both go on. The waiting message is not counted as queued
/// yet, but the task that sends it still runs, so termination is not detected too early.
///
/// It returns at once where waiting could deadlock: in the function of a message, which holds the polling lock; before
/// this rank has begun to poll (`open`), because the other rank may be in the same state; and in a thread of the
/// program that may not poll, because the thread that may poll could wait for this one.
void Messenger::wait_for_room(int to) {
  if (polls_here() || !open_.load(std::memory_order_acquire)) return;
  if (!has_progress_thread_ && here() == nullptr && !may_poll()) return;
  const auto has_left = [&] {
    if (departed_.load() == 0) return false;
    const std::lock_guard lock(termination_mutex_);
    return departures_[static_cast<std::size_t>(to)].has_value();
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

/// Writes the number of ended waits into the head. The const_cast is allowed, because the Writer owns these bytes.
void Messenger::stamp_waits(Writer& message) const noexcept {
  auto* const head = reinterpret_cast<PacketHead*>(const_cast<std::byte*>(message.bytes().data()));
  head->waits = static_cast<std::uint32_t>(ended_.load(std::memory_order_relaxed));
}

/// Calls `send` for a message that was counted as queued. If `send` throws, no rank will count it as processed, so the
/// run fails: it would not terminate.
template <typename Send>
void Messenger::send_counted(const Send& send) {
  try {
    send();
  } catch (const std::exception& error) {
    fail(message_of(error));
    throw;
  }
}

/// Sends a message that was written into the arena: the receiver reads it there, without a copy.
void Messenger::send_in_place(int to, Writer& message) {
  auto large = std::make_unique<Large>(long_message, std::vector<std::byte>(), std::vector<std::byte>());
  const auto body = message.give_away();
  large->piece = body.data();
  send_long(to, std::move(large), body);
}

/// Sends a large packet whose body is a packet, in memory of the runtime.
void Messenger::send_long(int to, std::unique_ptr<Large> large, std::span<const std::byte> body) {
  large->to = to;
  large->queued = sizeof *large + body.size();
  queued_[static_cast<std::size_t>(to)] += large->queued;
  const PacketHead head{long_message};
  transport_->send_large(to, std::as_bytes(std::span(&head, 1)), body, large.get());
  static_cast<void>(large.release());  // the transport owns it until `reusable`
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
  stamp_waits(head);
  const auto bytes = head.bytes();
  if (to == rank()) {
    count(&Share::queued, 2);
    send_counted([&] {
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
  send_counted([&] { transport_->send_large(to, kept, body, large.get()); });
  static_cast<void>(large.release());
}

/// Each message counts as two, as a large one does: `on_done` on the receiver, and `on_done` on the sender.
void Messenger::allow(PersistentMessage& message, std::int64_t messages) noexcept {
  if (messages <= message.allowed()) return;
  if (message.sends()) count(&Share::queued, 2 * static_cast<std::uint64_t>(messages - message.allowed()));
  message.allow(messages);
}

void Messenger::send_control(int to, ControlKind kind, std::span<const std::byte> what, std::string_view words) {
  Writer packet;
  const PacketHead head{kind};
  packet.write(&head, sizeof head);
  packet.write(what.data(), what.size());
  packet.write(words.data(), words.size());
  send_packet(to, packet.bytes());
}

}  // namespace taskgrain::rt::detail
