/// Workers without tasks find those of others, also while these are busy, and however many workers there are.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

/// Tasks of worker 0 that wait for one another.
class Party {
 public:
  explicit Party(Runtime& runtime, int guests) : flow_(runtime, "guest"), guests_(guests) {
    flow_.indegree([](int) { return 1; }).worker([](int) { return 0; }).run([this](int) { come(); });
  }
  void invite(int guest) { flow_.fulfill(guest); }
  /// Waits until all are there.
  void come() {
    ++there_;
    if (!eventually([&] { return there_ >= guests_; })) alone_ = true;
  }
  bool met() const { return !alone_; }

 private:
  Taskflow<int> flow_;
  const int guests_;
  std::atomic<int> there_{0};
  std::atomic<bool> alone_{false};
};

class Stealing : public testing::TestWithParam<std::chrono::nanoseconds> {};
INSTANTIATE_TEST_SUITE_P(Spin, Stealing, testing::Values(0ns, 2ms, 10s), [](const auto& spin) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(spin.param).count()) + "ms";
});

TEST_P(Stealing, GetsWhatATaskMadeThatGoesOn) {
  for (int n = 0; n < 20; ++n) {
    Runtime runtime({.workers = 4, .spin = GetParam()});
    Party party(runtime, 4);
    Taskflow<int> host(runtime, "host");
    host.worker([](int) { return 0; }).indegree([](int) { return 1; }).bound([](int) { return true; });
    host.run([&](int) {
      for (int guest = 1; guest < 4; ++guest) {
        if (n % 2 == 0) std::this_thread::sleep_for(1ms);  // others may be asleep by now
        party.invite(guest);
      }
      party.come();
    });
    host.fulfill(0);
    runtime.wait();
    ASSERT_TRUE(party.met());
  }
}

TEST_P(Stealing, GoesOnAfterTasksThatWereTooShort) {
  Runtime runtime({.workers = 3, .spin = GetParam()});
  std::atomic<std::int64_t> ran{0};
  Taskflow<std::int64_t> flow(runtime);
  flow.indegree([](auto) { return 1; }).worker([](auto) { return 0; }).run([&](auto) {
    ran.fetch_add(1, std::memory_order_relaxed);
  });
  const std::int64_t tasks = rounds(200'000);
  for (std::int64_t k = 0; k < tasks; ++k) flow.fulfill(k);
  runtime.wait();
  EXPECT_EQ(ran, tasks);
  Party party(runtime, 3);
  for (int guest = 0; guest < 3; ++guest) party.invite(guest);
  runtime.wait();
  EXPECT_TRUE(party.met());
}

/// More workers than processors: tasks of one of them, in a tree, run once each.
TEST(ManyWorkers, RunTheTasksOfOne) {
  for (const int workers : {64, many_workers()}) {
    Runtime runtime({.workers = workers});
    const std::int64_t tasks = std::max<std::int64_t>(1000, rounds(20'000));
    std::vector<std::atomic<int>> ran(static_cast<std::size_t>(tasks));
    std::vector<std::atomic<int>> of_worker(static_cast<std::size_t>(workers));
    Taskflow<std::int64_t> flow(runtime);
    flow.indegree([](auto) { return 1; }).worker([](auto) { return 0; }).run([&](std::int64_t k) {
      ++ran[static_cast<std::size_t>(k)];
      ++of_worker[static_cast<std::size_t>(this_worker())];
      for (std::int64_t next = 4 * k + 1; next <= 4 * k + 4; ++next)
        if (next < tasks) flow.fulfill(next);
      if (k % 100 == 0) std::this_thread::yield();
    });
    for (int again = 1; again <= 3; ++again) {
      flow.fulfill(0);
      runtime.wait();
      for (const auto& times : ran) ASSERT_EQ(times, again);
    }
  }
}

TEST(ManyWorkers, AllGetSomethingToDo) {
  Runtime runtime({.workers = 64});
  Party party(runtime, 64);
  for (int guest = 0; guest < 128; ++guest) party.invite(guest);  // a few of which worker 0 keeps
  runtime.wait();
  EXPECT_TRUE(party.met());
}

}  // namespace
}  // namespace taskgrain::rt
