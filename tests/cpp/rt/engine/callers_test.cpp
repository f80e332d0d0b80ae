/// Threads that wait, join and start at a time, and what each of them hears of.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "rt/engine/tree.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

/// Chains of tasks with two fulfilments each, so that something waits all the time.
class Ladder {
 public:
  explicit Ladder(Runtime& runtime) : flow_(runtime, "ladder") {
    flow_.indegree([](std::int64_t k) { return k % 1000 == 0 ? 1 : 2; }).run([this](std::int64_t k) {
      ran_.fetch_add(1, std::memory_order_relaxed);
      if (k % 1000 == 99) return;
      flow_.fulfill(k + 1);
      flow_.fulfill(k + 1);
    });
  }
  /// Starts a chain of 100 tasks.
  void climb(int chain) { flow_.fulfill(1000 * std::int64_t{chain}); }
  int ran() const { return ran_.load(); }

 private:
  std::atomic<int> ran_{0};
  Taskflow<std::int64_t> flow_;
};

TEST(Callers, MayWaitWhileOthersStartWhatNeedsNobodyElse) {
  // Each chain is complete in itself: whoever waits may come back between two of them, and never finds one stuck.
  Runtime runtime({.workers = 3});
  Ladder ladder(runtime);
  std::atomic<int> starting{3};
  std::vector<std::jthread> starters;
  for (int starter = 0; starter < 3; ++starter)
    starters.emplace_back([&, starter] {
      for (int n = 0; n < 500; ++n) {
        ladder.climb(1000 * starter + n);
        if (n % 7 == 0) std::this_thread::yield();
      }
      --starting;
    });
  while (starting > 0) ASSERT_NO_THROW(runtime.wait());
  starters.clear();
  runtime.wait();
  EXPECT_EQ(ladder.ran(), 150'000);
}

TEST(Callers, MayJoinAndStartWhileOthersWait) {
  Runtime runtime({.workers = 3});
  std::atomic<int> ran{0};
  std::atomic<bool> over{false};
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).run([&](int) { ++ran; });
  std::jthread other([&] {
    for (int n = 0; n < rounds(300); ++n) {
      flow.fulfill(n);
      runtime.wait();
    }
    over = true;
  });
  while (!over) {
    runtime.join();
    runtime.start();
    std::this_thread::yield();  // nobody sees to it that the other has its turn
  }
  other.join();
  runtime.wait();
  EXPECT_EQ(ran, rounds(300));
}

TEST(WorkUntil, LetsTheExceptionOfItsConditionThrough) {
  Runtime runtime({.workers = 2});
  const Runtime::Hold hold = runtime.hold();
  EXPECT_THROW(runtime.work_until([]() -> bool { throw std::out_of_range("no"); }), std::out_of_range);
  EXPECT_EQ(detail::engine_of(runtime).here(), nullptr);
  EXPECT_EQ(this_worker(), -1);
}

TEST(WorkUntil, LeavesAFailureToTheNextWait) {
  // The task fails at about the time at which the condition becomes true; other tasks go on on the other workers
  // meanwhile.
  Runtime runtime({.workers = 4});
  for (int n = 0; n < rounds(100); ++n) {
    Ladder ladder(runtime);
    Taskflow<int> flow(runtime, "late");
    std::atomic<bool> done{false};
    flow.indegree([](int) { return 0; }).worker([](int) { return 1; }).run([&](int k) {
      done = true;
      runtime.notify();
      if (k == 1) throw std::runtime_error("too late");
    });
    for (int chain = 0; chain < 8; ++chain) ladder.climb(chain);
    flow.fulfill(n % 4);
    const auto until_done = [&] { runtime.work_until([&] { return done.load(); }); };
    if (n % 4 != 1) {
      until_done();
      runtime.wait();
      EXPECT_EQ(ladder.ran(), 800);
    } else {
      EXPECT_THROW((until_done(), runtime.wait()), TaskFailed);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these need all of the address space
/// In a process of its own: a flow ends with tasks that need threads, and there are none.
[[noreturn]] void end_a_flow_without_threads() {
  constexpr int workers = 100;  // more than stacks are kept of threads that have ended
  int ran = 0;
  Runtime runtime({.workers = workers});
  runtime.join();
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  {
    Taskflow<int> flow(runtime, "flow");
    flow.indegree([](int) { return 1; }).worker([](int) { return workers - 1; }).bound([](int) { return true; });
    flow.run([&ran](int) { ++ran; });
    for (int k = 0; k < 5; ++k) flow.fulfill(k);
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    const rlimit limit{pages * 4096 + (100U << 20), before.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  setrlimit(RLIMIT_AS, &before);
  runtime.wait();
  std::_Exit(ran == 5 ? 0 : 1);
}

TEST(Flows, ThatCannotBeWaitedForEndWhenOneWaitsAgain) {
  EXPECT_EXIT(end_a_flow_without_threads(), testing::ExitedWithCode(0), "nobody waited for this");
}
#endif

TEST(WorkUntil, MayFulfillWhenItIsAsked) {
  for (const int worker : {0, 1}) {
    Runtime runtime({.workers = 2, .spin = worker == 0 ? 0ns : 2ms});
    std::atomic<int> ran{0};
    Taskflow<int> flow(runtime);
    flow.indegree([](int) { return 1; }).worker([&](int) { return worker; }).run([&](int) { ++ran; });
    int fulfilled = 0;
    {
      const auto hold = runtime.hold();  // or nothing may be left just after it was asked
      runtime.work_until([&] {
        EXPECT_EQ(this_worker(), -1);
        const int so_far = ran;  // once: the task may end in between
        if (so_far == 100) return true;
        if (fulfilled == so_far) flow.fulfill(fulfilled++);
        return false;
      });
    }
    EXPECT_EQ(ran, 100);
    runtime.work_until([&] {
      if (ran < 200 && fulfilled == ran) flow.fulfill(fulfilled++);
      return false;
    });
    EXPECT_GE(ran, 101);
  }
}

TEST(WorkUntil, NeedsSomethingToAsk) {
  Runtime runtime({.workers = 1});
  EXPECT_THROW(runtime.work_until({}), UsageError);
}

TEST(WorkUntil, CannotWaitWhenItIsAsked) {
  Runtime runtime({.workers = 2});
  const auto waits = [&]() -> bool {
    runtime.wait();
    return true;
  };
  EXPECT_THAT([&] { runtime.work_until(waits); }, ThrowsMessage<UsageError>(HasSubstr("cannot wait")));
}

}  // namespace
}  // namespace taskgrain::rt
