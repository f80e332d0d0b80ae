#include "comm/watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "comm/process.hpp"

namespace taskgrain::rt::detail {

namespace {

using std::chrono::milliseconds;

/// The launcher learns at the same time how a process has ended.
constexpr milliseconds time_for_reason(200), between_glances(10);
/// In looks, not in time, because this process may have been stopped as well. If the other process has looked in
/// between, it ran, although each look of this one found it stopped: a debugger may stop and continue both again and
/// again.
constexpr int most_looks_stopped = 7;

int open_handle(pid_t process) noexcept { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

}  // namespace

Watch::Watch(const Segment& segment, Lost lost, By by, milliseconds between_looks)
    : segment_(segment), lost_(std::move(lost)), by_(by), between_looks_(between_looks),
      namespace_(process_namespace()), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw std::system_error(errno, std::system_category(), "cannot make an eventfd");
  for (int rank = 0; rank < segment.ranks(); ++rank)
    if (rank != segment.rank()) others_.push_back({.rank = rank});
  // The program's handlers of signals run in threads of its own.
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
  do {
    look_ = Clock::now() >= next_look_;
    if (look_) {
      next_look_ = Clock::now() + between_looks_;
      segment_.block(segment_.rank()).looks.fetch_add(1, std::memory_order_relaxed);
    }
    for (Other& other : others_)
      if (!other.lost) look_at(other);
  } while (sleep());
}

bool Watch::sleep() {
  std::vector<pollfd> files{{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  std::vector<Other*> ends;
  Clock::time_point until = next_look_;
  for (Other& other : others_) {
    if (other.lost) continue;
    if (other.ended) {
      until = std::min(until, Clock::now() + between_glances);
    } else if (other.handle) {
      files.push_back({.fd = other.handle.get(), .events = POLLIN, .revents = 0});
      ends.push_back(&other);
    }
  }
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  if (poll(files.data(), files.size(), std::max(0, static_cast<int>(left.count()))) <= 0) return true;
  for (std::size_t k = 0; k < ends.size(); ++k)
    if (files[k + 1].revents != 0) note_end(*ends[k]);
  return files[0].revents == 0;
}

void Watch::look_at(Other& other) {
  switch (segment_.block(other.rank).state.load()) {
    case RankBlock::absent:
      return;
    case RankBlock::left:  // its end is no news; but the launcher may still say that it was a bad one
      other.handle.reset();
      other.ended = false;
      // A rank that it has given up may be this one, which was stopped and has not heard of it.
      if (segment_.block(other.rank).blames.load() != 0) lose(other, "it did not say why");
      return;
    case RankBlock::attached:
      if (!other.watched) begin(other);
      if (other.ended) {
        if (Clock::now() >= other.wait_for_reason) lose(other, "its process has ended");
      } else if (look_) {
        if (!other.handle && !process_is_there(other))
          note_end(other);
        else if (stays_stopped(other))
          lose(other, "its process is stopped (SIGSTOP)");
      }
      return;
    default:
      lose(other, "it did not say why");
  }
}

void Watch::begin(Other& other) const {
  other.watched = true;
  if (by_ == By::number || !sees_process(other)) return;
  other.handle = FileDescriptor(open_handle(segment_.block(other.rank).process.load()));
  // It is the handle of this process, or of a later one with its number. That can be told only now.
  if (other.handle && !process_is_there(other)) note_end(other);
}

/// In another container the same number is another process.
bool Watch::sees_process(const Other& other) const {
  return segment_.block(other.rank).process_namespace.load() == namespace_;
}

bool Watch::process_is_there(const Other& other) const {
  if (!sees_process(other)) return true;  // we cannot know
  const RankBlock& block = segment_.block(other.rank);
  const pid_t process = block.process.load();
  const std::optional<ProcessState> found = process_state(process);
  if (!found) return kill(process, 0) == 0 || errno != ESRCH;
  const std::uint64_t start_time = block.start_time.load();
  return !found->ended() && (start_time == 0 || found->start_time == start_time);
}

void Watch::note_end(Other& other) const {
  other.handle.reset();
  other.ended = true;
  other.wait_for_reason = Clock::now() + time_for_reason;
}

bool Watch::stays_stopped(Other& other) const {
  if (!sees_process(other)) return false;
  const RankBlock& block = segment_.block(other.rank);
  const std::uint32_t looks = block.looks.load(std::memory_order_relaxed);
  const bool went_on = std::exchange(other.looks, looks) != looks;
  const std::optional<ProcessState> found = process_state(block.process.load());
  const bool is_stopped = found && found->stopped();
  other.stopped = is_stopped ? (went_on ? 1 : other.stopped + 1) : 0;
  return other.stopped == most_looks_stopped;
}

void Watch::lose(Other& other, const std::string& otherwise) {
  other.lost = true;
  other.handle.reset();
  const Segment::Failure failure = segment_.failure(other.rank);
  lost_(failure.rank, failure.why.empty() ? otherwise : failure.why);
}

}  // namespace taskgrain::rt::detail
