#pragma once

/// Other processes, for tests that end them.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

#include "rt/asleep.hpp"

namespace taskgrain::rt {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// A child that runs a function and ends with the exit code that this returns; 99 if it throws. It is killed in the
/// end.
class Process {
 public:
  template <typename Function>
  explicit Process(const Function& function) : number_(fork()) {
    if (number_ < 0) throw std::system_error(errno, std::system_category(), "fork");
    if (number_ > 0) return;
    int code = 99;
    try {
      code = function();
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
    }
    _exit(code);
  }
  Process(Process&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  ~Process() {
    if (number_ == 0) return;
    send(SIGKILL);
    wait();
  }

  pid_t number() const { return number_; }
  void send(int signal) const { kill(number_, signal); }
  /// The status that waitpid gives.
  int wait() {
    int status = 0;
    while (waitpid(number_, &status, 0) < 0 && errno == EINTR) {
    }
    number_ = 0;
    return status;
  }
  /// -1 if it has not ended by itself.
  int exit_code() {
    const int status = wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t number_;
};

inline void limit_to(decltype(RLIMIT_AS) what, std::size_t bytes) {
  const rlimit limit{bytes, bytes};
  if (setrlimit(what, &limit) != 0) throw std::system_error(errno, std::system_category(), "setrlimit");
}

/// The files that this process has open.
inline auto open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

/// Whether the runtime leaves nothing in /dev/shm. Other tests may have names there for a moment.
inline bool no_name_stays() {
  return eventually([] {
    return std::ranges::none_of(std::filesystem::directory_iterator("/dev/shm"), [](const auto& entry) {
      return entry.path().filename().string().starts_with("taskgrain-");
    });
  });
}

}  // namespace taskgrain::rt
