#pragma once

/// The messenger of a rank: active messages over a transport, and exchanges between all ranks.
///
/// Any thread sends. What a rank is made of, each upon those before it:
///   JoinedEngine  the workers, and how many messages they have counted
///   Outbox        packets that this rank sends, and the bytes that wait
///   RankFailure   the first failure, which all ranks hear of
///   Waits         where this rank is among the waits for all ranks
///   Delivery      what comes, and the functions of messages
///   Progress      who polls

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "delivery.hpp"
#include "joined_engine.hpp"
#include "outbox.hpp"
#include "progress.hpp"
#include "rank_failure.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/messages.hpp"
#include "transport.hpp"
#include "waits.hpp"

namespace taskgrain::rt::detail {

/// The transport that the options or the environment choose: auto, shared, mpi or alone. \throws UsageError
std::string chosen_transport(const CommunicatorOptions& options);

class Messenger final : public Messages {
 public:
  /// \param transport  null: this process is alone
  /// \param kept       destroyed after the transport, which needs it
  Messenger(std::unique_ptr<Transport> transport, const CommunicatorOptions& options,
            std::shared_ptr<void> kept = nullptr);
  ~Messenger() override;

  /// The process of a rank has ended, or its connection has failed. Any thread calls it.
  void lost(int rank, const std::string& why) noexcept { failure_.lost(rank, why); }
  /// Bytes of messages to another rank that wait in the memory of this one (a relaxed load, so it may be old).
  std::size_t queued_bytes(int to) const noexcept { return outbox_.queued_bytes(to); }

  int rank() const noexcept override { return outbox_.rank(); }
  int ranks() const noexcept override { return outbox_.ranks(); }
  const char* transport_name() const noexcept override { return transport_ == nullptr ? "alone" : transport_->name(); }
  ProgressEngine& progress_engine() noexcept override { return progress_; }
  const MessageKind& add(MessageKind kind) override;
  void send(int rank, const MessageKind& kind, Writer& message) override;
  void send_large(int rank, const MessageKind& kind, Writer& head, std::span<const std::byte> body) override;
  SharedMemory* shared_memory() noexcept override { return shared_memory_; }
  bool in_use() const noexcept override { return engine_.exists(); }
  void progress() override;
  void wait_until(const std::function<bool()>& done) override;
  void check_may_wait() const override { progress_.check_may_wait(); }
  void fail_for(int rank, const std::string& what) noexcept override { failure_.fail_for(rank, what); }
  Gathered exchange(const Gathered& to_each, std::string_view call) override;
  int persistent_tags(int count) override { return transport_ == nullptr ? 0 : transport_->persistent_tags(count); }
  std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) override {
    return transport_->persistent(std::move(plan));
  }
  void allow(PersistentMessage& message, std::int64_t messages) noexcept override;
  void start_persistent() noexcept override { transport_->start_persistent(); }

 private:
  void check_sends(int to, const MessageKind& kind);
  void wait_for_room(int to);
  void stamp_waits(Writer& message) const noexcept;
  void declare_to(int rank, const DeclaredKind& kind);
  template <typename Send>
  void send_counted(const Send& send);

  const std::shared_ptr<void> keep_alive_;
  const std::unique_ptr<Transport> transport_;
  SharedMemory* const shared_memory_;  // null if there is none
  JoinedEngine engine_;
  Outbox outbox_;
  RankFailure failure_{outbox_, engine_};
  Waits waits_{outbox_, failure_};
  Delivery delivery_{outbox_, engine_, failure_, waits_};
  Progress progress_{outbox_, engine_, failure_, waits_, delivery_};
  const int exceptions_ = std::uncaught_exceptions();  // at construction: more in the destructor mean that one ends it
};

}  // namespace taskgrain::rt::detail
