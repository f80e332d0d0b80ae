/// Waits of ranks for one another: what comes before and after them, and who may not wait.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rt/comm/ranks.hpp"
#include "rt/refuse_calls.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The time that the processor has spent on this process.
std::chrono::microseconds processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

TEST(LargeMessages, TouchNothingOnceAWaitHasThrown) {
  for (const bool in_pieces : {false, true})
    on_ranks(3, [in_pieces](int rank) {
      if (in_pieces && !refuse_calls({SYS_process_vm_readv})) return;
      Communicator comm;
      Runtime runtime(with(comm, 2));
      std::vector<int> place(1 << 20);
      std::vector<int> body(1 << 20, 7);
      const auto large = comm.large_active_message([&](std::size_t) { return place.data(); }, [] {}, [] {});
      const auto fails = comm.active_message([] { throw std::runtime_error("on purpose"); });
      comm.barrier();
      try {
        for (int k = 0; rank == 0 && k < 8; ++k) large.send(1, body);
      } catch (const RankFailed&) {  // rank 2 was quicker
      }
      if (rank == 2) fails.send(2);
      EXPECT_THROW(runtime.wait(), RankFailed);
      std::vector<int>().swap(body);  // whoever reads it now crashes
      std::fill(place.begin(), place.end(), 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_EQ(std::count(place.begin(), place.end(), 1), static_cast<std::ptrdiff_t>(place.size()));
    });
}

class InAFunction : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OfAMessage, InAFunction, testing::Values("barrier", "wait", "flow"),
                         [](const auto& what) { return what.param; });

TEST_P(InAFunction, NobodyWaits) {
  on_ranks(2, [how = GetParam()](int rank, Communicator& comm, Runtime& runtime) {
    Taskflow<int> flow(runtime, "some");
    flow.indegree([](int) { return 1; }).run([](int) {});
    const auto wrong = comm.active_message([&] {
      how == "barrier" ? comm.barrier() : how == "wait" ? runtime.wait() : flow.wait();
    });
    comm.barrier();
    if (rank == 0) wrong.send(1);
    EXPECT_THAT([&] { runtime.wait(); }, throws_of_rank(1, "cannot wait"));
  });
}

TEST(Waits, OfTwoThreadsOfARankAreTwoWaits) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    std::atomic<int> came{0};
    const auto am = comm.active_message([&] { ++came; });
    for (int round = 0; round < 50; ++round) {
      std::thread other([&] {
        am.send(1 - rank);
        runtime.wait();
      });
      am.send(1 - rank);
      runtime.wait();
      other.join();
    }
    EXPECT_EQ(came, 100);
  });
}

TEST(Waits, ForOneThingGoOnUntilOthersHaveSent) {
  for (const std::string what : {"a flow", "a condition", "an event"})
    on_ranks(2, Workers{2}, [what](int rank, Communicator& comm, Runtime& runtime) {
      std::atomic<int> ran{0};
      std::vector<Event> events(20);
      Taskflow<int> flow(runtime, "late");
      flow.indegree([](int) { return 2; }).run([&](int k) {
        ++ran;
        events[static_cast<std::size_t>(k)].set();
        runtime.notify();
      });
      const auto arrive = comm.active_message([&](int k) { flow.fulfill(k); });
      for (int k = 0; k < 20; ++k) {
        if (rank == 1) {
          std::this_thread::sleep_for(milliseconds(2));
          arrive.send(0, k);
        } else {
          flow.fulfill(k);
          if (what == "a flow")
            flow.wait();
          else if (what == "a condition")
            runtime.work_until([&] { return ran > k; });
          else
            runtime.wait(events[static_cast<std::size_t>(k)]);
          EXPECT_EQ(ran, k + 1);
        }
        comm.barrier();
      }
      runtime.wait();
    });
}

TEST(Waits, JoinAndStartAgain) {
  on_ranks(2, Workers{3}, [](int rank, Communicator& comm, Runtime& runtime) {
    std::atomic<int> came{0};
    const auto am = comm.active_message([&] { ++came; });
    for (int round = 1; round <= 10; ++round) {
      am.send(1 - rank);
      runtime.join();
      EXPECT_GE(came, 3 * round - 2);
      am.send(1 - rank);
      runtime.wait();
      EXPECT_GE(came, 3 * round - 1);
      am.send(1 - rank);
      runtime.start();
      runtime.wait();
      EXPECT_GE(came, 3 * round);
      comm.barrier();
    }
  });
}

TEST(Waits, StuckOnOneRankAreAnErrorOnAll) {
  on_ranks(3, [](int rank, Communicator&, Runtime& runtime) {
    Taskflow<int> flow(runtime, "waits");
    flow.indegree([](int) { return 2; }).run([](int) {});
    if (rank == 1) flow.fulfill(42);
    const auto wait = [&] { runtime.wait(); };
    if (rank == 1)
      EXPECT_THAT(wait, ThrowsMessage<Stuck>(HasSubstr("waits 42")));
    else
      EXPECT_THAT(wait, throws_of_rank(1, "waits 42"));
  });
}

