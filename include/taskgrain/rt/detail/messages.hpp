#pragma once

/// What is behind a Communicator: active messages by number, and what the engine asks of it.

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

/// One end of a message that goes from one rank to another again and again, for which everything is made beforehand.
/// Message n, from 0, goes from slot n mod slots of the sender to that of the receiver. The messages
/// come in their order, and meet nothing else.
///
/// Any thread may destroy an end. What has been allowed still goes or comes, unless the run has failed; until then the
/// slots stay.
class PersistentMessage {
 public:
  struct Plan {
    bool sends;                     ///< else it receives
    int rank;                       ///< of the other end
    int number;                     ///< of Messages::persistent_tags; the same at both ends
    std::byte* slots;               ///< not read or written if `bytes` is 0
    std::size_t bytes;              ///< of the message
    std::size_t stride;             ///< from one slot to the next
    std::int64_t slot_count;        ///< of this end
    std::shared_ptr<void> memory;   ///< of the slots: kept for as long as they may be read or written
    std::function<void()> on_done;  ///< another message has gone or come. Called by who polls, also after the end
  };

  explicit PersistentMessage(bool sends) : sends_(sends) {}
  virtual ~PersistentMessage() = default;
  PersistentMessage(const PersistentMessage&) = delete;
  PersistentMessage& operator=(const PersistentMessage&) = delete;

  bool sends() const noexcept { return sends_; }
  /// So many messages may go, as their slots are written; or come, as their slots are read. More than that many slots
  /// wait for those before. From any thread, but by one at a time.
  virtual void allow(std::int64_t messages) noexcept = 0;
  virtual std::int64_t allowed() const noexcept = 0;
  /// So many have gone, and their slots may be written again; or have come.
  virtual const std::atomic<std::int64_t>& done() const noexcept = 0;

 private:
  const bool sends_;
};

/// Of all persistent messages between this rank and another one.
struct PersistentCounts {
  std::uint64_t sent = 0, gone = 0;      ///< allowed and done, of those that this rank sends
  std::uint64_t expected = 0, come = 0;  ///< and that it receives
};

/// What a packet begins with: the number of its kind. 12 bytes, so that a graph, a task of two numbers and 16 bytes of
/// output fit one cache line of a RecordRing.
struct PacketHead {
  std::uint32_t kind;
  std::uint32_t waits = 0;  ///< waits for everything that the sender had behind it, modulo 2^32
  std::uint32_t check = 0;  ///< MessageKind::check of the sender
};

/// A kind of messages. Small ones have `run`, large ones the other three.
struct MessageKind {
  std::string name, signature;
  std::function<void(int from, Reader& arguments)> run;
  std::function<std::byte*(Reader& arguments, std::size_t bytes)> place;
  std::function<void(Reader& arguments)> process, reusable;
  std::uint32_t number = 0;  ///< among those of the communicator
  std::uint32_t check = 0;   ///< a hash of the name and the signature, which is the same on all ranks
  bool may_wait = false;     ///< `send` may wait and run functions of messages (CommunicatorOptions::queue_bytes)

  /// Writes what comes before the arguments.
  void begin(Writer& message) const {
    const PacketHead head{number, 0, check};
    message.write(&head, sizeof head);
  }
};

/// Memory that the ranks of a host share. Each gives out pieces of its own arena, and may touch those of the others.
class SharedMemory {
 public:
  /// Aligned as data of different cores are (`apart`). \throws std::system_error
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(const std::byte* piece) noexcept = 0;
  /// Where a piece of this rank lies in its arena.
  virtual std::size_t offset(const std::byte* piece) const noexcept = 0;
  virtual std::byte* at(int rank, std::size_t offset) const noexcept = 0;

 protected:
  ~SharedMemory() = default;
};

/// An error that all ranks know of, so all throw it, and the communicator has not failed.
struct AgreedError : UsageError {
  using UsageError::UsageError;
};

class Messages : public ProgressEngine {
 public:
  virtual ~Messages() = default;

  virtual int rank() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  virtual const char* transport_name() const noexcept = 0;

  /// By all ranks in the same order. \returns it, which stays where it is
  virtual const MessageKind& add(MessageKind kind) = 0;
  /// Sends the arguments. \param message  began with `begin`
  virtual void send(int rank, const MessageKind& kind, Writer& message) = 0;
  virtual void send_large(int rank, const MessageKind& kind, Writer& head, std::span<const std::byte> body) = 0;
  /// Null if the ranks share none.
  virtual SharedMemory* shared_memory() noexcept = 0;
  /// Whether an engine has joined and has not left.
  virtual bool in_use() const noexcept = 0;
  virtual void progress() = 0;
  /// By all ranks: gives bytes to each rank.
  /// \param to_each  by rank; or one, for all
  /// \param call     what the user has called, and perhaps " of " and the name of a type: the same on all ranks
  /// \returns what each rank has given to this one
  /// \throws AgreedError  two of the ranks have made different calls
  using Gathered = std::vector<std::vector<std::byte>>;
  virtual Gathered exchange(const Gathered& to_each, std::string_view call) = 0;

  /// Takes new numbers for persistent messages. All ranks call it in the same order with the same count.
  /// \returns the first of `count` numbers \throws std::runtime_error on all ranks if they are used up
  virtual int persistent_tags(int count) = 0;
  /// By a thread that may poll. \throws std::runtime_error
  virtual std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) = 0;
  /// Allows that many, and counts them as messages on their way. They start with `start_persistent`, or a poll.
  virtual void allow(PersistentMessage& message, std::int64_t messages) noexcept = 0;
  virtual void start_persistent() noexcept = 0;
};

}  // namespace taskgrain::rt::detail
