/// The threads of many workers, which start and end one another.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
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

TEST(Threads, EndWithTheirRuntime) {
  const auto before = all_threads();
  for (const int workers : {2, 6, 22, 150}) {
    const Runtime runtime({.workers = workers, .spin = std::chrono::nanoseconds(0)});
    EXPECT_EQ(threads_since(before).size(), static_cast<std::size_t>(workers) - 1);
  }
  EXPECT_THAT(threads_since(before), testing::IsEmpty());
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
/// Lets the process have so much more memory: the stacks of a few threads.
void allow_megabytes(long more) {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * 4096 + more * (1 << 20));
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
}

TEST(Threads, ThatTheSystemDoesNotHaveAreAnErrorAndLeaveNoneBehind) {
  const auto refused = [] {
    const auto before = all_threads();
    {
      const Runtime trial({.workers = 2});
    }
    allow_megabytes(100);
    try {
      const Runtime runtime({.workers = 200});
    } catch (const std::system_error& error) {
      const Runtime fewer({.workers = 3});
      std::fprintf(stderr, "%s, %zu threads are left", error.what(), threads_since(before).size());
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "temporarily unavailable, 2 threads are left");
}
#endif

}  // namespace
}  // namespace taskgrain::rt
