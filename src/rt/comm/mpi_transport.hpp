#pragma once

/// Packets in messages of MPI.
///
/// `send` appends a packet to the message that is being filled for its rank. A message leaves when it is full; or by
/// a poll, if no other is on its way to that rank. So packets gather while MPI or the receiver is busy, and wait only
/// for the next poll where they are not. `anything` spreads the polls of workers that have tasks, so that polls take a
/// ninth of their time at most.
///
/// Each rank has receives posted for messages, which are never probed for. A large packet is announced in a message;
/// the receiver says where its body goes, and MPI moves it from the sender's memory into that. A body that fits into a
/// message travels with its head.
///
/// Bodies from one rank to another that are on their way differ in their tags. Let M be a body with tag t from rank a
/// to rank b. It is sent with MPI_Issend, which completes only after b has posted the receive for M. So when a gives t
/// to the next body, that receive is before any for the next; MPI matches in this order, and neither gets the other's
/// bytes.
///
/// Persistent messages have tags above these, each its own (mpi_persistent.hpp).
///
/// Threads: `mpi_` is held around each call of MPI, and never while a Receiver is called. Below MPI_THREAD_MULTIPLE
/// only the thread that is MPI's main thread takes it. Locks are taken in the order mpi_, Peer::lock, and then any
/// other, of which only one.

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
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

/// The same on all ranks.
struct MpiTransportOptions {
  int receives = 8;                                ///< posted at a time; each makes a poll a little longer
  std::size_t piece_bytes = std::size_t{1} << 30;  ///< of a body in one message: MPI counts with int
  int most_tag = 0;                                ///< of persistent messages; 0: what MPI allows
};

/// The functions of its Receiver must not throw. It is destroyed by a thread that may poll.
class MpiTransport final : public Transport {
 public:
  /// On all ranks of `ranks`.
  /// \throws UsageError  MPI_THREAD_SINGLE, MPI has been finalised, or no communicator of one group; std::runtime_error
  ///                     what MPI says
  explicit MpiTransport(MPI_Comm ranks, MpiTransportOptions options = {});
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  const char* name() const noexcept override { return "mpi"; }
  std::size_t most_bytes() const noexcept override { return MpiMessage::most_bytes; }

