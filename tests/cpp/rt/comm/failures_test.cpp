/// Ranks that die, throw, are stopped, leave early or are stuck: all others must end soon, and say why.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/comm/ranks.hpp"
#include "rt/refuse_calls.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using std::chrono::milliseconds;

/// Tasks that hand one another over from rank to rank, until one of these fails or for ever.
class Carousel {
 public:
  explicit Carousel(int workers = 1) : runtime_(with(comm_, workers)) {
    flow_.indegree([](int k) { return k < 0 ? 2 : 1; }).worker([this](int k) {
      return std::abs(k) % runtime_.workers();
    });
    flow_.bound([](int) { return true; });  // a thief would name the tasks that wait on its own worker
    flow_.run([this](int k) {
      if (at) at(k);
      arrive_.send((comm_.rank() + 1) % comm_.ranks(), k + 1);
    });
    flow_.fulfill(-1 - comm_.rank());  // a task that waits for ever
    flow_.fulfill(0);
  }

  Communicator& comm() { return comm_; }
  Runtime& runtime() { return runtime_; }
  Taskflow<int>& flow() { return flow_; }
  /// Called by each task, with the number of steps before it.
  std::function<void(int)> at;

 private:
  Communicator comm_;
  Runtime runtime_;
  Taskflow<int> flow_{runtime_, "turn"};
  ActiveMessage<int> arrive_ = comm_.active_message([this](int k) { flow_.fulfill(k); });
};

/// How the ranks that have not failed by themselves are to end.
constexpr int told = 7;

/// Calls the function, which must throw RankFailed with the rank and the words.
template <typename Function>
int expect_told(int rank, const std::string& words, const Function& function) {
  try {
    function();
    ADD_FAILURE() << "nobody has told this rank";
  } catch (const RankFailed& error) {
    EXPECT_EQ(error.rank(), rank);
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
    return testing::Test::HasFailure() ? Ranks::expected_in_vain : told;
  }
  return Ranks::expected_in_vain;
}

/// Ends the process as at the end of main.
[[noreturn]] void end(int code) {
  std::fflush(nullptr);
  _exit(code);
}

/// What a rank does of which the others are to be told.
struct Case {
  const char* name;
  int of;  ///< rank
  std::function<void(Carousel&)> prepare;
  std::string words;
  int code;  ///< with which that rank ends: -1: as told
  Ranks::Launcher launcher = Ranks::Launcher::test;
};

/// For the names of tests, which otherwise have its bytes.
void PrintTo(const Case& what, std::ostream* out) { *out << what.name; }

class Failures : public testing::TestWithParam<Case> {};

/// Makes the rank do that in the task with fifty steps before it.
std::function<void(Carousel&)> at_fifty(void (*what)()) {
  return [what](Carousel& of) {
    of.at = [what](int k) {
      if (k == 50) what();
    };
  };
}
void is_killed() { raise(SIGKILL); }
void throws() { throw std::runtime_error("at fifty"); }
struct Wordless : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

const char* const thrown = "turn 50 failed: at fifty; on its worker 0 1 task waits: turn -2";
const Case cases[] = {
    {"Killed", 1, at_fifty(is_killed), "ended by signal 9", 1000 + SIGKILL},
    {"KilledWithoutALauncher", 1, at_fifty(is_killed),
     "its process has ended; it has not said which tasks were pending", 1000 + SIGKILL, Ranks::Launcher::none},
    {"SegmentationFault", 2, at_fifty([] { signal(SIGSEGV, SIG_DFL), raise(SIGSEGV); }), "ended by signal 11",
     1000 + SIGSEGV},
    {"Exit", 0, at_fifty([] { end(3); }), "ended with exit code 3", 3},
    {"TaskThrows", 1, at_fifty(throws), thrown, -1},
    {"TaskThrowsWithoutWords", 1, at_fifty([] { throw Wordless(); }), "turn 50 failed: an exception without a message",
     -1},
    {"TaskThrowsWithoutALauncher", 1, at_fifty(throws), thrown, -1, Ranks::Launcher::none},
};

std::string failure_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, Failures, testing::ValuesIn(cases), failure_name);

