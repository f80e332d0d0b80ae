#pragma once

/// How packets get from one rank to another: through the memory that a host's ranks share, or by MPI.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

class SharedMemory;

class Transport {
 public:
  /// Gets what arrives. Called by the thread that polls, during `poll`.
  class Receiver {
   public:
    /// \param bytes  aligned to 16 bytes, and there during the call
    virtual void packet(int from, std::span<const std::byte> bytes) = 0;
    struct Place {
      std::byte* to;
      void* token;  ///< for `arrived`
    };
    /// A large packet comes. \param head  as sent, there during the call
    /// \returns where its body goes, if that has bytes
    virtual Place place(int from, std::span<const std::byte> head, std::size_t bytes) = 0;
    /// Where the body of a large packet can be read, for as long as this call takes.
    /// \returns whether that was all; else it goes to a place
    virtual bool take_in_place(int /*from*/, std::span<const std::byte> /*head*/, std::span<const std::byte> /*body*/) {
      return false;
    }
    /// All of the body is there.
    virtual void arrived(int from, void* token) = 0;
    /// The body of a large packet that this rank has sent may be written again.
    virtual void reusable(void* token) = 0;
    /// A persistent message has gone or come.
    virtual void persistent_done(const PersistentMessage::Plan& plan) { plan.on_done(); }
    /// The rank is gone, and nothing will come from it any more. From any thread.
    virtual void lost(int rank, const std::string& why) noexcept = 0;

   protected:
    ~Receiver() = default;
  };

  virtual ~Transport() = default;

  virtual int rank() const noexcept = 0;
  virtual int ranks() const noexcept = 0;
  virtual const char* name() const noexcept = 0;
  /// The most bytes of a packet, or of the head of a large one.
  virtual std::size_t most_bytes() const noexcept = 0;

  // -- by any thread

  /// Sends a copy of the packet to another rank. It does not wait: what finds no room is kept until a `poll`.
  /// Packets to one rank may arrive in another order.
  virtual void send(int to, std::span<const std::byte> packet) = 0;
  /// Sends `body` without a copy, if it can; the caller keeps it as it is until `reusable(token)`.
  virtual void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) = 0;
  /// Whether something has come, or `poll` has something to send. Cheap.
  virtual bool anything() const noexcept = 0;
  /// A word in memory that the other ranks share: 1 while a thread of this rank sleeps. Whoever sends to it sets 0 and
  /// wakes it with a futex. Null: nobody would, and the thread must poll.
  virtual std::atomic<std::uint32_t>* doorbell() noexcept = 0;
  /// Tells the other ranks why this one ends, also those that do not poll. Once.
  virtual void announce_failure(const std::string& reason) noexcept = 0;

  /// This rank ends because another one has failed.
  virtual void blame(int /*rank*/, const std::string& /*how*/) noexcept {}
  /// Whether the calling thread may poll (MPI_THREAD_FUNNELED: only one may). Where it may not, `poll` does nothing.
  virtual bool may_poll() const noexcept { return true; }
  /// This rank has so many workers, on these processors.
  virtual void use(std::span<const int> /*processors*/, int /*workers*/) noexcept {}
  /// Whether threads of several ranks must take turns on a processor of this rank, as far as is known.
  virtual bool oversubscribed() const noexcept { return false; }
  /// Memory that all ranks share; null if they share none.
  virtual SharedMemory* shared_memory() noexcept { return nullptr; }

  /// From now on, bytes that wait in this rank's memory for another one to take packets are counted there, by rank.
  void count_queued_in(std::atomic<std::size_t>* by_rank) noexcept { queued_ = by_rank; }
  /// From now on the receiver hears of lost ranks, if this transport can tell. \throws std::system_error
  virtual void watch(Receiver&) {}
  /// These do what those of Messages do.
  virtual int persistent_tags(int /*count*/) { throw std::logic_error("this transport has no persistent messages"); }
  virtual std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan) {
    throw std::logic_error("this transport has no persistent messages");
  }
  virtual void start_persistent() noexcept {}
  virtual PersistentCounts persistent_counts(int /*rank*/) noexcept { return {}; }

  // -- by one thread at a time

  /// Takes what has come, and sends what was kept. \returns whether anything came
  virtual bool poll(Receiver& receiver) = 0;
  /// Whether every packet has left this rank, as far as it was sent by this thread: nobody need poll for them any more.
  virtual bool all_sent() noexcept = 0;
  /// Sends all that was kept, as far as the others take it, before the rank leaves. \returns whether nothing is left
  virtual bool flush(Receiver& receiver) = 0;
  /// The run has failed: when this returns, bodies of large packets are not read or written any more. From any
  /// thread.
  virtual void abandon() noexcept {}
  /// Nothing more is sent, and lost ranks are not reported any more.
  virtual void leave() noexcept {}

 protected:
  void count_queued(int to, std::size_t bytes) noexcept {
    if (queued_ != nullptr) queued_[to].fetch_add(bytes, std::memory_order_relaxed);
  }
  void count_sent(int to, std::size_t bytes) noexcept {
    if (queued_ != nullptr) queued_[to].fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::size_t>* queued_ = nullptr;
};

}  // namespace taskgrain::rt::detail
