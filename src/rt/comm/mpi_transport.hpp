#pragma once

/// Packets in messages of MPI (mpi_message.hpp).
///
/// Aggregation: `send` appends a packet to the message that is being filled for its rank. The message is sent when it
/// is full, or by a poll if no other is in flight to that rank. So packets are aggregated while MPI or the receiver is
/// busy, and otherwise wait for the next poll only. `anything` limits how often busy workers poll, so that polls that
/// find nothing take a ninth of their time at most.
///
/// Each rank has posted persistent receives for messages from any rank, so it never probes. A large packet is announced
/// by a header (rendezvous): the receiver posts receives for its body, and MPI moves it from the sender's memory to its
/// destination. A body that fits into a message is sent in it (eager).
///
/// Tags of bodies: bodies in flight from rank a to rank b have different tags. Let M be a body with tag t. It is sent
/// by MPI_Issend, which completes only after b has posted the matching receive. Only then a gives t to another body, so
/// b posts the receives for that later; and because MPI matches in the order of posting, each receive gets its own
/// body.
///
/// Persistent messages have tags above these, each one of its own (mpi_persistent.hpp).
///
/// Threads: the lock mpi_ is held around each call of MPI, and never while a Receiver is called. Below
/// MPI_THREAD_MULTIPLE only MPI's main thread takes it. The order of locks: mpi_, then Peer::lock, then one of any
/// other.

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi_library.hpp"
#include "mpi_message.hpp"
#include "mpi_persistent.hpp"
#include "spin_lock.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "transport.hpp"