/// Ranks that wait in each of the ways, with several workers or one.
void expect_all_told(const Case& what, int workers, const std::function<void(Carousel&)>& wait) {
  Ranks ranks(
      3,
      [&](int rank) {
        int code = 0;
        {
          Carousel carousel(workers);
          if (rank == what.of) what.prepare(carousel);
          if (rank == what.of && what.code == -1) {
            EXPECT_THROW(wait(carousel), TaskFailed);
            code = told;
          } else {
            code = expect_told(what.of, what.words, [&] { wait(carousel); });
          }
        }
        if (testing::Test::HasFailure()) code = Ranks::expected_in_vain;
        end(code);
      },
      what.launcher);
  const std::vector<int> codes = ranks.wait();
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(codes[static_cast<std::size_t>(rank)], rank == what.of && what.code != -1 ? what.code : told)
        << "rank " << rank;
}

TEST_P(Failures, EndAWaitForEverything) {
  for (const int workers : {1, 2}) expect_all_told(GetParam(), workers, [](Carousel& of) { of.runtime().wait(); });
}

TEST_P(Failures, EndAWaitForAFlow) {
  expect_all_told(GetParam(), 1, [](Carousel& of) { of.flow().wait(); });
}

TEST_P(Failures, EndAWaitForAFunction) {
  expect_all_told(GetParam(), 2, [](Carousel& of) {
    of.runtime().work_until([] { return false; });
    // A failed communicator stays so.
    of.runtime().wait();
  });
}

TEST_P(Failures, EndAWaitForAnEvent) {
  expect_all_told(GetParam(), 1, [](Carousel& of) { of.runtime().wait(Event()); });
}

/// What happens to rank 1 of 3; the others wait for everything.
std::vector<int> others_while(const std::string& words, const std::function<void()>& one) {
  Ranks ranks(3, [&](int rank) {
    if (rank == 1) return one();
    int code = 0;
    {
      Communicator comm;
      Runtime runtime(with(comm));
      code = expect_told(1, words, [&] { runtime.wait(); });
    }
    end(code);
  });
  return ranks.wait();
}

TEST(Failures, OfAFunctionOfAMessageAreToldToAll) {
  Ranks ranks(3, [](int rank) {
    Communicator comm;
    Runtime runtime(with(comm));
    Taskflow<int> flow(runtime, "waits");
    flow.indegree([](int) { return 2; }).run([](int) {});
    for (int k = 0; k < 5 && rank == 1; ++k) flow.fulfill(k);
    const auto bad =
        comm.active_message([](int number) { throw std::runtime_error(std::to_string(number) + " is bad"); }, "judge");
    if (rank == 0) bad.send(1, 13);
    const int code =
        expect_told(1, "judge 0 failed: 13 is bad; on its worker 0 5 tasks wait: waits ", [&] { runtime.wait(); });
    EXPECT_THROW(bad.send(2, 14), RankFailed);
    EXPECT_THROW(bad.send(rank, 14), RankFailed);
    EXPECT_THROW(comm.barrier(), RankFailed);
    EXPECT_THROW(comm.progress(), RankFailed);
    EXPECT_THROW(runtime.wait(), RankFailed);
    end(testing::Test::HasFailure() ? Ranks::expected_in_vain : code);
  });
  EXPECT_THAT(ranks.wait(), testing::Each(told));
}

TEST(Failures, WithoutWordsAreToldToAll) {
  Ranks ranks(2, [](int rank) {
    Communicator comm;
    Runtime runtime(with(comm));
    const auto bad = comm.active_message([] { throw Wordless(); }, "judge");
    if (rank == 0) bad.send(1);
    end(expect_told(1, "judge 0 failed: an exception without a message", [&] { runtime.wait(); }));
  });
  EXPECT_THAT(ranks.wait(), testing::Each(told));
}

TEST(Failures, OfARankWhoseTaskExitsAreToldToTheOthers) {
  Ranks ranks(2, [](int rank) {
    static std::optional<Communicator> comm;
    static std::optional<Runtime> runtime;
    static std::optional<Taskflow<int>> flow;
    comm.emplace();
    runtime.emplace(with(*comm, 2));
    flow.emplace(*runtime).indegree([](int) { return 1; }).run([](int) { std::exit(3); }).worker([](int) { return 1; });
    if (rank == 1) flow->fulfill(0);
    end(expect_told(1, "ended with exit code 3", [] { runtime->wait(); }));
  });
  EXPECT_THAT(ranks.wait(), testing::ElementsAre(told, 3));
}

