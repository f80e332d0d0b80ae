#pragma once

/// The memory that the ranks of one host share. It is a memfd, which the ranks inherit from the launcher or open
/// through /proc. It has no name, so the kernel frees it when the last rank ends, however that ends. (If one of them
/// may not open it through /proc, it gets a random name in /dev/shm until all have opened it.)
///
///     [ head | a block for each rank | a ring for each pair of ranks | an arena for each rank ]
///
/// Pages of the arenas are reserved (fallocate) when pieces are allocated, all others at the beginning. So a lack of
/// memory is an error with the number of bytes, and no SIGBUS later.
///
/// The process that makes the segment chooses the sizes and writes them into the head. An arena is as large as the
/// host's memory divided by the ranks, or smaller where the address space is limited. Other processes map what the head
/// says.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/memory_file.hpp"
#include "comm/rank_block.hpp"

namespace taskgrain::rt::detail {

class Segment {
 public:
  static constexpr int most_ranks = 1024;
  /// The rank of the launcher, which only observes: it attaches to no block.
  static constexpr int observer = -1;

  /// Collective operations of the ranks, before they share memory. All ranks call them in the same order.
  struct Collectives {
    /// Copies the bytes of rank 0 to all.
    std::function<void(std::span<std::byte> bytes)> broadcast;
    /// The logical and of all ranks.
    std::function<bool(bool)> all;
  };

  /// Makes the memory of the ranks. The launcher calls it before it starts them.
  /// \returns a file descriptor that children inherit
  /// \throws UsageError  too many ranks; std::system_error with the number of bytes, if there is no memory
  static int make(int ranks);
  /// Maps the segment of the launcher, and attaches to the block of `rank`. The caller keeps its descriptor.
  /// A process that has left may attach again, with empty rings: then it waits until all other ranks do.
  /// \throws UsageError  the descriptor is no segment, there is no such rank, another process has attached to it, or
  ///   this process is still attached; RankFailed  another rank has failed, or has ended instead of attaching again;
  ///   std::system_error
  Segment(int descriptor, int rank);
  /// Makes a segment, by all ranks together, where taskgrain-run has not started them. Attaches all of them.
  /// \throws std::system_error, UsageError: on all ranks
  Segment(int rank, int ranks, const Collectives& collectives);
  /// Unmaps. For the other ranks, this one stays attached unless it has left.
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  RankBlock& block(int rank) const noexcept;
  /// Memory for a RecordRing. \pre from != to
  std::span<std::byte> ring(int from, int to) const noexcept;
  /// Every rank maps all arenas, at addresses of its own.
  std::span<std::byte> arena(int rank) const noexcept;
  /// Reserves pages of this rank's arena. Slow: it reads the available memory from the kernel.
  /// \throws std::system_error with the number of bytes
  void reserve(std::size_t offset, std::size_t bytes);

  /// Does RankBlock::leave for this rank.
  void leave() noexcept { block(rank_).leave(); }
  /// Does RankBlock::announce_failure for this rank. Rings all doorbells.
  void announce_failure(const std::string& reason) noexcept;
  /// Does RankBlock::blame for this rank.
  void blame(int rank, const std::string& how) noexcept { block(rank_).blame(rank, how); }
  /// The process of a rank has ended. The launcher calls it, after all other calls for the rank.
  void mark_process_ended(int rank) noexcept { block(rank).process_ended.store(1); }
  struct Failure {
    int rank;
    std::string why;  ///< empty if unknown
  };
  /// The failure that ends a rank: its own, or that of another one.
  Failure failure(int rank) const;
  /// Does RankBlock::mark_dead. Rings all doorbells.
  void mark_dead(int rank, const std::string& how) noexcept;

  /// Does Transport::use.
  void use(std::span<const int> processors, int workers) noexcept { block(rank_).use(processors, workers); }
  /// Answers Transport::oversubscribed.
  bool oversubscribed() const noexcept;

  /// Wakes a thread that sleeps on the rank's doorbell.
  void ring_doorbell(int rank) const noexcept;

 private:
  static MemoryFile make_file(int ranks, std::string* name);
  void map();
  void unmap() noexcept;
  void attach();
  void attach_again();
  template <typename Ready>
  std::optional<Failure> wait_for_others(const Ready& ready) const;
  void ring_all_doorbells() const noexcept;

  MemoryFile file_;
  int rank_, ranks_ = 0;
  std::span<std::byte> memory_;
  std::size_t ring_bytes_ = 0, arena_bytes_ = 0;
  std::byte *blocks_ = nullptr, *rings_ = nullptr, *arenas_ = nullptr;
};

}  // namespace taskgrain::rt::detail