namespace taskgrain::rt::detail {

/// A clock of unknown unit that costs a few nanoseconds, for ratios of durations.
inline std::int64_t ticks() noexcept {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  std::int64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/// The number of ranks of a communicator. \throws std::runtime_error  what MPI says
int ranks_in(MPI_Comm comm);

/// The same on all ranks.
struct MpiTransportOptions {
  int receives = 8;                                ///< posted at a time; each makes a poll a little longer
  std::size_t piece_bytes = std::size_t{1} << 30;  ///< of a body in one message: MPI counts with int
  int most_tag = 0;                                ///< of persistent messages; 0: what MPI allows
};

/// The functions of its Receiver must not throw. It is destroyed by a thread that may poll.
class MpiTransport final : public Transport {
 public:
  /// All ranks of `ranks` make it.
  /// \throws UsageError  MPI_THREAD_SINGLE, MPI has been finalised, or no communicator of one group; std::runtime_error
  ///                     what MPI says
  explicit MpiTransport(MPI_Comm ranks, MpiTransportOptions options = {});
  ~MpiTransport() override;

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  const char* name() const noexcept override { return "mpi"; }
  std::size_t most_bytes() const noexcept override { return MpiMessage::most_bytes; }

  void send(int to, std::span<const std::byte> packet) override;
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override;
  /// True if it is time to poll, because MPI shows arrivals only when it is polled: at once after a poll that has found
  /// something, else after eight times the duration of that poll. Idle threads poll without asking.
  bool anything() const noexcept override;
  std::atomic<std::uint32_t>* doorbell() noexcept override { return nullptr; }
  /// Sends at once if this thread may poll, else with the next poll of one that may.
  void announce_failure(const std::string& reason) noexcept override;
  int persistent_tags(int count) override;
  std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) override;
  /// Starts them now if this thread may poll and mpi_ is free; otherwise the next `anything` asks for a poll.
  void start_persistent() noexcept override;
  PersistentCounts persistent_counts(int rank) noexcept override;
  bool may_poll() const noexcept override { return any_thread_ || std::this_thread::get_id() == main_thread_; }

  /// \throws std::runtime_error  what MPI says, if it concerns no single rank
  bool poll(Receiver& receiver) override;
  bool all_sent() noexcept override;
  /// The ranks leave together. True when all sends are complete and every other rank that is not lost has sent
  /// `leaves`, and all messages before that have arrived. After `announce_failure`, a rank waits for no other.
  bool flush(Receiver& receiver) override;

 private:
  /// The most messages, and below the most bodies, in flight to a rank.
  static constexpr int most_messages = 8;
  static constexpr int message_tag = 0;  ///< bodies have 1 to most_bodies
  static constexpr std::uint16_t most_bodies = 64;
  /// The most rounds of a poll, so that it ends even if each round finds as much as it can.
  static constexpr int most_rounds = 8;

  /// A body in flight to a rank. Its tag is its index in `bodies` plus 1.
  struct Body {
    std::span<const std::byte> bytes;
    void* token;
    int pieces;  ///< MPI_Issends that are not complete; under mpi_
  };
  /// A large packet that waits for a free tag.
  struct WaitingBody {
    std::vector<std::byte> head;
    std::span<const std::byte> bytes;
    void* token;
    std::size_t memory() const noexcept { return sizeof *this + head.size(); }
  };
  /// The state of sends to one rank, and how far its messages have come.
  struct alignas(apart) Peer {
    SpinLock lock;
    // Under the lock:
    bool is_pending = false;              ///< it is in pending_peers_
    bool dropped = false;                 ///< the rank is lost, and sends to it are discarded; written under mpi_, too
    std::unique_ptr<MpiMessage> filling;  ///< null or not empty
    std::deque<std::unique_ptr<MpiMessage>> full;
    std::vector<Body> bodies;
    std::vector<std::uint16_t> free_tags, announced;  ///< announced: the header was appended, MPI_Issend not yet called
    std::deque<WaitingBody> waiting;

    Peer* next_pending = nullptr;  ///< in pending_peers_
    // Under mpi_:
    int on_the_way = 0;      ///< MPI_Isends that are not complete
    std::uint64_t sent = 0;  ///< messages
    // By the polling thread:
    std::uint64_t received = 0;  ///< messages
    std::uint64_t expected_messages =
        ~std::uint64_t{0};  ///< from the header `leaves`: all that the rank has sent, with that one
    bool has_left() const noexcept { return received >= expected_messages; }
  };

  /// A request of MPI, other than the posted receives.
  struct Operation {
    enum Type : std::uint8_t { message_sent, piece_sent, piece_received };
    Type type;
    std::uint16_t tag;  ///< piece_sent
    int peer;
    std::unique_ptr<MpiMessage> message;  ///< message_sent
    std::size_t place;                    ///< piece_received: the index in incoming_bodies_
  };
  /// A body for which receives are posted.
  struct IncomingBody {
    int from;
    void* token;
    int pieces;  ///< MPI_Irecvs that are not complete
  };
  /// A message in the buffer of a posted receive.
  struct Arrival {
    int receive, from;
    std::size_t bytes;
  };
  struct TransportError {
    int rank;  ///< -1: it concerns no single rank
    std::string why;
  };

  // -- by any thread
  /// \pre the peer's lock is held \returns whether a message is full now
  bool append(Peer& peer, const PacketHeader& header, std::span<const std::byte> packet,
              std::span<const std::byte> body = {});
  void announce(Peer& peer, std::uint16_t tag, std::span<const std::byte> head, std::span<const std::byte> body,
                void* token);
  void mark_pending(Peer& peer) noexcept;
  void send_soon(Peer& peer);
  void report_reusable(void* token);
  void report_error(int rank, std::string why);

  // -- under mpi_
  void start_sends(Peer& peer, bool all);
  void start_body(Peer& peer, std::uint16_t tag);
  void send_message(Peer& peer, std::unique_ptr<MpiMessage> message);
  void drop(Peer& peer);
  void start(Operation&& operation, MPI_Request request);
  void finish(Operation& operation, int code);
  void sent_piece(Peer& peer, std::uint16_t tag);
  void make_room_for_results();
  void restart(int receive);
  bool test();

  // -- by the polling thread
  /// The number of operations that a round has found complete. After `all` that one round can find, there may be more;
  /// else a round more would ask MPI in vain, mostly.
  enum class Found : std::uint8_t { nothing, some, all };
  Found progress_once(Receiver& receiver);
  void deliver(Receiver& receiver, const Arrival& arrival);
  void receive_body(int from, std::uint16_t tag, const Receiver::Place& place, std::size_t bytes);
  void start_pending_sends(bool all);
  bool deliver_reports(Receiver& receiver);
  bool poll(Receiver& receiver, bool all);
  bool all_complete();
  void lose(Receiver& receiver, int rank, const std::string& why);

  int number_of(const Peer& peer) const noexcept { return static_cast<int>(&peer - peers_.data()); }
  std::byte* receive_buffer(int receive) noexcept { return buffers_[static_cast<std::size_t>(receive)].bytes; }

  const MpiLibrary library_;
  const MpiDuplicate comm_;
  const MpiTransportOptions options_;
  const bool any_thread_;  // may poll. MPI_THREAD_SERIALIZED is not enough: the program may call MPI at the same time
  const std::thread::id main_thread_;
  int rank_ = 0, ranks_ = 0;

  std::vector<Peer> peers_;
  MpiMessagePool pool_;
  // A lock-free list: any thread pushes (mark_pending), the polling thread takes all (start_pending_sends).
  std::atomic<Peer*> pending_peers_{nullptr};
  std::atomic<bool> poll_requested_{
      false};  ///< any thread sets it, so that `anything` is true before next_poll_; a poll resets it
  std::atomic<bool> announced_failure_{false};  ///< any thread sets it; this rank does not say then that it leaves

  alignas(apart) std::atomic<std::int64_t> next_poll_{0};  ///< ticks; written by the polling thread
  std::int64_t poll_cost_ = 0;        ///< ticks of a poll that finds nothing; by the polling thread
  std::atomic<bool> polling_{false};  ///< a thread is in `poll`
  bool sent_leave_ = false;           ///< by the polling thread

  alignas(apart) SpinLock mpi_;
  // Under mpi_. With r = options_.receives: requests_[k] is a posted receive for k < r, and belongs to operations_[k −
  // r] for k ≥ r.
  std::vector<MPI_Request> requests_;
  std::vector<Operation> operations_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<IncomingBody> incoming_bodies_;
  std::vector<std::size_t> free_incoming_;
  std::vector<std::uint16_t> tags_;  ///< scratch of start_sends
  MpiPersistentMessages persistent_;
  // By the polling thread. `test` fills the first two; `deliver_reports` swaps the others with reusable_ and errors_.
  std::vector<Arrival> arrivals_;
  std::vector<std::pair<int, void*>> complete_bodies_;
  std::vector<void*> taken_reusable_;
  std::vector<TransportError> taken_errors_;

  std::vector<MpiMessage> buffers_;  ///< of the posted receives

  // What any thread has found out and the polling thread passes on to the Receiver.
  SpinLock reports_lock_;  // protects the two below
  std::vector<void*> reusable_;
  std::vector<TransportError> errors_;
  std::atomic<bool> has_reports_{false};  // whether they have elements; written under the lock
};

}  // namespace taskgrain::rt::detail
