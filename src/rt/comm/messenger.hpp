#pragma once

/// The messenger: active messages over a transport, termination detection, and failures.
///
/// A rank counts a message as queued before the transport gets it, and as processed after its function has returned. So
/// Σ queued − Σ processed over all ranks is the number of messages in flight or running; TerminationDetection looks for
/// 0. A large message counts as two: its function `process` on the receiver, and `reusable` on the sender. So does a
/// persistent one: `on_done` on both.
///
/// Threads: any thread sends. One thread at a time polls, under PollGuard, and runs the functions of messages.
/// messenger.cpp polls and delivers, messenger_send.cpp declares kinds and sends, messenger_waits.cpp has the waits for
/// all ranks, and failures.

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/messages.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/sleep.hpp"
#include "termination_detection.hpp"
#include "transport.hpp"

namespace taskgrain::rt::detail {

class Worker;

/// The transport that the options or the environment choose: auto, shared, mpi or alone. \throws UsageError
std::string chosen_transport(const CommunicatorOptions& options);

class Messenger final : public Messages, public ProgressEngine, private Transport::Receiver {
 public:
  /// \param transport  null: this process is alone
  /// \param kept       destroyed after the transport, which needs it
  Messenger(std::unique_ptr<Transport> transport, const CommunicatorOptions& options,
            std::shared_ptr<void> kept = nullptr);
  ~Messenger() override;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// From any thread: the process of a rank has ended, or its connection has failed.
  void lost(int rank, const std::string& why) noexcept override;

  /// Bytes of messages to another rank that wait in the memory of this one (a relaxed load, so it may be old).
  std::size_t queued_bytes(int to) const noexcept {
    return queued_[static_cast<std::size_t>(to)].load(std::memory_order_relaxed);
  }

  // -- Messages
  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  const char* transport_name() const noexcept override { return transport_ == nullptr ? "alone" : transport_->name(); }
  const MessageKind& add(MessageKind kind) override;
  void send(int rank, const MessageKind& kind, Writer& message) override;
  void send_large(int rank, const MessageKind& kind, Writer& head, std::span<const std::byte> body) override;
  SharedMemory* shared_memory() noexcept override { return shared_memory_; }
  bool in_use() const noexcept override { return engine_.load() != nullptr; }
  void progress() override;
  Gathered exchange(const Gathered& to_each, std::string_view call) override;
  int persistent_tags(int count) override { return transport_ == nullptr ? 0 : transport_->persistent_tags(count); }
  std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) override {
    return transport_->persistent(std::move(plan));
  }
  void allow(PersistentMessage& message, std::int64_t messages) noexcept override;
  void start_persistent() noexcept override { transport_->start_persistent(); }

  // -- ProgressEngine
  ProgressEngine& progress_engine() noexcept override { return *this; }
  bool anything() const noexcept override;
  bool only_polls_show() const noexcept override { return transport_ != nullptr && transport_->doorbell() == nullptr; }
  void poll() noexcept override;
  bool may_poll() const noexcept override;
  std::atomic<std::uint32_t>* doorbell() noexcept override {
    return transport_ == nullptr ? &own_doorbell_ : transport_->doorbell();
  }
  bool oversubscribed() const noexcept override { return transport_ != nullptr && transport_->oversubscribed(); }
  void open() noexcept override;
  bool runs_here() const noexcept override { return polls_here(); }
  void settle() noexcept override;
  bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  [[noreturn]] void raise() override;
  bool failed_here() const noexcept override;
  void fail(const char* what) noexcept override;
  void fail_for(int rank, const std::string& what) noexcept override;
  void join(Engine& engine) override;
  void leave() noexcept override;
  void begin() override;
  void end() noexcept override;
  Counts counts() const noexcept override;
  void idle(const Counts& counts, bool stuck) noexcept override;
  bool done() const noexcept override { return done_.load(std::memory_order_acquire); }
  bool stuck() const noexcept override { return stuck_; }
  bool alone() noexcept override;

