#pragma once

/// Notices that other ranks of the host have ended, also those that were killed and could announce nothing.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/memory_file.hpp"
#include "comm/segment.hpp"

namespace taskgrain::rt::detail {

struct ProcessState {
  char state;                ///< the letter of /proc/PID/stat
  std::uint64_t start_time;  ///< in clock ticks since the machine has started

  bool ended() const noexcept { return state == 'Z' || state == 'X'; }
  /// Stopped by a signal; a debugger shows as another letter.
  bool stopped() const noexcept { return state == 'T'; }
};

/// The state of a process by /proc/PID/stat; nothing if there is none.
std::optional<ProcessState> process_state(pid_t process);

/// The number of this PID namespace: only in the same one do PIDs mean the same. 0 if the kernel does not say.
std::uint64_t process_namespace() noexcept;

/// A thread that sleeps in poll(2) until the process of another rank ends (pidfd). Each `interval` it also reads the
/// states in the shared blocks, and whether a process is stopped by a signal.
class Watch {
 public:
  /// Called by the thread, once for each rank that is lost; it does not throw. A rank that has left is not lost.
  using Lost = std::function<void(int rank, const std::string& why)>;

  /// The way in which the thread learns that a process has ended.
  enum class By {
    pidfd,    ///< from the kernel at once; where that refuses, as below
    polling,  ///< from /proc, each interval
  };

  /// \param segment  lives longer
  /// \throws std::system_error
  Watch(const Segment& segment, Lost lost, By by = By::pidfd,
        std::chrono::milliseconds interval = std::chrono::milliseconds(500));
  /// \pre not in the function `lost`
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  /// Another rank, as the thread knows it.
  struct Peer {
    int rank;
    bool watched = false;  ///< begin_watching was called
    FileDescriptor handle{};
    bool ended = false;                   ///< its process
    Clock::time_point wait_for_reason{};  ///< if it has ended: until when the launcher may still write why
    int stopped = 0;                      ///< checks in a row that found it stopped, with no heartbeat in between
    std::uint32_t heartbeats = 0;         ///< RankBlock::heartbeats at the last check
    bool lost = false;
  };

  void watch();
  bool same_pid_namespace(const Peer& peer) const;
  /// Sleeps until a process ends, or the next check is due. \returns false when the destructor has asked for the end
  bool sleep();
  void check(Peer& peer);
  /// Opens the pidfd. \pre the rank has attached
  void begin_watching(Peer& peer) const;
  bool process_is_there(const Peer& peer) const;
  void mark_ended(Peer& peer) const;
  bool stays_stopped(Peer& peer) const;
  void lose(Peer& peer, const std::string& fallback);

  const Segment& segment_;
  const Lost lost_;
  const By by_;
  const std::chrono::milliseconds interval_;
  const std::uint64_t namespace_;
  const FileDescriptor stop_;  ///< an eventfd that the destructor writes
  std::vector<Peer> peers_;
  Clock::time_point next_heartbeat_{};
  bool heartbeat_due_ = true;  ///< in this round of checks
  std::thread thread_;
};

}  // namespace taskgrain::rt::detail
