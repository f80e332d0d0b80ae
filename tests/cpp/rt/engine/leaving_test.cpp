/// A thread that has waited and goes its own way: what others can run must not wait until a thread waits again.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

void spin_until(const std::atomic<int>& number, int is) {
  while (number != is) std::this_thread::yield();
}

/// A task of worker 0, which fulfills tasks of worker 1.
struct Sender {
  Sender(Runtime& runtime, int messages) : far(runtime, "far"), near(runtime, "near") {
    far.indegree([](int) { return 1; }).worker([](int) { return 1; }).run([this](int) { ++ran; });
    near.indegree([](int) { return 1; }).worker([](int) { return 0; }).run([this, messages](int) {
      for (int k = 0; k < messages; ++k) far.fulfill(k);
      sent = true;
    });
    near.fulfill(0);
  }

  std::atomic<int> ran{0};
  std::atomic<bool> sent{false};
  Taskflow<int> far, near;
};

class LeavingWithMessages : public testing::TestWithParam<int> {};
// The first, for which there is no mailbox yet, and more than a mailbox takes.
INSTANTIATE_TEST_SUITE_P(Leaving, LeavingWithMessages, testing::Values(1, 100'000), testing::PrintToStringParamName());

TEST_P(LeavingWithMessages, TakesNoneAlong) {
  for (const std::string how : {"after a wait for one flow", "after work_until", "by an exception"}) {
    Runtime runtime({.workers = 2});
    Sender tasks(runtime, GetParam());
    const auto leave = [&] {
      const bool sent = tasks.sent;  // once: it may become true between two looks
      if (sent && how == "by an exception") throw std::runtime_error("enough");
      return sent;
    };
    if (how == "after a wait for one flow")
      tasks.near.wait();
    else if (how == "after work_until")
      runtime.work_until(leave);
    else
      EXPECT_THROW(runtime.work_until(leave), std::runtime_error);
    spin_until(tasks.ran, GetParam());
  }
}

TEST(Leaving, LetsOthersRunItsTasks) {
  // Many are stealable already when a few more come: too few to make the range larger for them while worker 0 is there.
  constexpr int first = 500, each = 4, tasks = first * (1 + each);
  Runtime runtime({.workers = 2});
  Taskflow<int> flow(runtime);
  std::atomic<int> ran{0};
  std::atomic<bool> left{false};
  flow.indegree([](int) { return 1; }).worker([](int) { return std::max(0, this_worker()); }).run([&](int key) {
    while (key != -1 && this_worker() == 1 && !left) std::this_thread::yield();
    if (key == -1)
      for (int k = 0; k < first; ++k) flow.fulfill(k);
    else if (key < first)
      for (int k = 0; k < each; ++k) flow.fulfill(first + each * key + k);
    ++ran;
  });
  flow.fulfill(-1);
  runtime.work_until([&] { return ran > 0; });
  EXPECT_LT(ran, tasks);
  left = true;
  spin_until(ran, tasks + 1);
}

}  // namespace
}  // namespace taskgrain::rt
