/// The threads of many workers, which start and end one another.

#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

TEST(Threads, OfAnyNumberOfWorkersAreEachAnotherThread) {
  for (const int workers : {1, 2, 4, 5, 6, 21, 22, 150}) {
    SCOPED_TRACE(workers);
    Runtime runtime({.workers = workers});
    for (int turn = 0; turn < 2; ++turn) {
      const auto ids = runtime.on_each_worker([](int) { return std::this_thread::get_id(); });
      EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), static_cast<std::size_t>(workers));
      runtime.join();  // and again
      runtime.start();
    }
  }
}

[[gnu::noinline]] void fill_stack() {
  [[maybe_unused]] volatile char large[32 << 20];
  for (std::size_t at = 0; at < sizeof large; at += 4096) large[at] = 1;
}

TEST(Threads, HaveTheStackThatTheyAreGiven) {
  constexpr std::size_t stack = std::size_t{64} << 20;
  Runtime runtime({.workers = 7, .stack_bytes = stack});
  const auto stacks = runtime.on_each_worker([](int worker) {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    if (worker != 0) fill_stack();  // 0 is this test's thread
    return bytes;
  });
  EXPECT_THAT(std::vector(stacks.begin() + 1, stacks.end()), testing::Each(testing::Ge(stack)));
}

TEST(Threads, EndWithTheirRuntime) {
  const auto before = all_threads();
  for (const int workers : {2, 6, 22, 150}) {
    {
      const Runtime runtime({.workers = workers, .spin = std::chrono::nanoseconds(0)});
      EXPECT_EQ(threads_since(before).size(), static_cast<std::size_t>(workers) - 1);
    }
    EXPECT_TRUE(eventually([&] { return threads_since(before).empty(); }));  // the kernel lists them a little longer
  }
}

TEST(Threads, AreNotStartedForNothingAfterAJoin) {
  const auto before = all_threads();
  Runtime runtime({.workers = 64, .check = false});  // a check ends with a message to each worker
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 1; }).run([](int k) {
    if (k == 50) throw std::runtime_error("no bread");
  });
  for (int turn = 0; turn < 20; ++turn) {
    for (int k = 0; k < 100; ++k) flow.fulfill(k);
    EXPECT_THROW(runtime.join(), TaskFailed);
    EXPECT_TRUE(eventually([&] { return threads_since(before).empty(); }));
    runtime.wait();
    EXPECT_THAT(threads_since(before), testing::IsEmpty());
  }
}

/// Destroyed after what functions keep, because it is made before that.
std::optional<Runtime> of_the_process;

TEST(Threads, OfAStaticRuntimeEndWithTheProcess) {
  const auto keep = [] {
    of_the_process.emplace(RuntimeOptions{.workers = 3});
    std::exit(0);
  };
  EXPECT_EXIT(keep(), testing::ExitedWithCode(0), "");
}

TEST(Threads, OfAStaticRuntimeEndWithATaskThatEndsTheProcess) {
  for (const int worker : {0, 1, 2}) {
    const auto exit_in_a_task = [worker] {
      static std::optional<Taskflow<int>> flow;
      of_the_process.emplace(RuntimeOptions{.workers = 3});
      flow.emplace(*of_the_process);
      flow->indegree([](int) { return 1; }).worker([=](int) { return worker; }).bound([](int) { return true; });
      flow->run([](int) { std::exit(3); }).fulfill(0);
      of_the_process->wait();
    };
    EXPECT_EXIT(exit_in_a_task(), testing::ExitedWithCode(3), "") << worker;
  }
}

TEST(Threads, OfAStaticRuntimeEndWithATaskOfARuntimeThatATaskHasMade) {
  const auto run_one = [](Taskflow<int>& flow, int worker, const std::function<void(int)>& run) {
    flow.indegree([](int) { return 1; }).bound([](int) { return true; }).run(run);
    flow.worker([=](int) { return worker; }).fulfill(0);
  };
  for (const int outer : {0, 1})
    for (const int inner : {0, 1}) {
      const auto exit_inside = [&] {
        static std::optional<Taskflow<int>> flow;
        of_the_process.emplace(RuntimeOptions{.workers = 2});
        flow.emplace(*of_the_process);
        run_one(*flow, outer, [&](int) {
          Runtime middle({.workers = 1});
          Taskflow<int> makes(middle);
          run_one(makes, 0, [&](int) {
            Runtime last({.workers = 2});
            Taskflow<int> exits(last);
            run_one(exits, inner, [](int) { std::exit(3); });
            last.wait();
          });
          middle.wait();
        });
        of_the_process->wait();
      };
      EXPECT_EXIT(exit_inside(), testing::ExitedWithCode(3), "") << outer << inner;
    }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // these need all of the address space
/// Lets the process have more memory, for so many stacks.
void allow_stacks(int number) {
  pthread_attr_t attributes;
  std::size_t stack = 0;
  pthread_getattr_default_np(&attributes);
  pthread_attr_getstacksize(&attributes, &stack);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + static_cast<rlim_t>(number) * stack;
  const rlimit limit{bytes, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
}

TEST(Threads, ThatTheSystemDoesNotHaveAreAnErrorAndLeaveNoneBehind) {
  const auto refused = [] {
    const auto before = all_threads();
    {
      const Runtime trial({.workers = 2});
    }
    allow_stacks(20);
    try {
      const Runtime runtime({.workers = 200});
    } catch (const std::system_error& error) {
      if (!eventually([&] { return threads_since(before).empty(); })) std::_Exit(2);
      const Runtime fewer({.workers = 3});
      std::fprintf(stderr, "%s", error.what());
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "temporarily unavailable");
}
#endif

}  // namespace
}  // namespace taskgrain::rt