  void send(int to, std::span<const std::byte> packet) override;
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override;
  /// MPI says whether something has come only when it is polled, so this says when it is time: at once after a poll
  /// that has found something, else after eight times as long as that took. Threads that have nothing else to do need
  /// not ask.
  bool anything() const noexcept override;
  std::atomic<std::uint32_t>* doorbell() noexcept override { return nullptr; }
  /// They leave at once if this thread may poll, else with the next poll of one that may.
  void announce_failure(const std::string& reason) noexcept override;
  int persistent_tags(int count) override;
  std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) override;
  /// Now, if this thread may poll and no other is busy with MPI; otherwise soon somebody polls.
  void start_persistent() noexcept override;
  PersistentCounts persistent_counts(int rank) noexcept override;
  bool may_poll() const noexcept override { return any_thread_ || std::this_thread::get_id() == main_thread_; }

  /// \throws std::runtime_error  what MPI says, if it concerns no single rank
  bool poll(Receiver& receiver) override;
  bool all_sent() noexcept override;
  /// The ranks leave together: nothing is left when this rank's messages have been taken and all others, but those that
  /// are lost, have said that nothing will come from them. After it has announced a failure, a rank waits for no other.
  bool flush(Receiver& receiver) override;

 private:
  /// At most so many messages are on their way to a rank, and bodies.
  static constexpr int most_messages = 8;
  static constexpr int message_tag = 0;  ///< bodies have 1 to most_bodies
  static constexpr std::uint16_t most_bodies = 64;
  /// A poll ends after so many looks, even if there is always something.
  static constexpr int most_looks = 8;

  /// A body on its way to a rank, with the tag that is its place in `bodies` plus 1.
  struct Body {
    std::span<const std::byte> bytes;
    void* token;
    int pieces;  ///< messages that are not complete; by the holder of mpi_
  };
  struct WaitingBody {
    std::vector<std::byte> head;
    std::span<const std::byte> bytes;
    void* token;
    std::size_t memory() const noexcept { return sizeof *this + head.size(); }
  };
  /// What goes to a rank.
  struct alignas(apart) Peer {
    SpinLock lock;
    // Under the lock:
    bool listed = false;            ///< in listed_, so that a poll looks after it
    bool dropped = false;           ///< the rank is lost, and what is sent to it goes nowhere; written also under mpi_
    MpiMessage* filling = nullptr;  ///< null or not empty
    MpiMessageList full;
    std::vector<Body> bodies;
    std::vector<std::uint16_t> free_tags, announced;  ///< announced, and not yet given to MPI
    std::deque<WaitingBody> waiting;                  ///< for a tag

    Peer* next_listed = nullptr;  ///< by who lists it, and who takes the list
    // By the holder of mpi_:
    int on_the_way = 0;      ///< messages that are not complete
    std::uint64_t sent = 0;  ///< messages
    // By the poll:
    std::uint64_t received = 0;                       ///< messages
    std::uint64_t most_received = ~std::uint64_t{0};  ///< all, when the rank has said that it leaves
    bool has_left() const noexcept { return received >= most_received; }
  };

  /// A request of MPI, but the posted receives.
  struct Operation {
    enum Type : std::uint8_t { message_sent, piece_sent, piece_received };
    Type type;
    std::uint16_t tag;  ///< piece_sent
    int peer;
    MpiMessage* message;  ///< message_sent
    std::size_t place;    ///< piece_received, in coming_
  };
  /// A body that comes.
  struct Coming {
    int from;
    void* token;
    int pieces;
  };
  struct Arrival {
    int receive, from;
    std::size_t bytes;
  };
  struct TransportError {
    int rank;  ///< -1: of no single one
    std::string why;
  };

  // -- by any thread
  /// \pre the peer's lock is held \returns whether a message is full now
  bool append(Peer& peer, const PacketHeader& header, std::span<const std::byte> packet,
              std::span<const std::byte> body = {});
  void announce(Peer& peer, std::uint16_t tag, std::span<const std::byte> head, std::span<const std::byte> body,
                void* token);
  void list(Peer& peer) noexcept;
  void send_soon(Peer& peer);
  void may_be_reused(void* token);
  void report_error(int rank, std::string why);

  // -- by the holder of mpi_
  void push(Peer& peer, bool all);
  void push_body(Peer& peer, std::uint16_t tag);
  void send_message(Peer& peer, MpiMessage* message);
  void drop(Peer& peer);
  void start(const Operation& operation, MPI_Request request);
  void finish(const Operation& operation, int code);
  void sent_piece(Peer& peer, std::uint16_t tag);
  void restart(int receive);
  bool test();

  // -- by the poll
  bool look(Receiver& receiver);
  void deliver(Receiver& receiver, const Arrival& arrival);
  void receive_body(int from, std::uint16_t tag, const Receiver::Place& place, std::size_t bytes);
  void push_listed(bool all);
  bool notify(Receiver& receiver);
  bool poll(Receiver& receiver, bool all);
  bool nothing_left();
  void lose(Receiver& receiver, int rank, const std::string& why);

  int number_of(const Peer& peer) const noexcept { return static_cast<int>(&peer - peers_.data()); }
  std::byte* receive_buffer(int receive) noexcept { return buffers_[static_cast<std::size_t>(receive)].bytes; }

  const MpiLibrary library_;
  const MpiDuplicate comm_;
  const MpiTransportOptions options_;
  const bool any_thread_;  // a thread of the program may be in MPI at any time, so SERIALIZED is not enough
  const std::thread::id main_thread_;
  int rank_ = 0, ranks_ = 0;

  std::vector<Peer> peers_;
  MpiMessagePool pool_;
  std::atomic<Peer*> listed_{nullptr};
  std::atomic<bool> urgent_{false};  ///< a poll should not wait for its time
  std::atomic<bool> announced_failure_{false};

  alignas(apart) std::atomic<std::int64_t> next_poll_{0};  ///< ticks; by the poll
  std::int64_t cost_ = 0;                                  ///< of a poll that finds nothing, in ticks; by the poll
  std::atomic<bool> polling_{false};
  bool said_leave_ = false;  ///< by the poll

  alignas(apart) SpinLock mpi_;
  // Under mpi_. Request k, k < options_.receives, is a posted receive; request k + receives belongs to operation k.
  std::vector<MPI_Request> requests_;
  std::vector<Operation> operations_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<Coming> coming_;
  std::vector<std::size_t> free_coming_;
  std::vector<std::uint16_t> tags_;  ///< of push
  MpiPersistentMessages persistent_;
  // By the poll; `test` writes them.
  std::vector<Arrival> arrivals_;
  std::vector<std::pair<int, void*>> arrived_bodies_;
  std::vector<void*> taken_reusable_;
  std::vector<TransportError> taken_errors_;

  std::vector<MpiMessage> buffers_;  ///< of the posted receives

  SpinLock news_;
  // Under news_:
  std::vector<void*> reusable_;
  std::vector<TransportError> errors_;
  std::atomic<bool> has_news_{false};
};

}  // namespace taskgrain::rt::detail
