#pragma once

/// Active messages over a transport: their numbers and arguments, their counts, and what fails.
///
/// A rank counts a message as queued before it is on its way, and as processed after its function has returned. A large
/// message counts twice: for its function `process` on the receiver, and for `reusable` on the sender. So does a
/// persistent one: for `on_done` on both.

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

/// What the options or the environment say: auto, shared, mpi or alone. \throws UsageError
std::string chosen_transport(const CommunicatorOptions& options);

class Messenger final : public Messages, private Transport::Receiver {
 public:
  /// \param transport  null: this process is alone
  /// \param kept       lives as long as this
  Messenger(std::unique_ptr<Transport> transport, const CommunicatorOptions& options,
            std::shared_ptr<void> kept = nullptr);
  ~Messenger() override;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  /// From any thread: a rank is gone.
  void lost(int rank, const std::string& why) noexcept override;

  /// Bytes of messages to another rank that wait in this one's memory, about.
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
  /// Numbers of packets that are not a user's. Those of users' kinds are lower.
  enum Own : std::uint32_t {
    first_own = 0xffffff00,
    declare = first_own,  ///< the number of a kind and its text
    termination,          ///< a TerminationMessage
    failure,              ///< a rank that has failed, and why
    leaving,              ///< a rank ends, after so many waits
    together,             ///< a part of an exchange
    long_message,         ///< the head of a large packet whose body is a packet
  };
  struct DeclaredKind : MessageKind {
    DeclaredKind(MessageKind&& of, int ranks)
        : MessageKind(std::move(of)), declared_to(new std::atomic<bool>[static_cast<std::size_t>(ranks)]()) {}
    std::unique_ptr<std::atomic<bool>[]> declared_to;  // by rank: whether it knows the text of this kind
  };
  /// What one thread has counted.
  struct alignas(apart) Share {
    std::atomic<std::uint64_t> queued{0}, processed{0};
  };
  /// A large packet on its way.
  struct Large {
    std::uint32_t kind;
    std::vector<std::byte> head, body;  // body: if it is the runtime's own memory
    const std::byte* piece = nullptr;   // of the shared memory, which is to be released
    bool placed = false;                // the body is where the user wants it
    int to = -1;
    std::size_t queued = 0;  // in queued_
  };
  /// A message that cannot be delivered yet: its kind has not been made here, or the sender has ended a wait from which
  /// this rank has not returned.
  struct Early {
    int from;
    PacketHead head;
    std::vector<std::byte> packet;
    std::unique_ptr<Large> large;
  };
  /// What a rank says when it ends.
  struct Left {
    std::uint64_t waits, exchanges;
    PersistentCounts persistent;  // between it and this rank
  };
  /// What a part of an exchange begins with. After it come the call, and then the bytes.
  struct ExchangeHead {
    std::uint64_t number;
    std::uint64_t waits;  ///< that the sender had begun
    std::uint64_t call;   ///< characters
  };
  struct Part {
    std::string call;
    std::vector<std::byte> bytes;
  };
  using Parts = std::map<int, Part>;  // by rank
  /// While it lives, the calling thread polls and no other does.
  class PollGuard;

  // -- Transport::Receiver
  void packet(int from, std::span<const std::byte> bytes) override;
  Place place(int from, std::span<const std::byte> head, std::size_t bytes) override;
  bool take_in_place(int from, std::span<const std::byte> head, std::span<const std::byte> body) override;
  void arrived(int from, void* token) override;
  void reusable(void* token) override;
  void persistent_done(const PersistentMessage::Plan& plan) override;

