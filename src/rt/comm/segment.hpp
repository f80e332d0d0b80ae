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

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "comm/memory_file.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// The state of one rank, for the other ranks and the launcher.
///
/// The rank alone writes all members, except
/// - `doorbell`: senders write it, too (Transport::doorbell);
/// - `state` and the reason: the launcher writes them, too, when the rank's process has ended;
/// - `process_ended`: the launcher alone writes it.
/// The one that changes `reason_writer` from nobody by compare-and-swap writes the reason. If a rank has ended before
/// it wrote one (`reason_bytes` = 0), the launcher writes it.
///
/// A process may attach again after it has left:   times_left ≤ times_attached ≤ times_left + 1.
struct alignas(apart) RankBlock {
  enum State : std::uint32_t {
    absent,    ///< not attached yet
    attached,  ///< the members about its process are written
    left,      ///< it has ended its communicator without a failure
    failed,    ///< it has written `reason`, and ends
    dead,      ///< its process has ended; the launcher has written `reason` if the rank had not
  };
  enum ReasonWriter : std::uint32_t { nobody, itself, launcher };
  static constexpr std::size_t most_reason_bytes = 4000;

  alignas(apart) std::atomic<std::uint32_t> doorbell{0};
  alignas(apart) std::atomic<std::uint32_t> state{absent};
  std::atomic<std::uint32_t> in_use{0};  ///< 1 while a Segment of the process is attached: only one at a time may be
  std::atomic<std::uint32_t> times_attached{0}, times_left{0};
  std::atomic<std::uint32_t> process_ended{0};  ///< 1: no other member changes any more
  std::atomic<std::uint32_t> heartbeats{
      0};  ///< counted up by its Watch: it stays as it is while the process is stopped
  std::atomic<std::uint32_t> abandoned{
      0};  ///< 1: bodies that it has announced may be freed. Set before its waits throw
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint64_t> start_time{
      0};  ///< of the process, from /proc/PID/stat: tells it from a later process of the same PID
  std::atomic<std::uint64_t> process_namespace{0};  ///< the PID namespace of `process`
  static constexpr std::size_t most_processors = 4096;
  std::atomic<std::uint64_t> processors[most_processors / 64] = {};  ///< one bit each: those that its workers may use
  std::atomic<std::uint32_t> workers{0};  ///< stored with release after `processors`; 0: unknown
  std::atomic<std::uint32_t> blamed{
      0};  ///< 1 + the rank whose failure ends this one, with the `reason` of that; 0: none
  std::atomic<std::uint32_t> reason_writer{nobody};
  std::atomic<std::uint32_t> reason_bytes{0};  ///< stored with release after `reason`
  char reason[most_reason_bytes] = {};
};

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

  /// By the launcher, before it starts the ranks. \returns a file descriptor that children inherit
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

  /// This rank ends without a failure.
  void leave() noexcept;
  /// Sets the state and the reason of this rank, once, and rings all doorbells.
  void announce_failure(const std::string& reason) noexcept;
  /// This rank ends because another one has failed, with this reason. Before `announce_failure`.
  void blame(int rank, const std::string& how) noexcept;
  /// By the launcher, after all other calls for the rank: its process has ended.
  void mark_process_ended(int rank) noexcept { block(rank).process_ended.store(1); }
  /// The reason that the rank, or the launcher, has written; empty if there is none.
  std::string failure_reason(int rank) const;
  struct Failure {
    int rank;
    std::string why;  ///< empty if unknown
  };
  /// The failure that ends a rank: its own, or that of another one.
  Failure failure(int rank) const;
  /// By the launcher: the rank's process has ended in this way. Rings all doorbells.
  void mark_dead(int rank, const std::string& how) noexcept;

  /// As Transport::use.
  void use(std::span<const int> processors, int workers) noexcept;
  /// As Transport::oversubscribed.
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
