#pragma once

/// The packets that this rank sends, by the transport or to itself.
///
///   queued_[r] = bytes to rank r that wait in memory of this rank; changed by any thread and the transport
///   any_to_self_  ⇔  to_self_ or large_to_self_ has elements; written under the mutex

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "joined_engine.hpp"
#include "packets.hpp"
#include "taskgrain/rt/serialize.hpp"
#include "transport.hpp"

namespace taskgrain::rt::detail {

/// The functions may be called from any thread.
class Outbox {
 public:
  /// The messages that this rank has sent itself.
  struct ToSelf {
    std::vector<std::vector<std::byte>> small;
    std::vector<std::pair<std::vector<std::byte>, std::span<const std::byte>>> large;  // heads and bodies
  };

  /// \param transport    null: this process is alone
  /// \param most_queued  bytes to one rank (CommunicatorOptions::queue_bytes)
  Outbox(Transport* transport, std::size_t most_queued, JoinedEngine& engine);

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  Transport* transport() const noexcept { return transport_; }
  /// Rung when something comes. Null if there is none.
  std::atomic<std::uint32_t>* doorbell() noexcept {
    return transport_ == nullptr ? &own_doorbell_ : transport_->doorbell();
  }
  void ring_own_doorbell() noexcept;

  /// Sends a copy.
  void send(int to, std::span<const std::byte> packet);
  /// Sends a message that was written into the arena: the receiver reads it there, without a copy.
  void send_in_place(int to, Writer& message);
  void send_control(int to, Control::Kind kind, std::span<const std::byte> what, std::string_view text = {});
  void send_large_to_self(std::span<const std::byte> head, std::span<const std::byte> body);
  /// The receiver has read it.
  void release(const Large& large) noexcept;

  bool any_to_self() const noexcept { return any_to_self_.load(std::memory_order_relaxed); }
  ToSelf take_from_self();

  /// A relaxed load, so it may be old.
  std::size_t queued_bytes(int to) const noexcept {
    return queued_[static_cast<std::size_t>(to)].load(std::memory_order_relaxed);
  }
  /// True if more bytes wait for the rank than there may.
  bool is_full(int to) const noexcept { return queued_bytes(to) >= most_queued_; }

 private:
  /// Sends a large packet whose body is a packet, in memory of the runtime.
  void send_long(int to, std::unique_ptr<Large> large, std::span<const std::byte> body);

  Transport* const transport_;
  const int rank_, ranks_;
  const std::size_t most_queued_;
  const std::unique_ptr<std::atomic<std::size_t>[]> queued_;
  JoinedEngine& engine_;
  std::mutex mutex_;  // protects the next
  ToSelf to_self_;
  std::atomic<bool> any_to_self_{false};
  std::atomic<std::uint32_t> own_doorbell_{0};  // if there is no transport
};

}  // namespace taskgrain::rt::detail
