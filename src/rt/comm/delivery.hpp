#pragma once

/// Receives from other ranks, and from this one itself, and runs the functions of messages.
///
/// A message is unexpected (as in MPI) while this rank has not made its kind yet, or has not returned from a wait that
/// its sender has behind it. Each message runs once, as soon as it is not unexpected any more, unless a rank has
/// failed.
///   unexpected_ready_ = some of unexpected_ may have become deliverable
/// A message for which this rank would never make the kind fails it: it was sent before the wait in which this rank is.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "message_kinds.hpp"
#include "packets.hpp"
#include "transport.hpp"
#include "waits.hpp"

namespace taskgrain::rt::detail {

/// The functions are called under the polling lock, but for `lost` and those that say otherwise.
class Delivery final : public Transport::Receiver {
 public:
  Delivery(Outbox& outbox, JoinedEngine& engine, RankFailure& failure, Waits& waits) noexcept
      : outbox_(outbox), engine_(engine), failure_(failure), waits_(waits), kinds_(outbox.ranks()) {}

  const DeclaredKind& add(MessageKind&& kind);
  void take_from_self();
  /// True if `deliver_unexpected` has something to do. Any thread calls it.
  bool unexpected_ready() const noexcept { return unexpected_ready_.load(std::memory_order_relaxed); }
  void deliver_unexpected();
  /// This rank has returned from a wait. From any thread.
  void expect_more() noexcept { unexpected_ready_.store(true); }
  /// A wait begins: fails if a message is there that this rank would never make.
  void check_unexpected() noexcept;
  /// The parts of an exchange that have come.
  std::map<std::uint64_t, ExchangeParts>& exchange_parts() noexcept { return exchange_parts_; }
  /// The communicator ends: no function of the user is called any more. \pre no thread polls
  void close() noexcept { closing_ = true; }

  // -- Transport::Receiver
  void packet(int from, std::span<const std::byte> bytes) override;
  Place place(int from, std::span<const std::byte> head, std::size_t bytes) override;
  bool take_in_place(int from, std::span<const std::byte> head, std::span<const std::byte> body) override;
  void arrived(int from, void* token) override;
  void reusable(void* token) override;
  void drop(void* token) noexcept override;
  void persistent_done(const PersistentMessage::Plan& plan) override;
  void lost(int rank, const std::string& why) noexcept override { failure_.lost(rank, why); }

 private:
  struct Unexpected {
    int from;
    PacketHead head;
    std::vector<std::byte> packet;
    std::unique_ptr<Large> large;
  };

  void receive_control(int from, std::uint32_t kind, std::span<const std::byte> bytes);
  /// The kind of a packet; null while it is unexpected.
  const DeclaredKind* deliverable(const PacketHead& head) noexcept;
  void keep_unexpected(Unexpected message);
  void fail_unknown(const Unexpected& message) noexcept;
  void run(int from, const DeclaredKind& kind, std::span<const std::byte> packet) noexcept;
  void process(const DeclaredKind& kind, const Large& large) noexcept;
  /// Calls a function of the user. An exception of it fails all ranks.
  template <typename Function>
  void guarded(const DeclaredKind& kind, const Function& function) noexcept;
  void check_declared(std::uint32_t number);

  Outbox& outbox_;
  JoinedEngine& engine_;
  RankFailure& failure_;
  Waits& waits_;
  MessageKinds kinds_;
  std::deque<Unexpected> unexpected_;
  // Set after a message may have become deliverable: by `add` when it has made a kind, and by `expect_more`, in any
  // thread, when a wait has returned. `deliver_unexpected` clears it before it looks, so a later change sets it again.
  std::atomic<bool> unexpected_ready_{false};
  std::map<std::uint64_t, ExchangeParts> exchange_parts_;  // received, by number of the exchange
  bool closing_ = false;  // set by `close`, when no thread polls; read under the polling lock
};

}  // namespace taskgrain::rt::detail