 private:
  /// Control messages: packets of the runtime itself. Kinds of users have lower numbers.
  enum ControlKind : std::uint32_t {
    first_control = 0xffffff00,
    declare = first_control,  ///< the number of a kind, and its text to compare
    termination,              ///< a TerminationMessage
    failure,                  ///< the rank that has failed, and the reason
    departure,                ///< the sender ends its communicator: a Departure
    exchange_part,            ///< an ExchangeHead, the call, and the bytes for this rank
    long_message,             ///< the head of a large packet whose body is a packet that is too long to be a small one
  };
  struct DeclaredKind : MessageKind {
    DeclaredKind(MessageKind&& of, int ranks)
        : MessageKind(std::move(of)), declared_to(new std::atomic<bool>[static_cast<std::size_t>(ranks)]()) {}
    std::unique_ptr<std::atomic<bool>[]> declared_to;  // by rank: whether it knows the text of this kind
  };
  /// Messages that one worker has counted. Each has cache lines of its own, so that counting moves none between cores.
  struct alignas(apart) Share {
    std::atomic<std::uint64_t> queued{0}, processed{0};
  };
  /// A large packet in flight: the token of Transport, on the sender until `reusable`, on the receiver until `arrived`.
  struct Large {
    std::uint32_t kind;
    std::vector<std::byte> head, body;  // body: empty if it lies in memory of the user or in the arena
    const std::byte* piece = nullptr;   // of the arena, for `reusable` to release; null if there is none
    bool placed = false;                // the kind's `place` was called, and its memory gets the body
    int to = -1;                        // sender: the receiving rank
    std::size_t queued = 0;             // sender: its bytes in queued_[to]
  };
  /// An unexpected message (as in MPI): this rank has not made its kind yet, or the sender sent it after a wait from
  /// which this rank has not returned. It stays in unexpected_ until it may be delivered.
  struct Unexpected {
    int from;
    PacketHead head;
    std::vector<std::byte> packet;
    std::unique_ptr<Large> large;
  };
  /// How far a rank was when it ended its communicator: the content of `departure`.
  struct Departure {
    std::uint64_t waits, exchanges;  // that it has completed
    PersistentCounts persistent;     // between it and this rank
  };
  /// The beginning of `exchange_part`; then follow the text of the call, and the bytes.
  struct ExchangeHead {
    std::uint64_t number;  ///< of the exchange, from 0
    std::uint64_t waits;   ///< how many waits for all ranks the sender had begun
    std::uint64_t call;    ///< length of the text
  };
  struct Part {
    std::string call;
    std::vector<std::byte> bytes;
  };
  using Parts = std::map<int, Part>;  // by rank
  /// Holds the polling lock: while it lives, no other thread polls.
  class PollGuard;

  // -- Transport::Receiver
  void packet(int from, std::span<const std::byte> bytes) override;
  Place place(int from, std::span<const std::byte> head, std::size_t bytes) override;
  bool take_in_place(int from, std::span<const std::byte> head, std::span<const std::byte> body) override;
  void arrived(int from, void* token) override;
  void reusable(void* token) override;
  void drop(void* token) noexcept override;
  void persistent_done(const PersistentMessage::Plan& plan) override;

