#pragma once

/// The state of one rank, for the other ranks and the launcher. It lies in the memory that they share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

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
  /// Counted up by its Watch: it stays as it is while the process is stopped
  std::atomic<std::uint32_t> heartbeats{0};
  /// 1: bodies that it has announced may be freed. Set before its waits throw
  std::atomic<std::uint32_t> abandoned{0};
  std::atomic<std::int32_t> process{0};
  /// The start of the process, from /proc/PID/stat: tells it from a later process of the same PID
  std::atomic<std::uint64_t> start_time{0};
  std::atomic<std::uint64_t> process_namespace{0};  ///< the PID namespace of `process`
  static constexpr std::size_t most_processors = 4096;
  std::atomic<std::uint64_t> processors[most_processors / 64] = {};  ///< one bit each: those that its workers may use
  std::atomic<std::uint32_t> workers{0};  ///< stored with release after `processors`; 0: unknown
  /// 1 + the rank whose failure ends this one, with the `reason` of that; 0: none
  std::atomic<std::uint32_t> blamed{0};
  std::atomic<std::uint32_t> reason_writer{nobody};
  std::atomic<std::uint32_t> reason_bytes{0};  ///< stored with release after `reason`
  char reason[most_reason_bytes] = {};

  // -- by the rank

  /// It ends without a failure.
  void leave() noexcept;
  /// It ends because another rank has failed, with this reason. Before `announce_failure`.
  void blame(int rank, const std::string& how) noexcept;
  /// Sets the reason and the state, once. \returns whether there was no reason before
  bool announce_failure(const std::string& reason) noexcept;
  /// Does Transport::use.
  void use(std::span<const int> used, int threads) noexcept;

  // -- by others

  /// The rank's process has ended in this way. The launcher calls it.
  void mark_dead(const std::string& how) noexcept;
  /// The reason that the rank, or the launcher, has written; empty if there is none.
  std::string failure_reason() const;

 private:
  /// \returns whether this rank writes the reason
  bool becomes_reason_writer() noexcept;
  /// \pre the caller is the writer of the reason
  void write_reason(const std::string& text) noexcept;
};

}  // namespace taskgrain::rt::detail