TEST(Waits, NeedNoProcessorWhileNothingComes) {
  for (const int workers : {1, 3})
    for (const char* const how : {"wait", "flow", "barrier"})
      on_ranks(2, [workers, how = std::string_view(how)](int rank) {
        Communicator comm;
        std::chrono::microseconds used{0};
        {
          Runtime runtime(with(comm, workers));
          Taskflow<int> flow(runtime, "waits");
          flow.indegree([](int) { return 2; }).run([](int) {});
          const auto arrive = comm.active_message([&] { flow.fulfill(0); });
          const auto before = processor_time();  // slow machines need as much to start
          if (rank == 1) {
            std::this_thread::sleep_for(milliseconds(600));
            arrive.send(0);
          } else if (how != "barrier") {
            flow.fulfill(0);
            if (how == "flow") flow.wait();
          }
          if (how == "barrier") {
            comm.barrier();
            if (rank == 0) flow.fulfill(0);
          }
          runtime.wait();
          used = processor_time() - before;
        }
        if (rank == 0) {  // one that spins takes 600 ms at least
          EXPECT_LT(used, milliseconds(500)) << how << " with " << workers << " workers";
        }
      });
}

TEST(Waits, AfterOneThatHasThrownGoOn) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    int came = 0;
    const auto count = comm.active_message([&] { ++came; });
    TaskGraph graph("alone");
    graph.task(0, [] {});
    CompiledGraph compiled(runtime, std::move(graph));
    if (rank == 0) compiled.launch().done.then([] { throw std::runtime_error("in a call"); });
    try {
      runtime.wait();
    } catch (const TaskFailed&) {  // of the call, which concerns no other rank
    }
    count.send(1 - rank);
    runtime.wait();
    EXPECT_EQ(came, 1);
  });
}

TEST(Kinds, MadeLateAreTakenWithoutAWait) {
  on_ranks(2, Workers{2}, [](int rank, Communicator& comm, Runtime& runtime) {
    comm.barrier();  // from now on it takes messages
    std::atomic<bool> came{false};
    const auto make = [&] { return comm.active_message([&] { came = true; }); };
    if (rank == 0) {
      make().send(1);
      runtime.work_until([] { return true; });
      comm.barrier();
    } else {
      comm.barrier();
      make();
      while (!came) std::this_thread::yield();
    }
    runtime.wait();
  });
}

TEST(Communicators, OfAnotherLauncherAreRefused) {
  on_ranks(1, [](int) {
    for (const char* const variable : {"TASKGRAIN_RANK", "TASKGRAIN_SEGMENT"}) unsetenv(variable);
    using Environment = std::vector<std::pair<const char*, const char*>>;
    const auto with = [](const Environment& environment, const auto& call) {
      for (const auto& [name, value] : environment) setenv(name, value, 1);
      call();
      for (const auto& [name, value] : environment) unsetenv(name);
    };
    for (const Environment& several : std::vector<Environment>{{{"OMPI_COMM_WORLD_SIZE", "2"}},
                                                               {{"PMI_SIZE", "4"}},
                                                               {{"FLUX_JOB_SIZE", "2"}},
                                                               {{"PALS_RANKID", "1"}},
                                                               {{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "a"}},
                                                               {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}}})
      with(several, [&] {
        EXPECT_THAT([] { Communicator(); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr(several[0].first), HasSubstr("TASKGRAIN_TRANSPORT"))));
        EXPECT_EQ(Communicator({.transport = "alone"}).ranks(), 1);
        with({{"TASKGRAIN_TRANSPORT", "alone"}}, [] { EXPECT_EQ(Communicator().ranks(), 1); });
      });
    // One process, what is no number, and shells in an allocation.
    for (const Environment& alone : std::vector<Environment>{{},
                                                             {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "1"}},
                                                             {{"OMPI_COMM_WORLD_SIZE", "abc"}, {"PMI_SIZE", ""}},
                                                             {{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "a"}},
                                                             {{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}},
                                                             {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}})
      with(alone, [] { EXPECT_EQ(Communicator().ranks(), 1); });
    setenv("TASKGRAIN_RANK", "0", 1);
    EXPECT_THROW(Communicator(), UsageError);
  });
}

TEST(Communicators, RefuseMoreMemoryThanThereCanBe) {
  on_ranks(2, [](int) {
    Communicator comm;
    EXPECT_THROW(comm.memory<double>(std::size_t{1} << 61), std::bad_alloc);
  });
}

}  // namespace
}  // namespace taskgrain::rt
