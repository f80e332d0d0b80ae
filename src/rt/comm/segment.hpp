#pragma once

/// The memory that the ranks of one host share. It has no name: it is a memfd, which the launcher hands down to the
/// ranks, or which they open through /proc. So nothing stays when they are gone, however they end. (Where /proc is
/// refused to one of them, it has a random name in /dev/shm until all have opened it.)
///
///     [ head | a block for each rank | a ring for each pair of ranks | an arena for each rank ]
///
/// Pages of the arenas are reserved when they are given out; all others at the beginning. Where there is no room, that
/// is an error with the number of bytes, and no signal later.
///
/// Who makes it decides the sizes, and writes them in the head: each arena is as large as the host's memory divided by
/// the ranks, or less where the address space of the maker is limited. The others map what the head says.

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

/// What the others know of a rank.
///
/// The rank writes everything but
/// - `doorbell`: also by who rings (Transport::doorbell);
/// - `state` and the reason: also by the launcher, when the rank's process has ended.
/// Whoever has changed `reason_writer` from nobody writes the reason; the launcher also takes the place of a rank that
/// has ended with `reason_bytes` == 0. The launcher alone writes `process_ended`.
///
/// A process may attach again after it has left. Then the counts say which time a rank is at:
/// left ≤ attached ≤ left + 1.
struct alignas(apart) RankBlock {
  enum State : std::uint32_t {
    absent,    ///< it has not attached
    attached,  ///< `process` and the rest about it are there
    left,      ///< it has ended as it should
    failed,    ///< it has said why in `reason`, and ends
    dead,      ///< the launcher has seen its end, and says how in `reason` if they are empty
  };
  enum ReasonWriter : std::uint32_t { nobody, itself, launcher };
  static constexpr std::size_t most_reason_bytes = 4000;

  alignas(apart) std::atomic<std::uint32_t> doorbell{0};
  alignas(apart) std::atomic<std::uint32_t> state{absent};
  std::atomic<std::uint32_t> taken{0};  ///< 1: an object of the process attaches, or is attached
  std::atomic<std::uint32_t> times_attached{0}, times_left{0};
  std::atomic<std::uint32_t> process_ended{0};  ///< written after what it is the end of
  std::atomic<std::uint32_t> looks{0};      ///< of its Watch at the others, which it does not do while it is stopped
  std::atomic<std::uint32_t> abandoned{0};  ///< bodies that it has announced may be gone: set before its waits throw
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint64_t> start_time{0};  ///< of the process, as /proc/PID/stat has it: tells it from a later one
  std::atomic<std::uint64_t> process_namespace{0};  ///< in which `process` is its number
  static constexpr std::size_t most_processors = 4096;
  std::atomic<std::uint64_t> processors[most_processors / 64] = {};  ///< a bit for each that its workers may use
  std::atomic<std::uint32_t> workers{0};                             ///< written after `processors`; 0: it does not say
  std::atomic<std::uint32_t> blames{0};  ///< it ends because that rank - 1 has failed, as `reason` says; 0: none has
  std::atomic<std::uint32_t> reason_writer{nobody};
  std::atomic<std::uint32_t> reason_bytes{0};  ///< written after `reason`
  char reason[most_reason_bytes] = {};
};

class Segment {
 public:
  static constexpr int most_ranks = 1024;
  /// The rank of an observer, such as the launcher. It attaches to no block.
  static constexpr int observer = -1;

  /// How the ranks of a host agree before they share memory. Each is called by all of them, in the same order.
  struct Together {
    /// Gives the bytes of rank 0 to all.
    std::function<void(std::span<std::byte> bytes)> broadcast;
    /// Whether it is true for all.
    std::function<bool(bool)> all;
  };

  /// By the launcher, before it starts the ranks. \returns a file descriptor that children inherit
  /// \throws UsageError  so many ranks; std::system_error with the number of bytes, if there is no memory
  static int make(int ranks);
  /// Maps the segment of the launcher, and attaches to the block of `rank`. The caller still closes its descriptor.
  /// A process that has left may attach again, with empty rings: that waits until all others do.
  /// \throws UsageError  it is none, there is no such rank, another process has attached to it, or this one has and has
  ///   not left; RankFailed  one has, or has ended and so does not attach again; std::system_error
  Segment(int descriptor, int rank);
  /// Makes one together with others, which have no launcher of ours. All are attached in the end.
  /// \throws std::system_error, UsageError: on all ranks
  Segment(int rank, int ranks, const Together& together);
  /// To the others, the rank is still there if it has not left.
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }
  RankBlock& block(int rank) const noexcept;
  /// Zeros at the beginning. Aligned to `apart`. \pre from != to
  std::span<std::byte> ring(int from, int to) const noexcept;
  /// Mapped by all, at other addresses.
  std::span<std::byte> arena(int rank) const noexcept;
  /// Reserves pages of this rank's arena; much at once, because it asks the kernel for what there is.
  /// \throws std::system_error with the number of bytes
  void reserve(std::size_t offset, std::size_t bytes);

  /// This rank ends as it should.
  void leave() noexcept;
  /// Sets the state and the reason of this rank, once, and rings all doorbells.
  void announce_failure(const std::string& reason) noexcept;
  /// This rank ends because another one has failed, and this is how. Before `announce_failure`.
  void blame(int rank, const std::string& how) noexcept;
  /// By the launcher, in the end: the rank's process does not attach again.
  void mark_process_ended(int rank) noexcept { block(rank).process_ended.store(1); }
  /// The reason of a rank, or of the launcher about it; empty if there are none.
  std::string failure_reason(int rank) const;
  struct Failure {
    int rank;
    std::string why;  ///< empty if nobody says
  };
  /// What ends a rank: its own failure, or that of another one.
  Failure failure(int rank) const;
  /// By the launcher: the rank's process has ended, and this is how. Rings all doorbells.
  void mark_dead(int rank, const std::string& how) noexcept;

  /// This rank has so many workers, on these processors.
  void use(std::span<const int> processors, int workers) noexcept;
  /// Whether some of the processors that this rank uses have more workers than there are of them, of all ranks.
  bool oversubscribed() const noexcept;

  /// Wakes the thread that sleeps on the rank's doorbell, if any.
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
