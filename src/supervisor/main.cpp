/// Runs one command and leaves nothing of it behind.
///
///     taskgrain-supervisor FD SCRATCH CORES COMMAND …
///
/// The harness holds the other end of the pipe or socket FD. When that closes, by the harness's wish or because it was
/// killed with SIGKILL, or when the supervisor is told to terminate, every descendant of the command is killed: also
/// ranks in process groups of their own, daemons, and stopped processes, none of which would see a closed standard
/// input. That they all stay descendants is the work of PR_SET_CHILD_SUBREAPER. The folder SCRATCH, with what they left
/// there, goes last. The command runs on the processors CORES, with commas between; empty: on any.
///
/// It ends with the command's exit code, 128 + n if signal n killed it.
///
/// It is a program of its own, for it starts in a millisecond: a study starts some hundred drivers.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "processes.hpp"

namespace {

using namespace taskgrain;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// In the child: never returns.
[[noreturn]] void execute(const char* cores, char** command, const sigset_t& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the supervisor itself is killed
  // Should the kernel run out of memory, it shall end a driver and not the harness or the user's shell.
  if (std::FILE* const file = std::fopen("/proc/self/oom_score_adj", "we")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
  for (const int number : {SIGINT, SIGHUP, SIGPIPE}) std::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  std::vector<unsigned long> mask;
  constexpr std::size_t bits = 8 * sizeof mask[0];
  std::istringstream words(cores);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t core = std::stoul(word);
    mask.resize(std::max(mask.size(), core / bits + 1));
    mask[core / bits] |= 1UL << core % bits;
  }
  if (mask.empty() ||
      ::sched_setaffinity(0, mask.size() * sizeof mask[0], reinterpret_cast<cpu_set_t*>(mask.data())) == 0)
    ::execvp(command[0], command);
  std::fprintf(stderr, "taskgrain: cannot start %s: %s\n", command[0], std::strerror(errno));
  ::_exit(127);
}

/// The command, once it runs.
struct Command {
  pid_t pid;
  std::optional<int> code;

  /// Collects the dead; tells whether any child is left.
  bool reap() {
    int status = 0;
    for (;;) {
      const pid_t one = ::waitpid(-1, &status, WNOHANG);
      if (one <= 0) return one == 0;
      if (one == pid) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }

  /// Kills all that is below this process. SIGCHLD is blocked.
  void kill_all(const sigset_t& signals) {
    const timespec moment{0, 2'000'000};
    const auto end = Clock::now() + 30s;  // a process in uninterruptible sleep cannot be waited for any longer
    while (reap() && Clock::now() < end) {
      for (const pid_t one : descendants({::getpid()})) ::kill(one, SIGKILL);
      ::sigtimedwait(&signals, nullptr, &moment);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s FD SCRATCH CORES COMMAND …\n", argv[0]);
    return 2;
  }
  const int harness = std::atoi(argv[1]);
  ::fcntl(harness, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t watched, before;
  ::sigemptyset(&watched);
  for (const int number : {SIGCHLD, SIGTERM}) ::sigaddset(&watched, number);
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  for (const int number : {SIGINT, SIGHUP}) std::signal(number, SIG_IGN);
  // The kernel tells of no child to who ignores its end, as the caller may have.
  for (const int number : {SIGCHLD, SIGTERM}) std::signal(number, SIG_DFL);
  pollfd ends[] = {{harness, POLLIN, 0}, {::signalfd(-1, &watched, SFD_CLOEXEC), POLLIN, 0}};

  if (ends[1].fd < 0) {
    std::fprintf(stderr, "taskgrain: cannot watch %s: %s\n", argv[4], std::strerror(errno));
    return 127;
  }

  const double begin = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  Command command{::fork(), {}};
  if (command.pid == 0) execute(argv[3], argv + 4, before);
  if (command.pid < 0) {
    std::fprintf(stderr, "taskgrain: cannot start %s: %s\n", argv[4], std::strerror(errno));
    command.code = 127;
  }
  // The pipes belong to the driver alone: the harness must see them close when the driver closes them.
  const int null = ::open("/dev/null", O_RDWR);
  for (const int stream : {0, 1, 2}) ::dup2(null, stream);

  bool told = false;  // to end, by the launcher that started it on another host
  while (!command.code && !told && ends[0].revents == 0) {
    if (::poll(ends, 2, -1) > 0 && ends[1].revents != 0) {
      signalfd_siginfo one{};
      told = ::read(ends[1].fd, &one, sizeof one) == sizeof one && one.ssi_signo == SIGTERM;
      command.reap();
    }
  }
  const auto left = shared_memory(descendants({::getpid()}), begin - 1.0);  // ahead of the kernel's coarse clock
  command.kill_all(watched);
  for (const std::string& path : left) ::unlink(path.c_str());
  std::error_code ignored;
  std::filesystem::remove_all(argv[2], ignored);
  return command.code.value_or(137);
}
