#pragma once

/// Packets through the memory that the ranks of a host share: a ring from each rank to each other.
///
/// A large packet is announced by a small one. Its receiver takes the body itself: where it lies, if that is the
/// sender's arena; else out of the sender's memory (process_vm_readv), if the kernel lets it; else it asks the sender
/// to send it in pieces through the ring.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "arena.hpp"
#include "record_ring.hpp"
#include "segment.hpp"
#include "spin_lock.hpp"
#include "transport.hpp"
#include "watch.hpp"

namespace taskgrain::rt::detail {

class SharedTransport final : public Transport {
 public:
  explicit SharedTransport(std::unique_ptr<Segment> segment);
  ~SharedTransport() override;

  int rank() const noexcept override { return segment_->rank(); }
  int ranks() const noexcept override { return segment_->ranks(); }
  const char* name() const noexcept override { return "shared"; }
  std::size_t most_bytes() const noexcept override { return most_bytes_; }
  void send(int to, std::span<const std::byte> packet) override { push(to, packet_type, packet); }
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override;
  bool anything() const noexcept override;
  std::atomic<std::uint32_t>* doorbell() noexcept override { return &segment_->block(rank()).doorbell; }
  void announce_failure(const std::string& reason) noexcept override { segment_->announce_failure(reason); }
  void blame(int rank, const std::string& how) noexcept override { segment_->blame(rank, how); }
  void use(std::span<const int> processors, int workers) noexcept override { segment_->use(processors, workers); }
  bool oversubscribed() const noexcept override { return segment_->oversubscribed(); }
  bool poll(Receiver& receiver) override;
  void abandon() noexcept override {
    abandoned_.store(true);
    segment_->block(rank()).abandoned.store(1);
    const std::lock_guard ended(touching_);
  }
  bool all_sent() noexcept override { return kept_.load(std::memory_order_relaxed) == 0; }
  bool flush(Receiver& receiver) override;
  void watch(Receiver& receiver) override;
  void leave() noexcept override;
  SharedMemory* shared_memory() noexcept override { return &arena_; }

 private:
  /// It takes nothing any more.
  bool has_left(int rank) const noexcept { return segment_->block(rank).state.load() == RankBlock::left; }

  /// Of a record.
  static constexpr std::uint64_t packet_type = 0, announce_type = 1, taken_type = 2, pieces_type = 3, piece_type = 4;

  /// The head of what announces a large packet; the packet's own head follows.
  struct Announce {
    std::uint64_t id;       ///< among the large packets of its sender
    std::uint64_t bytes;    ///< of the body
    std::uint64_t address;  ///< of the body, in the sender
    std::uint64_t offset;   ///< in the sender's arena; not_there if it is elsewhere
  };
  static constexpr std::uint64_t not_there = UINT64_MAX;
  struct Piece {
    std::uint64_t id, offset;
  };

  /// A large packet of this rank that its receiver has not taken.
  struct Leaving {
    int to;
    std::span<const std::byte> body;
    void* token;
    std::size_t sent = 0;  // in pieces
    bool in_pieces = false;
  };
  /// One that comes in pieces.
  struct Coming {
    Receiver::Place place;
    std::size_t missing;
  };
  struct Record {
    std::uint64_t type;
    std::vector<std::byte> bytes;
    std::size_t memory() const noexcept { return sizeof *this + bytes.size(); }
  };
  /// The way to one other rank.
  struct alignas(apart) Out {
    explicit Out(std::span<std::byte> memory) : ring(memory) {}
    SpinLock mutex;  // protects the members below; for a copy into the ring
    RecordRing ring;
    std::deque<Record> kept;  // found no room
  };
  struct alignas(apart) In {
    explicit In(std::span<std::byte> memory) : ring(memory) {}
    RecordRing ring;
    std::map<std::uint64_t, Coming> coming;  // by id
    bool may_read = true;                    // the memory of the sender, as far as is known
  };

  void push(int to, std::uint64_t type, std::span<const std::byte> a, std::span<const std::byte> b = {});
  /// Sends what was kept for a rank, as far as it takes that.
  void send_kept(int to);
  void send_pieces();
  void take_large(int from, std::span<const std::byte> announce, Receiver& receiver);
  void take_piece(int from, std::span<const std::byte> piece, Receiver& receiver);
  bool read_memory(int from, std::byte* to, const Announce& what) noexcept;
  void end_large(std::uint64_t id, Receiver& receiver);
  template <typename What>
  void answer(int to, std::uint64_t type, const What& what) {
    push(to, type, std::as_bytes(std::span(&what, 1)));
  }

  const std::unique_ptr<Segment> segment_;
  std::unique_ptr<Watch> watch_;
  Arena arena_;
  std::size_t most_bytes_ = 0;
  std::vector<std::unique_ptr<Out>> outs_;  // by rank; null for this one
  std::vector<std::unique_ptr<In>> ins_;
  std::mutex touching_;                       // held while bodies are read or written
  std::atomic<bool> abandoned_{false};        // the run has failed
  std::mutex leaving_mutex_;                  // protects the two below
  std::map<std::uint64_t, Leaving> leaving_;  // by id
  std::uint64_t next_id_ = 0;
  std::atomic<std::uint64_t> kept_{0};  // records and large packets in pieces that wait for a poll
};

}  // namespace taskgrain::rt::detail
