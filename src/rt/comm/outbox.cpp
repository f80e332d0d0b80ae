#include "outbox.hpp"

#include <algorithm>

#include "taskgrain/rt/detail/sleep.hpp"

namespace taskgrain::rt::detail {

Outbox::Outbox(Transport* transport, std::size_t most_queued, JoinedEngine& engine)
    : transport_(transport), rank_(transport == nullptr ? 0 : transport->rank()),
      ranks_(transport == nullptr ? 1 : transport->ranks()), most_queued_(std::max<std::size_t>(1, most_queued)),
      queued_(new std::atomic<std::size_t>[static_cast<std::size_t>(ranks_)]()), engine_(engine) {
  if (transport_ == nullptr) return;
  std::vector<std::atomic<std::size_t>*> by_rank;
  for (int other = 0; other < ranks_; ++other) by_rank.push_back(&queued_[static_cast<std::size_t>(other)]);
  transport_->count_queued_in(std::move(by_rank));
}

void Outbox::ring_own_doorbell() noexcept {
  if (std::atomic<std::uint32_t>* const own = doorbell())
    ring(*own);
  else
    engine_.notify_main_worker();
}

void Outbox::send(int to, std::span<const std::byte> packet) {
  if (to == rank_) {
    {
      const std::lock_guard lock(mutex_);
      to_self_.small.emplace_back(packet.begin(), packet.end());
      any_to_self_.store(true, std::memory_order_release);
    }
    return ring_own_doorbell();
  }
  if (packet.size() <= transport_->most_bytes()) [[likely]]
    return transport_->send(to, packet);
  auto large = std::make_unique<Large>(Control::long_message, std::vector<std::byte>(),
                                       std::vector<std::byte>(packet.begin(), packet.end()));
  const std::span<const std::byte> body = large->body;
  send_long(to, std::move(large), body);
}

void Outbox::send_in_place(int to, Writer& message) {
  auto large = std::make_unique<Large>(Control::long_message, std::vector<std::byte>(), std::vector<std::byte>());
  const auto body = message.give_away();
  large->piece = body.data();
  send_long(to, std::move(large), body);
}

void Outbox::send_long(int to, std::unique_ptr<Large> large, std::span<const std::byte> body) {
  large->to = to;
  large->queued = sizeof *large + body.size();
  queued_[static_cast<std::size_t>(to)] += large->queued;
  const PacketHead head{Control::long_message};
  transport_->send_large(to, std::as_bytes(std::span(&head, 1)), body, large.get());
  static_cast<void>(large.release());  // the transport owns it until `reusable`
}

void Outbox::release(const Large& large) noexcept {
  if (large.queued != 0) queued_[static_cast<std::size_t>(large.to)] -= large.queued;
  if (large.piece != nullptr) transport_->shared_memory()->release(large.piece);
}

void Outbox::send_control(int to, Control::Kind kind, std::span<const std::byte> what, std::string_view words) {
  Writer packet;
  const PacketHead head{kind};
  packet.write(&head, sizeof head);
  packet.write(what.data(), what.size());
  packet.write(words.data(), words.size());
  send(to, packet.bytes());
}

void Outbox::send_large_to_self(std::span<const std::byte> head, std::span<const std::byte> body) {
  const std::lock_guard lock(mutex_);
  to_self_.large.emplace_back(std::vector<std::byte>(head.begin(), head.end()), body);
  any_to_self_.store(true, std::memory_order_release);
}

Outbox::ToSelf Outbox::take_from_self() {
  const std::lock_guard lock(mutex_);
  any_to_self_.store(false, std::memory_order_relaxed);
  return std::exchange(to_self_, {});
}

}  // namespace taskgrain::rt::detail
