#include "comm/watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace taskgrain::rt::detail {

std::optional<ProcessState> process_state(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line, '\0') && line.empty()) return std::nullopt;
  // "PID (NAME) STATE …", and the time is the 22nd field. A name may have blanks and brackets.
  const auto bracket = line.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(bracket + 1));
  ProcessState found{};
  fields >> found.state;
  std::string other;
  for (int field = 4; field < 22; ++field) fields >> other;
  if (!(fields >> found.start_time)) return std::nullopt;
  return found;
}

std::uint64_t process_namespace() noexcept {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

namespace {

using std::chrono::milliseconds;

/// The time to wait, after an end, for the launcher, which learns from waitpid how the process has ended; and the time
/// between two checks.
constexpr milliseconds time_for_reason(200), ended_interval(10);
/// A rank that is stopped at so many checks in a row is lost. Checks are counted, not time, because this process may
/// have been stopped, too. A heartbeat of the other rank between two checks starts the count again: a debugger may stop
/// and continue both processes, so that each check finds it stopped although it has run.
constexpr int most_stopped_beats = 7;

int open_handle(pid_t process) noexcept { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

}  // namespace

Watch::Watch(const Segment& segment, Lost lost, By by, milliseconds interval)
    : segment_(segment), lost_(std::move(lost)), by_(by), interval_(interval), namespace_(process_namespace()),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw std::system_error(errno, std::system_category(), "cannot make an eventfd");
  for (int rank = 0; rank < segment.ranks(); ++rank)
    if (rank != segment.rank()) peers_.push_back({.rank = rank});
  // Block all signals in the new thread, so that the program's handlers run in its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Watch::watch() {
  for (bool goes_on = true; goes_on;) {
    heartbeat_due_ = Clock::now() >= next_heartbeat_;
    if (heartbeat_due_) {
      next_heartbeat_ = Clock::now() + interval_;
      segment_.block(segment_.rank()).heartbeats.fetch_add(1, std::memory_order_relaxed);
    }
    try {
      for (Peer& peer : peers_)
        if (!peer.lost) check(peer);
      goes_on = sleep();
    } catch (const std::bad_alloc&) {  // the next round does it
      std::this_thread::sleep_for(ended_interval);
    }
  }
}

bool Watch::sleep() {
  std::vector<pollfd> files{{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  std::vector<Peer*> ends;
  Clock::time_point until = next_heartbeat_;
  for (Peer& peer : peers_) {
    if (peer.lost) continue;
    if (peer.ended) {
      until = std::min(until, Clock::now() + ended_interval);
    } else if (peer.handle) {
      files.push_back({.fd = peer.handle.get(), .events = POLLIN, .revents = 0});
      ends.push_back(&peer);
    }
  }
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  if (poll(files.data(), files.size(), std::max(0, static_cast<int>(left.count()))) <= 0) return true;
  for (std::size_t k = 0; k < ends.size(); ++k)
    if (files[k + 1].revents != 0) mark_ended(*ends[k]);
  return files[0].revents == 0;
}

void Watch::check(Peer& peer) {
  switch (segment_.block(peer.rank).state.load()) {
    case RankBlock::absent:
      return;
    case RankBlock::left:  // its end is expected; but the launcher may still mark it dead, if it exits with an error
      peer.handle.reset();
      peer.ended = false;
      // It left because it has lost a rank. That may be this one, if it was stopped meanwhile.
      if (segment_.block(peer.rank).blamed.load() != 0) lose(peer, "it did not say why");
      return;
    case RankBlock::attached:
      if (!peer.watched) begin_watching(peer);
      if (peer.ended) {
        if (Clock::now() >= peer.wait_for_reason) lose(peer, "its process has ended");
      } else if (heartbeat_due_) {
        if (!peer.handle && !process_is_there(peer))
          mark_ended(peer);
        else if (stays_stopped(peer))
          lose(peer, "its process is stopped (SIGSTOP)");
      }
      return;
    default:
      lose(peer, "it did not say why");
  }
}

void Watch::begin_watching(Peer& peer) const {
  peer.watched = true;
  if (by_ == By::polling || !same_pid_namespace(peer)) return;
  peer.handle = FileDescriptor(open_handle(segment_.block(peer.rank).process.load()));
  // The kernel may have given the number to a later process before pidfd_open. The start time tells, and cannot change
  // any more now that the pidfd is open.
  if (peer.handle && !process_is_there(peer)) mark_ended(peer);
}

/// True if the peer is in the PID namespace of this process. In another one (a container) the same number names another
/// process.
bool Watch::same_pid_namespace(const Peer& peer) const {
  return segment_.block(peer.rank).process_namespace.load() == namespace_;
}

bool Watch::process_is_there(const Peer& peer) const {
  if (!same_pid_namespace(peer)) return true;  // this namespace cannot tell
  const RankBlock& block = segment_.block(peer.rank);
  const pid_t process = block.process.load();
  const std::optional<ProcessState> found = process_state(process);
  if (!found) return kill(process, 0) == 0 || errno != ESRCH;
  const std::uint64_t start_time = block.start_time.load();
  return !found->ended() && (start_time == 0 || found->start_time == start_time);
}

void Watch::mark_ended(Peer& peer) const {
  peer.handle.reset();
  peer.ended = true;
  peer.wait_for_reason = Clock::now() + time_for_reason;
}

bool Watch::stays_stopped(Peer& peer) const {
  if (!same_pid_namespace(peer)) return false;
  const RankBlock& block = segment_.block(peer.rank);
  const std::uint32_t beats = block.heartbeats.load(std::memory_order_relaxed);
  const bool went_on = std::exchange(peer.heartbeats, beats) != beats;
  const std::optional<ProcessState> found = process_state(block.process.load());
  const bool is_stopped = found && found->stopped();
  peer.stopped = is_stopped ? (went_on ? 1 : peer.stopped + 1) : 0;
  return peer.stopped == most_stopped_beats;
}

void Watch::lose(Peer& peer, const std::string& fallback) {
  const Segment::Failure failure = segment_.failure(peer.rank);
  lost_(failure.rank, failure.why.empty() ? fallback : failure.why);
  peer.lost = true;
  peer.handle.reset();
}

}  // namespace taskgrain::rt::detail
