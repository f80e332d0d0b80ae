#pragma once

/// Packets through shared memory of one host: a RecordRing from each rank to each other.
///
/// A large packet is announced by a record. Its receiver gets the body itself: by a copy from the sender's arena, if it
/// lies there; else from the sender's memory (process_vm_readv), if the kernel allows that; else it requests the body
/// in pieces, which the sender sends through the ring. In the end the receiver acknowledges, and the sender may write
/// the body again.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record_ring.hpp"
#include "segment.hpp"
#include "spin_lock.hpp"
#include "transport.hpp"
#include "watch.hpp"

namespace taskgrain::rt::detail {

/// The allocator of this rank's arena, which the other ranks of the host can read and write.
class Arena final : public SharedMemory {
 public:
  /// \param places  of all ranks in the segment
  Arena(Segment& segment, std::vector<int> places)
      : segment_(segment), places_(std::move(places)), memory_(segment.arena(segment.rank())) {
    free_.emplace(0, memory_.size());
  }

  /// First fit, in multiples of `apart`. \throws std::system_error  the arena or the host's memory is used up
  std::byte* allocate(std::size_t bytes) override;
  void release(const std::byte* piece) noexcept override;
  std::size_t offset(const std::byte* piece) const noexcept override {
    return static_cast<std::size_t>(piece - memory_.data());
  }
  std::byte* at(int rank, std::size_t offset) const noexcept override {
    return segment_.arena(places_[static_cast<std::size_t>(rank)]).data() + offset;
  }
  bool shared_with(int rank) const noexcept override { return places_[static_cast<std::size_t>(rank)] >= 0; }
  /// The offset of bytes in the arena; SIZE_MAX if they do not lie in it.
  std::size_t find(std::span<const std::byte> bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()),
               at = reinterpret_cast<std::uintptr_t>(bytes.data());
    return at >= begin && at + bytes.size() <= begin + memory_.size() ? at - begin : SIZE_MAX;
  }

 private:
  Segment& segment_;
  const std::vector<int> places_;
  const std::span<std::byte> memory_;
  std::mutex mutex_;                                // protects the members below
  std::map<std::size_t, std::size_t> free_, used_;  // sizes by offset
  std::size_t reserved_ = 0;                        // bytes from the beginning that have pages
};

class SharedTransport final : public Transport {
 public:
  /// \param host  the ranks of this host, by their places in the segment; none: all ranks are, in their order
  /// \param all   how many ranks there are on all hosts
  explicit SharedTransport(std::unique_ptr<Segment> segment, std::vector<int> host = {}, int all = 0);
  ~SharedTransport() override;

  int rank() const noexcept override { return rank_at(segment_->rank()); }
  int ranks() const noexcept override { return static_cast<int>(places_.size()); }
  /// True if a rank is of this host, and another one: then this sends to it, and receives from it.
  bool reaches(int rank) const noexcept { return outgoing_[static_cast<std::size_t>(rank)] != nullptr; }
  const char* name() const noexcept override { return "shared"; }
  std::size_t most_bytes() const noexcept override { return most_bytes_; }
  void send(int to, std::span<const std::byte> packet) override { push(to, packet_type, packet); }
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override;
  bool anything() const noexcept override;
  std::atomic<std::uint32_t>* doorbell() noexcept override { return &segment_->block(segment_->rank()).doorbell; }
  void announce_failure(const std::string& reason) noexcept override { segment_->announce_failure(reason); }
  /// Ranks of other hosts have no block that could be named.
  void blame(int rank, const std::string& how) noexcept override {
    if (arena_.shared_with(rank)) segment_->blame(place_of(rank), how);
  }
  void use(std::span<const int> processors, int workers) noexcept override { segment_->use(processors, workers); }
  bool oversubscribed() const noexcept override { return segment_->oversubscribed(); }
  bool poll(Receiver& receiver) override;
  void abandon() noexcept override {
    abandoned_.store(true);
    segment_->block(segment_->rank()).abandoned.store(1);
    const std::lock_guard ended(body_mutex_);
  }
  bool all_sent() noexcept override { return backlog_.load(std::memory_order_relaxed) == 0; }
  bool flush(Receiver& receiver) override;
  void watch(Receiver& receiver) override;
  void leave() noexcept override;
  SharedMemory* shared_memory() noexcept override { return &arena_; }

