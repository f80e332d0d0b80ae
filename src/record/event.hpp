#pragma once

#include <cstdint>

namespace taskgrain::record {

/// Events whose kind has a * number a new task or region. A thread counts these from 1 on.
enum class Kind : std::uint8_t {
  thread,          ///< value: the thread of the events behind, up to the next of this kind
  create,          ///< * a task; value: the code that creates it, detail: `undeferred` and `taskwait`
  depend,          ///< of the task that the thread has just created; value: an address, detail: the type
  schedule,        ///< value: the next task of the thread, or 0, detail: the status of the one before
  cancel,          ///< value: a task that never ends
  parallel_begin,  ///< * a region; value: its code
  parallel_end,    ///< value: the region
  implicit_begin,  ///< * a task; value: its region, or 0 for one that is in none, detail: whether it has others
  implicit_end,
  group_begin,
  wait_begin,  ///< detail: the kind of the wait (`ompt::SyncRegion`)
  wait_end,    ///< likewise
  loop_begin,  ///< value: the code of the loop
  loop_end,
  chunk,
  exit,  ///< What the thread does from now on is the end of the process.
};

/// Something that a thread of the recorded program did. The tool writes a file of these, each thread's in their order.
struct Event {
  std::uint64_t head;
  std::uint64_t value;

  Event() = default;
  Event(std::uint64_t ticks, Kind kind, std::uint64_t detail, std::uint64_t value_)
      : head(ticks << 16 | static_cast<std::uint64_t>(kind) << 8 | detail), value(value_) {}
  /// Since the beginning, for a day at least.
  std::uint64_t ticks() const { return head >> 16; }
  Kind kind() const { return static_cast<Kind>(head >> 8 & 0xff); }
  std::uint64_t detail() const { return head & 0xff; }
};

inline constexpr std::uint64_t undeferred = 1, taskwait = 2;

/// The number of a task or region among all.
constexpr std::uint64_t numbered(std::uint64_t thread, std::uint64_t number) { return (thread + 1) << 40 | number; }

/// A tool stops at so many events, of some two million tasks: 128 MiB, and two gigabytes where the graph is made.
inline constexpr std::uint64_t most_events = std::uint64_t{1} << 23;

}  // namespace taskgrain::record