  void take_own(int from, std::uint32_t kind, std::span<const std::byte> bytes);
  /// The kind of a packet, if that may be delivered now.
  const DeclaredKind* deliverable(const PacketHead& head) noexcept;
  void keep_early(Early early);
  void run(int from, const DeclaredKind& kind, std::span<const std::byte> packet) noexcept;
  void process(int from, const DeclaredKind& kind, const Large& large) noexcept;
  /// Runs what a user has given; what it throws fails all ranks.
  template <typename Function>
  void guarded(const DeclaredKind& kind, const Function& function) noexcept;
  void take_early();
  /// Polls until what this rank has sent is on its way.
  void send_all() noexcept;
  void take_from_self();
  void check_declared(std::uint32_t number);
  void note_unknown(const Early& early) noexcept;
  static std::string text(const MessageKind& kind);
  static std::string readable(const std::string& call);
  void declare_to(int rank, const DeclaredKind& kind);
  void send_own(int to, Own kind, std::span<const std::byte> what, std::string_view text = {});
  bool polls_here() const noexcept {
    return polling_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  void note_end() noexcept;
  void note_waits(Writer& message) const noexcept;
  template <typename Send>
  void counted(const Send& send);
  void check_may_poll() const;
  void send_in_place(int rank, Writer& message);
  void send_packet(int rank, std::span<const std::byte> packet);
  void check_rank(int rank) const;
  void send_long(int to, std::unique_ptr<Large> large, std::span<const std::byte> body);
  /// Whether a message to the rank finds no room.
  bool is_full(int to) const noexcept { return queued_bytes(to) >= most_queued_; }
  void wait_for_room(int to);
  void count(std::atomic<std::uint64_t> Share::* which, std::uint64_t number = 1) noexcept;
  /// The worker whose thread calls is not idle any more.
  void mark_busy() const noexcept;
  /// The worker of the engine whose thread calls; null if it is none.
  Worker* here() const noexcept;
  /// Wakes worker 0, unless it calls.
  void notify_main_worker() noexcept;
  void ring_own_doorbell() noexcept;
  /// \returns whether it is the first failure
  bool set_failed(int rank, const std::string& why) noexcept;
  void notify_failure() noexcept;
  void notify_failure_to(int other) noexcept;
  void check_left() noexcept;
  /// Fails if a rank has left before it has taken part in an exchange.
  void check_left(std::uint64_t exchange, std::string_view call, const Parts& parts) noexcept;
  bool check_ahead() noexcept;
  /// Polls until `done()`, at longer and longer intervals. \throws RankFailed
  template <typename Done>
  void wait_here(const Done& done);
  DeclaredKind* kind_of(std::uint32_t number) noexcept { return number < kinds_.size() ? &kinds_[number] : nullptr; }
  /// For `TerminationDetection`.
  auto sends_termination() {
    return [this](int to, const TerminationMessage& message) {
      send_own(to, termination, std::as_bytes(std::span(&message, 1)));
    };
  }

  const std::shared_ptr<void> kept_;
  const std::unique_ptr<Transport> transport_;
  const int rank_, ranks_;
  SharedMemory* const shared_memory_;  // null if there is none
  const bool has_progress_thread_;
  const std::size_t most_queued_;                             // bytes to a rank
  const std::unique_ptr<std::atomic<std::size_t>[]> queued_;  // by rank; also by the transport

  // Counts. A worker's are written by its thread; all others by addition.
  std::unique_ptr<Share[]> shares_;
  std::size_t workers_ = 0;
  Share others_;

  std::atomic<Engine*> engine_{nullptr};
  std::mutex engine_mutex_;  // held while another thread calls the engine, and when that leaves

  std::atomic<bool> open_{false};                  // this rank takes messages
  std::atomic<bool> polling_{false};               // a thread polls
  std::atomic<std::thread::id> polling_thread_{};  // which one
  // By the thread that polls:
  std::deque<DeclaredKind> kinds_;                                // where they are stays
  std::map<std::uint32_t, std::map<int, std::string>> declared_;  // texts of kinds, by number and rank
  std::deque<Early> early_;
  std::map<std::uint64_t, Parts> together_;  // of exchanges
  std::atomic<bool> early_ready_{false};

  std::mutex termination_mutex_;  // protects the members below
  TerminationDetection termination_;
  std::vector<std::optional<Left>> left_;           // by rank
  std::atomic<int> number_left_{0};                 // of ranks
  std::atomic<std::uint64_t> control_received_{0};  // messages of TerminationDetection; also read without the mutex
  struct Ahead {
    int from;
    ExchangeHead head;
    std::string call;
  };
  std::optional<Ahead> ahead_;                      // the last that came before this rank's part of an exchange
  bool stuck_ = false;                              // written before done_
  std::atomic<bool> done_{false};                   // the wait
  std::atomic<std::uint64_t> begun_{0}, ended_{0};  // waits; also read without the mutex
  // So many waits have returned. Written by worker 0: returned_ ≤ ended_
  std::atomic<std::uint64_t> returned_{0};

  std::atomic<std::uint64_t> exchanges_{0};  // begun; written by the thread that exchanges

  std::mutex self_mutex_;  // protects the two below
  std::vector<std::vector<std::byte>> to_self_;
  std::vector<std::pair<std::vector<std::byte>, std::span<const std::byte>>> large_to_self_;  // heads and bodies
  std::atomic<bool> any_to_self_{false};
  std::atomic<std::uint32_t> own_doorbell_{0};  // if there is no transport
  Sleeper sleeper_;                             // of who exchanges, while no engine has joined

  mutable std::mutex failure_mutex_;  // protects the two below
  int failed_rank_ = -1;
  std::string why_;
  std::atomic<bool> failed_{false};

  const int exceptions_ = std::uncaught_exceptions();  // when it was made
  bool closing_ = false;                               // no function of the user is called any more; by the destructor
  std::atomic<bool> stop_{false};
  std::thread progress_;
};

/// Holds the lock under which one thread at a time polls. The lock also protects what only polls read.
class Messenger::PollGuard {
 public:
  enum class Wait : bool { no, yes };

  PollGuard(Messenger& of, Wait wait) : of_(of) {
    if (of_.polling_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      polls_ = wait == Wait::yes;  // nested: a function of a message may make another message, but not poll
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
