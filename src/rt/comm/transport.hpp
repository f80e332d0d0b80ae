#pragma once

/// Transport: packets from one rank to another, through shared memory of one host (SharedTransport), by MPI
/// (MpiTransport), or by one or the other (HostsTransport).
///
/// A small packet is copied. The body of a large packet is not: the sender keeps it unchanged until `reusable(token)`.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

class SharedMemory;

class Transport {
 public:
  /// Gets what arrives. All but `lost` are called by the polling thread, during `poll`.
  class Receiver {
   public:
    /// \param bytes  aligned to 16 bytes, and there during the call
    virtual void packet(int from, std::span<const std::byte> bytes) = 0;
    struct Place {
      std::byte* to;
      void* token;  ///< for `arrived`
    };
    /// A large packet has been announced. \param head  valid during the call
    /// \returns memory for its body, if that has any bytes
    virtual Place place(int from, std::span<const std::byte> head, std::size_t bytes) = 0;
    /// Offers the body of a large packet in shared memory, valid during the call.
    /// \returns true if the receiver needs no copy; else `place` is called
    virtual bool take_in_place(int /*from*/, std::span<const std::byte> /*head*/, std::span<const std::byte> /*body*/) {
      return false;
    }
    /// The body of a large packet is complete.
    virtual void arrived(int from, void* token) = 0;
    /// The receiver has read the body of a large packet that this rank sent: it may be written again.
    virtual void reusable(void* token) = 0;
    /// A large packet has not arrived, or was not taken, and never will: nothing has the token any more.
    virtual void drop(void* /*token*/) noexcept {}
    /// A persistent message was sent or received.
    virtual void persistent_done(const PersistentMessage::Plan& plan) { plan.on_done(); }
    /// The rank has failed or ended: nothing more comes from it. From any thread.
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

  /// Sends a copy of the packet to another rank. It does not block: if the channel is full, the copy stays in memory of
  /// this rank until a `poll`. Packets to one rank may arrive in another order.
  virtual void send(int to, std::span<const std::byte> packet) = 0;
  /// Sends `body` without a copy, if it can; the caller keeps it as it is until `reusable(token)`.
  virtual void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) = 0;
  /// True if a `poll` has something to receive or send. It takes a few loads.
  virtual bool anything() const noexcept = 0;
  /// A futex word in shared memory: 1 while a thread of this rank sleeps on it. A rank that sends to this one exchanges
  /// it for 0, and wakes the thread if it was 1. Null if no sender would: then threads must poll.
  virtual std::atomic<std::uint32_t>* doorbell() noexcept = 0;
  /// Publishes why this rank fails, so that other ranks learn it, also those that do not poll. Only the first call
  /// counts.
  virtual void announce_failure(const std::string& reason) noexcept = 0;

  /// Publishes that this rank ends because another one has failed.
  virtual void blame(int /*rank*/, const std::string& /*how*/) noexcept {}
  /// True if the calling thread may poll; below MPI_THREAD_MULTIPLE only MPI's main thread may. Elsewhere `poll` does
  /// nothing.
  virtual bool may_poll() const noexcept { return true; }
  /// Publishes the number of workers of this rank, and their processors, for `oversubscribed`.
  virtual void use(std::span<const int> /*processors*/, int /*workers*/) noexcept {}
  /// True if the ranks that share processors with this one have, together, more workers than processors.
  virtual bool oversubscribed() const noexcept { return false; }
  /// Memory that this rank shares with others; null if there is none.
  virtual SharedMemory* shared_memory() noexcept { return nullptr; }

  /// Sets the counters of bytes that wait in memory of this rank, by receiving rank.
  virtual void count_queued_in(std::vector<std::atomic<std::size_t>*> by_rank) { queued_ = std::move(by_rank); }
  /// Begins to call Receiver::lost, where the transport can notice it outside a poll. \throws std::system_error
  virtual void watch(Receiver&) {}
  /// Does as the functions of Messages.
  virtual int persistent_tags(int /*count*/) { throw std::logic_error("this transport has no persistent messages"); }
  virtual std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan) {
    throw std::logic_error("this transport has no persistent messages");
  }
  virtual void start_persistent() noexcept {}
  virtual PersistentCounts persistent_counts(int /*rank*/) noexcept { return {}; }

  // -- by one thread at a time

  /// Receives, and sends what could not be sent before. \returns whether anything was received
  virtual bool poll(Receiver& receiver) = 0;
  /// True if all packets that the calling thread has sent have left, so that they need no more polls.
  virtual bool all_sent() noexcept = 0;
  /// Polls once before the rank leaves. \returns whether everything was sent, and taken by the ranks that still take it
  virtual bool flush(Receiver& receiver) = 0;
  /// Stops to read and write bodies of large packets, after a failure. When it returns, they may be freed. Any thread
  /// calls it.
  virtual void abandon() noexcept {}
  /// Ends the transport: nothing more is sent, and Receiver::lost is not called any more. Drops the large packets that
  /// are left.
  virtual void leave() noexcept {}

 protected:
  void count_queued(int to, std::size_t bytes) noexcept {
    if (!queued_.empty()) queued_[static_cast<std::size_t>(to)]->fetch_add(bytes, std::memory_order_relaxed);
  }
  void count_sent(int to, std::size_t bytes) noexcept {
    if (!queued_.empty()) queued_[static_cast<std::size_t>(to)]->fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<std::size_t>*> queued_;
};

}  // namespace taskgrain::rt::detail
