#pragma once

/// Messages: the interface behind a Communicator. It sends active messages; the engine polls its ProgressEngine.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "taskgrain/rt/detail/progress_engine.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/serialize.hpp"

namespace taskgrain::rt::detail {

/// One end of a persistent message (as MPI's persistent requests): everything is set up once, and then it is sent again
/// and again. Message n, from 0, goes from slot n mod slot_count of the sender to that slot of the receiver. The
/// messages of one tag arrive in order.
///
/// Any thread may destroy an end. Messages that have been allowed are still sent or received, unless the run has
/// failed; `Plan::memory` keeps the slots until then.
class PersistentMessage {
 public:
  struct Plan {
    bool sends;                    ///< else it receives
    int rank;                      ///< of the other end
    int tag;                       ///< from Messages::persistent_tags; the same at both ends
    std::byte* slots;              ///< not read or written if `bytes` is 0
    std::size_t bytes;             ///< of the message
    std::size_t stride;            ///< from one slot to the next
    std::int64_t slot_count;       ///< of this end
    std::shared_ptr<void> memory;  ///< of the slots: kept for as long as they may be read or written
    std::function<void()>
        on_done;  ///< called by the polling thread after each message, also after this end was destroyed
  };

  explicit PersistentMessage(bool sends) : sends_(sends) {}
  virtual ~PersistentMessage() = default;
  PersistentMessage(const PersistentMessage&) = delete;
  PersistentMessage& operator=(const PersistentMessage&) = delete;

  bool sends() const noexcept { return sends_; }
  /// Raises the number of messages, in total, that may be sent because their slots are written, or received because
  /// their slots may be overwritten. At most slot_count are in flight; the others start when earlier ones complete.
  /// From any thread, one at a time.
  virtual void allow(std::int64_t messages) noexcept = 0;
  virtual std::int64_t allowed() const noexcept = 0;
  /// The number of messages that are complete: 0 ≤ done ≤ allowed. Written by the polling thread alone, with release:
  /// who reads n with acquire may write the slots of the first n sends, or read those of the first n receives.
  virtual const std::atomic<std::int64_t>& done() const noexcept = 0;

 private:
  const bool sends_;
};

/// Sums of `allowed` and `done` over all persistent messages between this rank and another one.
struct PersistentCounts {
  std::uint64_t sends_allowed = 0, sends_done = 0;
  std::uint64_t receives_allowed = 0, receives_done = 0;
};

/// The beginning of each packet. 12 bytes, so that a graph, a task of two numbers and 16 bytes of
/// output fit one cache line of a RecordRing.
struct PacketHead {
  std::uint32_t kind;
  std::uint32_t waits = 0;  ///< how many waits for all ranks had ended on the sender, modulo 2^32
  std::uint32_t check = 0;  ///< MessageKind::check of the sender
};

/// A kind of active message: its functions on the receiver, and for large ones `reusable` on the sender. A small
/// message has `run`; a large one has `place`, `process` and `reusable`.
struct MessageKind {
  std::string name, signature;
  std::function<void(int from, Reader& arguments)> run;
  std::function<std::byte*(Reader& arguments, std::size_t bytes)> place;
  std::function<void(Reader& arguments)> process, reusable;
  std::uint32_t number = 0;  ///< among those of the communicator
  std::uint32_t check = 0;   ///< a hash of the name and the signature, which is the same on all ranks
  bool may_wait = false;     ///< `send` may wait and run functions of messages (CommunicatorOptions::queue_bytes)

  /// Writes the PacketHead, which comes before the arguments.
  void begin(Writer& message) const {
    const PacketHead head{number, 0, check};
    message.write(&head, sizeof head);
  }
};

/// Memory that the ranks of a host share. Each rank allocates from its own arena, and may access those of the others.
class SharedMemory {
 public:
  /// Aligned as data of different cores are (`apart`). \throws std::system_error
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(const std::byte* piece) noexcept = 0;
  /// The offset of a piece in the arena of this rank.
  virtual std::size_t offset(const std::byte* piece) const noexcept = 0;
  /// \pre shared_with(rank)
  virtual std::byte* at(int rank, std::size_t offset) const noexcept = 0;
  /// True if a rank, perhaps this one, is of this host, and so shares memory with this one.
  virtual bool shared_with(int rank) const noexcept = 0;

 protected:
  ~SharedMemory() = default;
};

/// An error that all ranks throw, because they have exchanged it: the communicator has not failed.
struct AgreedError : UsageError {
  using UsageError::UsageError;
};

class Messages {
 public:
  virtual ~Messages() = default;

  virtual int rank() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  virtual const char* transport_name() const noexcept = 0;
  virtual ProgressEngine& progress_engine() noexcept = 0;

  /// Adds a kind. All ranks add the same ones in the same order. \returns the kind, at an address that does not change
  virtual const MessageKind& add(MessageKind kind) = 0;
  /// Sends the arguments. \param message  began with `begin`
  virtual void send(int rank, const MessageKind& kind, Writer& message) = 0;
  virtual void send_large(int rank, const MessageKind& kind, Writer& head, std::span<const std::byte> body) = 0;
  /// Null if this rank shares none with others.
  virtual SharedMemory* shared_memory() noexcept = 0;
  /// True if an engine has joined and has not left.
  virtual bool in_use() const noexcept = 0;
  virtual void progress() = 0;
  /// Takes what comes until `done()`, in the program or in a task. \throws RankFailed; as check_may_wait
  virtual void wait_until(const std::function<bool()>& done) = 0;
  /// \throws UsageError  this thread may not call MPI, so nobody may while others wait for it
  virtual void check_may_wait() const = 0;
  /// Fails all ranks with what was wrong on one of them, this one or another.
  virtual void fail_for(int rank, const std::string& what) noexcept = 0;
  /// An all-to-all exchange, by all ranks.
  /// \param to_each  the bytes for each rank; or one element, for all of them
  /// \param call     the user's call, and perhaps " of " and the name of a type: the same on all ranks
  /// \returns        the bytes from each rank
  /// \throws AgreedError  two of the ranks have made different calls
  using Gathered = std::vector<std::vector<std::byte>>;
  virtual Gathered exchange(const Gathered& to_each, std::string_view call) = 0;

  /// Reserves `count` tags for persistent messages. All ranks call it in the same order with the same count.
  /// \returns the first of them \throws std::runtime_error on all ranks if there are no more
  virtual int persistent_tags(int count) = 0;
  /// Makes a message that is sent again and again. A thread that may poll calls it. \throws std::runtime_error
  virtual std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) = 0;
  /// PersistentMessage::allow, which also counts them as queued for termination detection. They start with
  /// `start_persistent`, or the next poll.
  virtual void allow(PersistentMessage& message, std::int64_t messages) noexcept = 0;
  virtual void start_persistent() noexcept = 0;
};

}  // namespace taskgrain::rt::detail
