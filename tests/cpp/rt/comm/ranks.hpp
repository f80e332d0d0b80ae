#pragma once

/// Ranks for tests: processes that the test forks, with the memory that taskgrain-run would have made. Each runs a
/// function of the test; what it expects in vain it prints, and the test fails with its number.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/segment.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/options.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

/// Of a runtime whose ranks share few cores.
inline RuntimeOptions with(Communicator& comm, int workers = 1) {
  RuntimeOptions options;
  options.workers = workers;
  options.pin = false;
  options.communicator = &comm;
  return options;
}

class Ranks {
 public:
  /// Who tells the others that a rank has ended.
  enum class Launcher : bool {
    none,  ///< they find out
    test,  ///< this process, as taskgrain-run would
  };
  /// Exit codes of a rank.
  static constexpr int well = 0, expected_in_vain = 101, threw = 102, leaked = 103;

  Ranks(int number, const std::function<void(int rank)>& body, Launcher launcher = Launcher::test)
      : launcher_(launcher), descriptor_(detail::Segment::make(number)),
        segment_(descriptor_, detail::Segment::observer) {
    std::fflush(nullptr);
    for (int rank = 0; rank < number; ++rank) {
      const pid_t process = fork();
      if (process == 0) become(rank, number, body);
      processes_.push_back({process, -1});
    }
    close(descriptor_);
  }
  ~Ranks() {
    kill_those_left();
    look(true);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  pid_t process(int rank) const { return processes_[static_cast<std::size_t>(rank)].number; }
  const detail::Segment& segment() const { return segment_; }
  void kill_rank(int rank, int signal) const { kill(process(rank), signal); }

  /// Waits until all have ended; those that have not after `most` are killed.
  /// \returns exit codes by rank: 1000 + the number of the signal for those that a signal has ended
  std::vector<int> wait(std::chrono::milliseconds most = std::chrono::seconds(300)) {
    const auto until = std::chrono::steady_clock::now() + most;
    for (auto nap = std::chrono::microseconds(100); look(false); nap = std::min(2 * nap, longest_nap)) {
      if (std::chrono::steady_clock::now() > until) {
        for (std::size_t rank = 0; rank < processes_.size(); ++rank)
          if (processes_[rank].status == -1) ADD_FAILURE() << "rank " << rank << " has not ended in time";
        kill_those_left();
        look(true);
        break;
      }
      std::this_thread::sleep_for(nap);
    }
    std::vector<int> codes;
    for (const auto& [number, status] : processes_)
      codes.push_back(WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
    return codes;
  }
  /// Whether a rank has ended; takes note of all that have.
  bool ended(int rank) {
    look(false);
    return processes_[static_cast<std::size_t>(rank)].status != -1;
  }

 private:
  static constexpr std::chrono::microseconds longest_nap{2000};
  struct Process {
    pid_t number;
    int status;  // -1 while it lives
  };

  [[noreturn]] void become(int rank, int number, const std::function<void(int rank)>& body) const {
    setenv("TASKGRAIN_RANK", std::to_string(rank).c_str(), 1);
    setenv("TASKGRAIN_RANKS", std::to_string(number).c_str(), 1);
    setenv("TASKGRAIN_SEGMENT", std::to_string(descriptor_).c_str(), 1);
    int code = well;
    try {
      const testing::ScopedTrace trace(__FILE__, __LINE__, "rank " + std::to_string(rank));
      body(rank);
      if (testing::Test::HasFailure()) code = expected_in_vain;
#if defined(__SANITIZE_ADDRESS__)
      else if (__lsan_do_recoverable_leak_check() != 0)  // `_exit` does not look
        code = leaked;
#endif
    } catch (const std::exception& error) {
      std::printf("rank %d threw: %s\n", rank, error.what());
      code = threw;
    }
    std::fflush(nullptr);
    _exit(code);  // what has been made before the fork is the test's to destroy
  }

  /// Takes note of who has ended. \returns whether some have not
  bool look(bool wait) {
    bool any = false;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      Process& process = processes_[rank];
      if (process.status != -1) continue;
      int status = 0;
      if (waitpid(process.number, &status, wait ? 0 : WNOHANG) != process.number) {
        any = true;
        continue;
      }
      process.status = status;
      if (launcher_ == Launcher::none) continue;
      const auto state = segment_.block(static_cast<int>(rank)).state.load();
      if (WIFSIGNALED(status))
        segment_.mark_dead(static_cast<int>(rank), "ended by signal " + std::to_string(WTERMSIG(status)));
      else if (WEXITSTATUS(status) != 0 || state != detail::RankBlock::left)
        segment_.mark_dead(static_cast<int>(rank), "ended with exit code " + std::to_string(WEXITSTATUS(status)));
      segment_.mark_process_ended(static_cast<int>(rank));
    }
    return any;
  }

  void kill_those_left() const {
    for (const auto& [number, status] : processes_)
      if (status == -1) kill(number, SIGKILL);
  }

  const Launcher launcher_;
  const int descriptor_;
  detail::Segment segment_;
  std::vector<Process> processes_;  // by rank
};

/// Runs the function as so many ranks; fails if one of them does.
inline void on_ranks(int number, const std::function<void(int rank)>& body) {
  Ranks ranks(number, body);
  const std::vector<int> codes = ranks.wait();
  for (std::size_t rank = 0; rank < codes.size(); ++rank) {
    if (codes[rank] == Ranks::well) continue;
    ADD_FAILURE() << "rank " << rank << " of " << number << " "
                  << (codes[rank] == Ranks::expected_in_vain ? "expected in vain: see above"
                      : codes[rank] == Ranks::threw          ? "threw: see above"
                      : codes[rank] == Ranks::leaked         ? "leaks: see above"
                      : codes[rank] > 1000 ? "was ended by signal " + std::to_string(codes[rank] - 1000)
                                           : "ended with exit code " + std::to_string(codes[rank]));
  }
}

using OnRuntime = std::function<void(int rank, Communicator& comm, Runtime& runtime)>;
enum class Workers : int {};  ///< of each rank

/// The same with a communicator, and a runtime that has it.
inline void on_ranks(int number, Workers workers, const OnRuntime& body) {
  on_ranks(number, [&](int rank) {
    Communicator comm;
    Runtime runtime(with(comm, static_cast<int>(workers)));
    body(rank, comm, runtime);
  });
}
inline void on_ranks(int number, const OnRuntime& body) { on_ranks(number, Workers{1}, body); }

/// That a call throws RankFailed of this rank, with these words.
inline auto throws_of_rank(int rank, const std::string& words) {
  return testing::Throws<RankFailed>(testing::AllOf(testing::Property(&RankFailed::rank, rank),
                                                    testing::Property(&RankFailed::what, testing::HasSubstr(words))));
}

}  // namespace taskgrain::rt