  void receive_control(int from, std::uint32_t kind, std::span<const std::byte> bytes);
  /// The kind of a packet; null while it must stay in unexpected_.
  const DeclaredKind* deliverable(const PacketHead& head) noexcept;
  void keep_unexpected(Unexpected message);
  void run(int from, const DeclaredKind& kind, std::span<const std::byte> packet) noexcept;
  void process(int from, const DeclaredKind& kind, const Large& large) noexcept;
  /// Calls a function of the user. An exception of it fails all ranks.
  template <typename Function>
  void guarded(const DeclaredKind& kind, const Function& function) noexcept;
  void deliver_unexpected();
  /// Polls until all that this rank has sent has left its memory, or the run has failed.
  void send_all() noexcept;
  void take_from_self();
  void check_declared(std::uint32_t number);
  void fail_unknown(const Unexpected& message) noexcept;
  static std::string text(const MessageKind& kind);
  static std::string readable(const std::string& call);
  void declare_to(int rank, const DeclaredKind& kind);
  void send_control(int to, ControlKind kind, std::span<const std::byte> what, std::string_view text = {});
  bool polls_here() const noexcept {
    return polling_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  void publish_end() noexcept;
  void stamp_waits(Writer& message) const noexcept;
  template <typename Send>
  void send_counted(const Send& send);
  void check_may_poll() const;
  void send_in_place(int rank, Writer& message);
  void send_packet(int rank, std::span<const std::byte> packet);
  void check_rank(int rank) const;
  void send_long(int to, std::unique_ptr<Large> large, std::span<const std::byte> body);
  /// Whether more bytes wait for the rank than CommunicatorOptions::queue_bytes.
  bool is_full(int to) const noexcept { return queued_bytes(to) >= most_queued_; }
  void wait_for_room(int to);
  void count(std::atomic<std::uint64_t> Share::* which, std::uint64_t number = 1) noexcept;
  /// Takes back that the calling worker is idle, before it handles a message.
  void mark_busy() const noexcept;
  /// The calling worker; null if the calling thread is no worker of the joined engine.
  Worker* here() const noexcept;
  /// Wakes worker 0, unless the caller is worker 0.
  void notify_main_worker() noexcept;
  void ring_own_doorbell() noexcept;
  /// \returns whether it is the first failure
  bool set_failed(int rank, const std::string& why) noexcept;
  void notify_failure() noexcept;
  void notify_failure_to(int other) noexcept;
  void check_departures() noexcept;
  /// Fails if a rank has departed and will not take part in this exchange.
  void check_departures(std::uint64_t exchange, std::string_view call, const Parts& parts) noexcept;
  bool check_early_exchange() noexcept;
  /// Polls until `done()`, at longer and longer intervals. \throws RankFailed
  template <typename Done>
  void poll_until(const Done& done);
  DeclaredKind* kind_of(std::uint32_t number) noexcept { return number < kinds_.size() ? &kinds_[number] : nullptr; }
  /// For `TerminationDetection`.
  auto sends_termination() {
    return [this](int to, const TerminationMessage& message) {
      send_control(to, termination, std::as_bytes(std::span(&message, 1)));
    };
  }

  const std::shared_ptr<void> keep_alive_;
  const std::unique_ptr<Transport> transport_;
  const int rank_, ranks_;
  SharedMemory* const shared_memory_;  // null if there is none
  const bool has_progress_thread_;
  const std::size_t most_queued_;  // bytes to one rank (CommunicatorOptions::queue_bytes)
  const std::unique_ptr<std::atomic<std::size_t>[]>
      queued_;  // bytes by rank; added and subtracted by any thread and the transport

  // Message counts. Only worker w writes shares_[w], with plain stores; all other threads add to outside_.
  std::unique_ptr<Share[]> shares_;
  std::size_t workers_ = 0;
  Share outside_;

  std::atomic<Engine*> engine_{nullptr};
  // A thread that is no worker holds it around calls of the engine, so that the engine does not leave meanwhile.
  std::mutex engine_mutex_;

  std::atomic<bool> open_{false};     // set once, by the first wait or `progress`: from then on this rank polls
  std::atomic<bool> polling_{false};  // the polling lock (PollGuard); taken with acquire, freed with release
  std::atomic<std::thread::id>
      polling_thread_{};  // its holder, written by the holder alone; relaxed: only an equal id matters
  // Under the polling lock:
  std::deque<DeclaredKind> kinds_;  // a deque, because pointers to its elements stay valid
  std::map<std::uint32_t, std::map<int, std::string>>
      declared_;  // texts from other ranks, not yet compared, by number and rank
  std::deque<Unexpected> unexpected_;
  std::map<std::uint64_t, Parts> exchange_parts_;  // received, by number of the exchange
  std::atomic<bool> unexpected_ready_{false};  // some of unexpected_ may have become deliverable; cleared by the poll

  std::mutex termination_mutex_;  // protects the members below
  TerminationDetection termination_;
  std::vector<std::optional<Departure>> departures_;  // by rank
  std::atomic<int> departed_{0};                      // of ranks
  // Control messages that may end idleness. Written under the mutex, read without it: `idle` compares it with what the
  // worker read before it found itself idle.
  std::atomic<std::uint64_t> control_received_{0};
  struct EarlyExchange {
    int from;
    ExchangeHead head;
    std::string call;
  };
  std::optional<EarlyExchange>
      early_exchange_;  // the last exchange part that came, to see that its sender and this rank make different calls
  bool stuck_ = false;  // of the wait that has ended; written before done_, read after it
  std::atomic<bool> done_{false};  // the wait has ended; stored with release after the members above
  // Waits for all ranks: begun by worker 0, found to have ended under the mutex, and returned from by worker 0:
  //   returned_ ≤ ended_ ≤ begun_ ≤ returned_ + 1.   Also read without the mutex.
  std::atomic<std::uint64_t> begun_{0}, ended_{0}, returned_{0};

  std::atomic<std::uint64_t> exchanges_{0};  // begun; one thread at a time exchanges

  // Messages of this rank to itself, which the next poll delivers.
  std::mutex self_mutex_;  // protects the two below
  std::vector<std::vector<std::byte>> to_self_;
  std::vector<std::pair<std::vector<std::byte>, std::span<const std::byte>>> large_to_self_;  // heads and bodies
  std::atomic<bool> any_to_self_{false};        // whether the two have elements; written under the mutex
  std::atomic<std::uint32_t> own_doorbell_{0};  // if there is no transport
  Sleeper sleeper_;                             // of a thread that exchanges while no engine has joined

  mutable std::mutex failure_mutex_;  // protects the two below
  int failed_rank_ = -1;
  std::string why_;
  std::atomic<bool> failed_{false};

  const int exceptions_ = std::uncaught_exceptions();  // at construction: more in the destructor mean that one ends it
  bool closing_ = false;  // set by the destructor: no function of the user is called any more
  std::atomic<bool> stop_{false};
  std::thread progress_;
};

/// The polling lock. It is a spin lock that a thread may take again while it holds it, because functions of messages
/// run under it and may call the messenger.
class Messenger::PollGuard {
 public:
  enum class Wait : bool { no, yes };

  PollGuard(Messenger& of, Wait wait) : of_(of) {
    if (of_.polling_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      polls_ = wait == Wait::yes;  // nested: it may change what the lock protects, but not poll
      return;
    }
    while (of_.polling_.load(std::memory_order_relaxed) || of_.polling_.exchange(true, std::memory_order_acquire)) {
      if (wait == Wait::no) return;
      std::this_thread::yield();
    }
    of_.polling_thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    polls_ = ends_polling_ = true;
  }
  ~PollGuard() {
    if (!ends_polling_) return;
    of_.polling_thread_.store({}, std::memory_order_relaxed);
    of_.polling_.store(false, std::memory_order_release);
  }
  PollGuard(const PollGuard&) = delete;
  PollGuard& operator=(const PollGuard&) = delete;
  explicit operator bool() const noexcept { return polls_; }

 private:
  Messenger& of_;
  bool polls_ = false, ends_polling_ = false;
};

}  // namespace taskgrain::rt::detail