TEST(Failures, OfAnyFunctionOfALargeMessageAreToldToAll) {
  for (const std::string which : {"place", "process", "reusable", "a null pointer"}) {
    Ranks ranks(2, [which](int rank) {
      Communicator comm;
      Runtime runtime(with(comm));
      std::vector<double> place(1000);
      const auto fail = [&](const char* in) {
        if (which == in) throw std::runtime_error(which + " fails");
      };
      const auto bad = comm.large_active_message(
          [&](std::size_t) { return fail("place"), which == "a null pointer" ? nullptr : place.data(); },
          [&] { fail("process"); }, [&] { fail("reusable"); }, "much");
      const std::vector<double> body(1000);
      if (rank == 0) bad.send(1, body);
      const std::string why = which == "a null pointer" ? "`place` has returned a null pointer" : which + " fails";
      end(expect_told(which == "reusable" ? 0 : 1, "much 0 failed: " + why, [&] { runtime.wait(); }));
    });
    EXPECT_THAT(ranks.wait(), testing::Each(told));
  }
}

TEST(Failures, OfARankThatIsStoppedAreToldToTheOthers) {
  const auto is_stopped = [](int rank) {
    Communicator comm;
    Runtime runtime(with(comm));
    comm.barrier();
    if (rank == 1) raise(SIGSTOP);
    end(expect_told(1, "stopped", [&] { runtime.wait(); }));
  };
  Ranks with_launcher(3, is_stopped), without(3, is_stopped, Ranks::Launcher::none);
  for (Ranks* ranks : {&with_launcher, &without}) {
    ASSERT_TRUE(eventually([&] { return ranks->ended(0) && ranks->ended(2); }));
    ranks->kill_rank(1, SIGKILL);
    EXPECT_THAT(ranks->wait(), testing::ElementsAre(told, 1000 + SIGKILL, told));
  }
}

