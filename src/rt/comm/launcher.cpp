#include "comm/launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "comm/memory_file.hpp"
#include "comm/segment.hpp"
#include "taskgrain/rt/cores.hpp"

namespace taskgrain::rt::detail {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array passed_on = {SIGINT, SIGTERM, SIGHUP};
constexpr std::chrono::seconds time_to_end(5);

struct Child {
  pid_t process = 0;
  bool ended = false;
};

/// The end of a child, as waitpid tells it.
struct End {
  int rank;
  int status;

  bool well() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  int exit_code() const { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }
  std::string how() const {
    if (!WIFSIGNALED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    return "ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  /// True if this rank may have ended only because another one has: such ranks exit, or abort.
  bool may_be_consequence() const { return !WIFSIGNALED(status) || WTERMSIG(status) == SIGABRT; }
};

/// Opens /dev/null as each standard file that is closed: else a file that is opened later gets its number, and the
/// ranks inherit that as their standard input or output.
void fill_standard_files() {
  for (int file = open("/dev/null", O_RDWR); file >= 0; file = open("/dev/null", O_RDWR))
    if (file > STDERR_FILENO) {
      close(file);
      return;
    }
}

/// The children of this process, with the orphans that it has adopted as subreaper.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const std::string self = std::to_string(getpid());
  std::ifstream file("/proc/" + self + "/task/" + self + "/children");
  for (pid_t child; file >> child;) found.push_back(child);
  return found;
}

class Launcher {
 public:
  explicit Launcher(const Launch& what)
      : what_(what), descriptor_(Segment::make(what.ranks)), segment_(descriptor_.get(), Segment::observer) {
    // This process adopts the children of ranks that have ended, so the destructor can end them.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGCHLD, SIG_DFL);  // if it is ignored, the kernel keeps no exit status for waitpid
    sigemptyset(&signals_);
    for (const int each : passed_on) sigaddset(&signals_, each);
    sigaddset(&signals_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals_, &signals_before_);
  }

  ~Launcher() {
    send_to_all(SIGKILL);
    for (const Child& child : children_)
      if (!child.ended) waitpid(child.process, nullptr, 0);
    // Processes that ranks have started and not ended.
    for (std::vector<pid_t> left; !(left = children()).empty();) {
      for (const pid_t each : left) kill(each, SIGKILL);
      waitpid(-1, nullptr, 0);
    }
    sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
  }

  int run() {
    for (int rank = 0; rank < what_.ranks; ++rank) {
      const int error = start(rank);
      if (error == 0) continue;
      std::cerr << "taskgrain-run: cannot start '" << what_.command.front() << "': " << std::strerror(error) << '\n';
      return error == ENOENT ? 127 : 126;
    }
    while (living() > 0) {
      wait_for_signal();
      reap();
      if (deadline_ && Clock::now() >= *deadline_) end_the_others();
    }
    return exit_code_;
  }

 private:
  /// \returns errno if the program cannot be started
  int start(int rank) {
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category(), "cannot make a pipe");
    const FileDescriptor read_end(pipe[0]);
    FileDescriptor write_end(pipe[1]);
    const pid_t launcher = getpid(), child = fork();
    if (child < 0) throw std::system_error(errno, std::system_category(), "cannot start rank " + std::to_string(rank));
    if (child == 0) exec_rank(rank, launcher, write_end.get());
    children_.push_back({child});
    write_end.reset();
    int error = 0;  // execvp closes the pipe (O_CLOEXEC), so nothing can be read if the program has started
    while (read(read_end.get(), &error, sizeof error) < 0 && errno == EINTR) {
    }
    return error;
  }

  /// Makes the child, which calls it, the program. Writes errno to the pipe if it cannot.
  [[noreturn]] void exec_rank(int rank, pid_t launcher, int write_end) {
    const auto fail = [&] {
      const int error = errno;
      [[maybe_unused]] const auto written = write(write_end, &error, sizeof error);
      _exit(127);
    };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) _exit(127);  // the launcher ended before PR_SET_PDEATHSIG
    const std::vector<std::vector<int>>& processors = what_.processors;
    if (!processors.empty() && !bind_to(processors[static_cast<std::size_t>(rank)])) fail();
    if (rank != 0) {  // one rank alone reads the terminal, else each line goes to a random one
      const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) fail();
    }
    setenv("TASKGRAIN_RANK", std::to_string(rank).c_str(), 1);
    setenv("TASKGRAIN_RANKS", std::to_string(what_.ranks).c_str(), 1);
    setenv("TASKGRAIN_SEGMENT", std::to_string(descriptor_.get()).c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& each : what_.command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
    execvp(arguments[0], arguments.data());
    fail();
    std::abort();
  }