 private:
  int rank_at(int place) const noexcept { return host_[static_cast<std::size_t>(place)]; }
  int place_of(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)]; }
  /// True if the rank has left: it receives nothing any more.
  bool has_left(int rank) const noexcept { return segment_->block(place_of(rank)).state.load() == RankBlock::left; }

  /// Types of records.
  static constexpr std::uint64_t packet_type = 0, announce_type = 1, ack_type = 2, request_pieces_type = 3,
                                 piece_type = 4;

  /// The content of announce_type; the head of the large packet follows.
  struct Announce {
    std::uint64_t id;       ///< number among the large packets of the sender
    std::uint64_t bytes;    ///< of the body
    std::uint64_t address;  ///< of the body, in the address space of the sender
    std::uint64_t offset;   ///< in the sender's arena, or outside_arena
  };
  static constexpr std::uint64_t outside_arena = UINT64_MAX;
  /// The content of piece_type; bytes of the body follow.
  struct Piece {
    std::uint64_t id, offset;
  };

  /// A large packet of this rank that its receiver has not acknowledged.
  struct PendingSend {
    int to;
    std::span<const std::byte> body;
    void* token;
    std::size_t sent = 0;    // bytes, if it goes in pieces
    bool in_pieces = false;  // and some are still to be sent: it counts in backlog_
  };
  /// A large packet that this rank receives in pieces.
  struct PendingReceive {
    Receiver::Place place;
    std::size_t missing;  // bytes
  };
  struct Record {
    std::uint64_t type;
    std::vector<std::byte> bytes;
    std::size_t memory() const noexcept { return sizeof *this + bytes.size(); }
  };
  /// The channel to one other rank.
  struct alignas(apart) Outgoing {
    explicit Outgoing(std::span<std::byte> memory) : ring(memory) {}
    SpinLock mutex;  // protects the members below; held for one copy into the ring
    RecordRing ring;
    std::deque<Record> backlog;  // records for which the ring had no room
  };
  /// The channel from one other rank, by the polling thread.
  struct alignas(apart) Incoming {
    Incoming(int rank, std::span<std::byte> memory) : from(rank), ring(memory) {}
    const int from;
    RecordRing ring;
    std::map<std::uint64_t, PendingReceive> pending;  // by id
    bool can_read = true;                             // process_vm_readv has not failed yet
  };

  void push(int to, std::uint64_t type, std::span<const std::byte> a, std::span<const std::byte> b = {});
  /// Moves records from the backlog to the ring, until that is full.
  void send_backlog(int to);
  void send_pieces();
  void receive_large(Incoming& in, std::span<const std::byte> announce, Receiver& receiver);
  void receive_piece(Incoming& in, std::span<const std::byte> piece, Receiver& receiver);
  bool read_memory(Incoming& in, std::byte* to, const Announce& what) noexcept;
  void complete_large(std::uint64_t id, Receiver& receiver);
  template <typename What>
  void reply(int to, std::uint64_t type, const What& what) {
    push(to, type, std::as_bytes(std::span(&what, 1)));
  }

  const std::unique_ptr<Segment> segment_;
  const std::vector<int> host_;    // ranks by place in the segment
  const std::vector<int> places_;  // by rank; -1: on another host
  std::unique_ptr<Watch> watch_;
  Receiver* receiver_ = nullptr;  // set by `watch`
  Arena arena_;
  std::size_t most_bytes_ = 0;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;  // by rank; null for this one, and on other hosts
  std::vector<std::unique_ptr<Incoming>> incoming_;  // from the others of this host
  std::mutex body_mutex_;               // held while bodies are read or written, so that `abandon` waits for that
  std::atomic<bool> abandoned_{false};  // the run has failed; set once, by any thread
  std::mutex pending_mutex_;            // protects the two below
  std::map<std::uint64_t, PendingSend> pending_sends_;  // by id
  std::uint64_t next_id_ = 0;
  std::atomic<std::uint64_t> backlog_{0};  // Σ backlog sizes + large packets in pieces: whether a poll has to send
};

}  // namespace taskgrain::rt::detail