TEST(Failures, OfARankThatWasStoppedAreToldToIt) {
  int number[2], told_it[2];
  ASSERT_EQ(pipe(number), 0);
  ASSERT_EQ(pipe(told_it), 0);
  const auto close_write_ends = [&] {  // or a rank that ends early would leave the other one reading
    for (const int* const one : {number, told_it}) close(one[1]);
  };
  Ranks ranks(2, [&](int rank) {
    if (rank == 0) close_write_ends();
    Communicator comm;
    Runtime runtime(with(comm));
    comm.barrier();
    char byte = 0;
    if (rank == 1) {
      const pid_t own = getpid();
      EXPECT_EQ(write(number[1], &own, sizeof own), static_cast<ssize_t>(sizeof own));
      raise(SIGSTOP);
    }
    const int code = expect_told(1, "stopped", [&] { runtime.wait(); });
    if (rank == 1) {
      EXPECT_EQ(write(told_it[1], &byte, 1), 1);
    } else {  // which goes on, as does its communicator
      pid_t other = 0;
      EXPECT_EQ(read(number[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
      kill(other, SIGCONT);
      EXPECT_EQ(read(told_it[0], &byte, 1), 1);
    }
    end(code);
  });
  close_write_ends();
  EXPECT_THAT(ranks.wait(), testing::Each(told));
  for (const int* const one : {number, told_it}) close(one[0]);
}

TEST(Failures, OfARankWithoutACommunicatorAreToldToTheOthers) {
  Ranks ranks(2, [](int rank) {
    if (rank == 1) {
      ASSERT_TRUE(refuse_calls({SYS_eventfd2}, EMFILE));
      EXPECT_THROW(Communicator(), std::system_error);
      end(told);
    }
    Communicator comm;
    Runtime runtime(with(comm));
    end(expect_told(1, "eventfd", [&] { runtime.wait(); }));
  });
  EXPECT_THAT(ranks.wait(), testing::Each(told));
}

TEST(Failures, OfNobodyAreWhatARankDoesNotTakeThatHasLeft) {
  int gone[2];
  ASSERT_EQ(pipe(gone), 0);
  Ranks ranks(2, [&](int rank) {
    char byte = 0;
    if (rank == 1) {
      {
        Communicator comm;
      }
      EXPECT_EQ(write(gone[1], &byte, 1), 1);
      return;
    }
    std::vector<double> body(100'000);
    Communicator comm;
    const auto small = comm.active_message([](view<const double>) {});
    const auto large = comm.large_active_message([&](std::size_t) { return body.data(); }, [] {}, [] {});
    EXPECT_EQ(read(gone[0], &byte, 1), 1);
    large.send(1, body);
    for (int k = 0; k < 5000; ++k) small.send(1, view<const double>(body.data(), 100));  // more than fits
  });
  EXPECT_EQ(ranks.wait(), (std::vector<int>{Ranks::well, Ranks::well}));
  for (const int end : gone) close(end);
}

TEST(Failures, OfARankThatNeverComesAreToldToTheOthers) {
  const auto codes = others_while("ended with exit code 0", [] {});
  EXPECT_THAT(codes, testing::ElementsAre(told, Ranks::well, told));
}

TEST(Failures, OfARankWhoseProgramThrowsBetweenWaitsAreToldToTheOthers) {
  const auto codes = others_while("an exception has ended its communicator", [] {
    Communicator comm;
    Runtime runtime(with(comm));
    Taskflow<int> flow(runtime, "waits");
    flow.indegree([](int) { return 2; }).run([](int) {});
    throw std::runtime_error("of the program");
  });
  EXPECT_THAT(codes, testing::ElementsAre(told, Ranks::threw, told));
}

TEST(Failures, OfARankThatDoesNotComeAgainAreToldToTheOthers) {
  for (const auto& [how, said, code] : {std::tuple{"ends", "made fewer communicators than this rank", 0},
                                        {"throws", "ended with exit code 102", Ranks::threw},
                                        {"fails", "an exception has ended its communicator", Ranks::threw},
                                        {"killed", "ended by signal 9", 1000 + SIGKILL}}) {
    Ranks ranks(3, [&](int rank) {
      const auto first = [&] {
        Communicator comm;
        if (rank != 1) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the others wait for this rank
        if (how == std::string("killed")) raise(SIGKILL);
        if (how == std::string("fails")) throw std::runtime_error("in its first");
      };
      first();
      if (rank == 1 && how == std::string("throws")) throw std::runtime_error("of the program");
      if (rank == 1) return;
      expect_told(1, said, [] { Communicator second; });
      end(expect_told(1, said, [] { Communicator third; }));
    });
    EXPECT_THAT(ranks.wait(), testing::ElementsAre(told, code, told)) << how;
  }
}

TEST(Failures, EndASendThatWaitsForRoom) {
  for (const bool killed : {false, true}) {
    Ranks ranks(2, [&](int rank) {
      Communicator comm({.queue_bytes = 1});
      const auto am = comm.active_message([](view<const int>) {});
      comm.barrier();
      if (rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it takes nothing meanwhile
        if (killed) raise(SIGKILL);
        return;
      }
      const std::vector<int> numbers(1000);
      const auto flood = [&] {
        for (int k = 0; k < 1000; ++k) am.send(1, numbers);
      };
      if (killed) end(expect_told(1, "ended by signal 9", flood));
      flood();  // what goes to a rank that has left is dropped
    });
    EXPECT_THAT(ranks.wait(), testing::ElementsAre(killed ? told : 0, killed ? 1000 + SIGKILL : 0)) << killed;
  }
}

TEST(Failures, EndABarrier) {
  for (const bool killed : {false, true}) {
    Ranks ranks(3, [killed](int rank) {
      Communicator comm;
      comm.barrier();
      if (rank == 1 && killed) raise(SIGKILL);
      if (rank == 1) return;
      const int code =
          expect_told(1, killed ? "ended by signal 9" : "it has ended its communicator", [&] { comm.barrier(); });
      end(code);
    });
    EXPECT_THAT(ranks.wait(), testing::ElementsAre(told, killed ? 1000 + SIGKILL : 0, told));
  }
}

TEST(Failures, OfARankThatLeavesDoNotHoldUpAWaitForAFlow) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    Taskflow<int> flow(runtime, "waits");
    flow.indegree([](int) { return 2; }).run([](int) {});
    const auto arrive = comm.active_message([&](int k) { flow.fulfill(k); });
    if (rank == 1) return arrive.send(0, 1);
    flow.fulfill(1);
    flow.wait();
    flow.fulfill(2);
    EXPECT_THAT([&] { flow.wait(); }, testing::ThrowsMessage<Stuck>(testing::HasSubstr("waits 2")));
  });
}

TEST(Failures, LeaveTheProgramToEndAsItWill) {
  // An exception that nobody catches, after which everything is destroyed: no hang, and little is printed.
  testing::internal::CaptureStderr();
  Ranks ranks(3, [](int rank) {
    Communicator comm;
    Runtime runtime(with(comm, 2));
    Taskflow<int> flow(runtime, "waits"), other(runtime, "also");
    const auto am = comm.active_message([&](int k) { flow.fulfill(k); });
    for (auto* each : {&flow, &other}) each->indegree([](int) { return 2; }).run([](int) {});
    for (int k = 0; k < 10; ++k) flow.fulfill(k), other.fulfill(k);
    if (rank == 1) raise(SIGKILL);
    for (int k = 0;; ++k) {  // until it throws
      am.send((rank + 1) % 3, 1000 + k % 7);
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  EXPECT_THAT(ranks.wait(), testing::ElementsAre(Ranks::threw, 1000 + SIGKILL, Ranks::threw));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// One rank dies at any moment: when it attaches, while it sends, while it waits, when it leaves.
TEST(Failures, OfAnyRankAtAnyMoment) {
  Dice dice(20261124);
  for (std::int64_t round = rounds(200); round > 0; --round) {
    const int number = 2 + static_cast<int>(dice.below(2)),
              victim = static_cast<int>(dice.below(static_cast<std::uint64_t>(number)));
    const auto moment = std::chrono::microseconds(dice.below(20'000));
    const auto launcher = dice.below(2) == 0 ? Ranks::Launcher::test : Ranks::Launcher::none;
    const bool large = dice.below(3) == 0;
    Ranks ranks(
        number,
        [&](int rank) {
          int code = 0;
          try {
            Communicator comm;
            Runtime runtime(with(comm, 1 + static_cast<int>(round % 2)));
            std::vector<int> place(100'000);
            Taskflow<int> flow(runtime, "step");
            const ActiveMessage<int, view<const int>>* next = nullptr;
            const std::vector<int> body(large ? 50'000 : 10);
            flow.indegree([](int) { return 1; }).run([&](int k) {
              if (k < 1'000'000'000) next->send((rank + 1) % number, k + 1, view<const int>(body));
            });
            const auto arrive = comm.active_message([&](int k, view<const int>) { flow.fulfill(k); });
            next = &arrive;
            flow.fulfill(0);
            if (round % 3 == 0) flow.wait();
            if (round % 3 == 1) runtime.work_until([] { return false; });
            runtime.wait();
            ADD_FAILURE() << "it has come to an end";
          } catch (const RankFailed& error) {
            EXPECT_EQ(error.rank(), victim) << error.what();
            code = told;
          }
          end(testing::Test::HasFailure() ? Ranks::expected_in_vain : code);
        },
        launcher);
    // Without a launcher, a rank that never attached is nobody.
    while (launcher == Ranks::Launcher::none && ranks.segment().block(victim).state.load() == detail::RankBlock::absent)
      std::this_thread::yield();
    std::this_thread::sleep_for(moment);
    ranks.kill_rank(victim, SIGKILL);
    const std::vector<int> codes = ranks.wait();
    for (int rank = 0; rank < number; ++rank)
      ASSERT_EQ(codes[static_cast<std::size_t>(rank)], rank == victim ? 1000 + SIGKILL : told)
          << "rank " << rank << " of " << number << ", killed was " << victim << " after " << moment.count()
          << " us, round " << round << (launcher == Ranks::Launcher::none ? ", without a launcher" : "");
  }
}

}  // namespace
}  // namespace taskgrain::rt