  std::ptrdiff_t living() const { return std::ranges::count(children_, false, &Child::ended); }

  /// Returns with the next signal, or at the deadline.
  void wait_for_signal() {
    siginfo_t came{};
    int signal = 0;
    if (deadline_) {
      using namespace std::chrono;
      const auto left = std::max(duration_cast<nanoseconds>(*deadline_ - Clock::now()), nanoseconds(0));
      const timespec time{.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000),
                          .tv_nsec = left.count() % 1'000'000'000};
      signal = sigtimedwait(&signals_, &came, &time);
    } else {
      signal = sigwaitinfo(&signals_, &came);
    }
    // The terminal sends a signal to its whole process group (SI_KERNEL), so the ranks have got it already.
    if (signal > 0 && signal != SIGCHLD && came.si_code != SI_KERNEL) send_to_all(signal);
  }

  void send_to_all(int signal) {
    for (const Child& child : children_)
      if (!child.ended) kill(child.process, signal);
  }

  void reap() {
    std::vector<End> ends;
    int status = 0;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto child = std::ranges::find(children_, process, &Child::process);
      if (child == children_.end() || child->ended) continue;  // adopted, no rank
      child->ended = true;
      ends.push_back({static_cast<int>(child - children_.begin()), status});
    }
    // waitpid does not say which rank ended first: report one that a signal has killed before those that exit.
    std::ranges::stable_partition(ends, [](const End& end) { return !end.may_be_consequence(); });
    for (const End& end : ends) {
      record_end(end);
      segment_.mark_process_ended(end.rank);
    }
  }

  void record_end(const End& end) {
    if (end.well()) {
      // The program counts it as success, but other ranks may wait for this one.
      const std::uint32_t state = segment_.block(end.rank).state.load();
      if (state == RankBlock::absent) segment_.mark_dead(end.rank, end.how() + ", and never attached to the others");
      if (state == RankBlock::attached) segment_.mark_dead(end.rank, end.how() + ", but has not left the others");
      // It has announced a failure, of its own or of another rank: the others must end.
      const bool has_failed = state == RankBlock::failed || segment_.block(end.rank).blamed.load() != 0;
      if (has_failed) report_failure(end);
      return;
    }
    segment_.mark_dead(end.rank, end.how());
    if (exit_code_ == 0) exit_code_ = end.exit_code();
    report_failure(end);
  }

  /// Prints the first failure, and starts the deadline until which the other ranks must end.
  void report_failure(const End& end) {
    if (deadline_) return;
    deadline_ = Clock::now() + time_to_end;
    if (what_.ranks == 1) return;
    const pid_t process = children_[static_cast<std::size_t>(end.rank)].process;
    std::string reason;
    const RankBlock& block = segment_.block(end.rank);
    if (block.blamed.load() != 0)
      reason = ", because rank " + std::to_string(block.blamed.load() - 1) + " has failed: " + block.failure_reason();
    else if (block.reason_writer.load() == RankBlock::itself)
      reason = ": " + block.failure_reason();
    std::cerr << "taskgrain-run: rank " + std::to_string(end.rank) + " (process " + std::to_string(process) + ") " +
                     end.how() + reason + "\n";
  }

  void end_the_others() {
    const int signal = std::exchange(next_signal_, SIGKILL);
    std::string ranks;
    for (std::size_t rank = 0; rank < children_.size(); ++rank)
      if (!children_[rank].ended) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    std::cerr << "taskgrain-run: sends signal " + std::to_string(signal) + " (" + strsignal(signal) +
                     ") to the ranks that have not ended: " + ranks + "\n";
    send_to_all(signal);
    deadline_ = Clock::now() + std::chrono::seconds(1);
  }

  const Launch& what_;
  const FileDescriptor descriptor_;
  Segment segment_;
  sigset_t signals_{}, signals_before_{};
  std::vector<Child> children_;  // by rank
  int exit_code_ = 0;
  std::optional<Clock::time_point> deadline_;  // then the ranks that still run get next_signal_
  int next_signal_ = SIGTERM;
};

}  // namespace

int launch(const Launch& what) {
  fill_standard_files();
  return Launcher(what).run();
}

}  // namespace taskgrain::rt::detail
