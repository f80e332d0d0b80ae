/// Asynchronous tasks: what is between them stays on the device, what comes after them waits for the device.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "rt/asleep.hpp"
#include "simulated_device.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Async : public testing::TestWithParam<Policy> {
 protected:
  /// A task whose work the device does in a stream.
  TaskGraph::Node on_device(TaskGraph& tasks, int worker, std::size_t stream, std::function<void()> work,
                            std::string name = {}) {
    return tasks.async_task<SimulatedDevice::Event>(
        worker,
        [this, stream, work](const Turn&, const auto& issue) {
          return device_.submit(stream, issue.after, work, issue.done);
        },
        std::move(name));
  }
  /// Resumes the device from outside when so much was submitted to it.
  std::thread resume_after(std::size_t submissions) {
    device_.pause();
    return std::thread([this, submissions, hold = runtime_.hold()] {
      while (device_.submitted() < submissions) std::this_thread::yield();
      device_.resume();
    });
  }

  Runtime runtime_{{.workers = 3, .pin = false, .spin = 50us}};
  SimulatedDevice device_{3};
};

TEST_P(Async, ChainsAreGivenToTheDeviceAtOnce) {
  std::vector<int> order;  // written by the device alone
  TaskGraph tasks;
  const auto a = on_device(tasks, 0, 2, [&] { order.push_back(1); }),
             b = on_device(tasks, 1, 1, [&] { order.push_back(2); }),
             c = on_device(tasks, 1, 0, [&] { order.push_back(3); });
  bool after = false;
  const auto host = tasks.task(2, [&] { after = order.size() == 3; });
  tasks.edge(a, b);
  tasks.edge(b, c);
  tasks.edge(c, host);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  std::thread other = resume_after(3);  // that is only reached if the host does not wait between them
  const auto launch = graph.launch();
  runtime_.wait();
  other.join();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_TRUE(after);
  EXPECT_TRUE(launch.done.is_set());
}

TEST_P(Async, TheHostWorksWhileTheDeviceDoes) {
  std::atomic<int> ran{0};
  TaskGraph tasks;
  const auto work = on_device(tasks, 0, 0, [] {});
  const auto beside = tasks.task(0, [&] {
    ran = 1;
    device_.resume();
  });
  const auto after = tasks.task(0, [&] { EXPECT_EQ(ran.exchange(2), 1); });
  tasks.edge(work, after);
  static_cast<void>(beside);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  device_.pause();
  graph.launch();
  runtime_.wait();
  EXPECT_EQ(ran.load(), 2);
}

TEST_P(Async, LongWaitsSleep) {
  const auto threads = runtime_.on_each_worker([](int) { return gettid(); });
  TaskGraph tasks;
  const auto work = on_device(tasks, 1, 0, [] {});
  const auto near = tasks.task(1, [] {}), far = tasks.task(0, [] {}), other_end = tasks.task(2, [] {});
  tasks.edge(work, near);
  tasks.edge(near, far);
  tasks.edge(far, other_end);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  device_.pause();
  graph.launch({.iterations = 3});
  bool slept = false;
  std::thread other([&, hold = runtime_.hold()] {
    while (device_.submitted() == 0) std::this_thread::yield();
    slept = fall_asleep(threads);
    device_.resume();
  });
  runtime_.wait();
  other.join();
  EXPECT_TRUE(slept);
}

TEST_P(Async, AFailureWaitsForTheDevice) {
  std::atomic<int> done{0};
  TaskGraph tasks("mixed");
  const auto work = on_device(tasks, 1, 0, [&] {
    std::this_thread::sleep_for(2ms);
    done.fetch_add(1);
  });
  const auto after = tasks.task(1, [] {});
  tasks.edge(work, after);
  bool fails = true;
  tasks.task(
      2,
      [&] {
        while (device_.submitted() == 0) std::this_thread::yield();
        if (fails) throw std::runtime_error("no");
      },
      "bad");
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  graph.launch();
  EXPECT_THROW(runtime_.wait(), TaskFailed);
  EXPECT_EQ(done.load(), 1);
  fails = false;
  graph.launch();
  runtime_.wait();
  EXPECT_EQ(done.load(), 2);
}

TEST_P(Async, AStartThatThrowsIsNamed) {
  TaskGraph tasks("mixed");
  tasks.async_task<int>(
      1, [](const Turn&, const Issue<int>&) -> int { throw std::runtime_error("no device"); }, "kernel");
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (const auto& [iterations, task] : {std::pair(1, "mixed kernel"), {2, "mixed kernel of iteration [01]"}}) {
    graph.launch({.iterations = iterations});
    EXPECT_THAT([&] { runtime_.wait(); },
                testing::Throws<TaskFailed>(testing::Property(&TaskFailed::task, testing::MatchesRegex(task))));
  }
}

TEST(Done, OfNoTaskIsNotToBeCalled) { EXPECT_THROW(Done()(), UsageError); }

/// What `wait` throws.
std::string failure_of(Runtime& runtime) {
  try {
    runtime.wait();
  } catch (const TaskFailed& error) {
    return error.what();
  }
  return "nothing";
}

TEST_P(Async, ADeviceThatDropsDoneIsNamed) {
  bool drops = true;
  int calls = 0;
  TaskGraph tasks("mixed");
  const auto kernel = tasks.async_task<int>(
      1,
      [&](const Turn&, const Issue<int>& issue) -> int {
        ++calls;
        if (!drops) issue.done();
        return {};
      },
      "kernel");
  tasks.edge(kernel, tasks.task(0, [&] { EXPECT_FALSE(drops); }));
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 10; ++round) {
    drops = true;
    const auto launch = graph.launch({.iterations = 2});
    EXPECT_THAT(failure_of(runtime_), AllOf(HasSubstr("mixed kernel"), HasSubstr("never called done")));
    EXPECT_FALSE(launch.done.is_set());
    drops = false;
    calls = 0;
    EXPECT_TRUE((graph.launch({.iterations = 2}), runtime_.wait(), calls == 2));
  }
}

TEST_P(Async, ADeviceMayDropDoneLater) {
  Done kept;
  std::atomic<bool> given{false};
  TaskGraph tasks("mixed");
  tasks.async_task<int>(
      1,
      [&](const Turn&, const Issue<int>& issue) -> int {
        kept = issue.done;
        given = true;
        return {};
      },
      "kernel");
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  graph.launch();
  std::thread other([&, hold = runtime_.hold()] {
    while (!given) std::this_thread::yield();
    auto copy = std::exchange(kept, Done());
    auto last = copy;
    copy = Done();
    std::this_thread::sleep_for(1ms);  // the run waits as long as one copy is there
  });
  EXPECT_THAT(failure_of(runtime_), HasSubstr("never called done"));
  other.join();
}

TEST_P(Async, OnlyTheFirstCallOfDoneCounts) {
  std::vector<Done> kept;  // also from earlier launches
  std::atomic<int> ran{0};
  TaskGraph tasks;
  const auto kernel = tasks.async_task<int>(1, [&](const Turn&, const Issue<int>& issue) -> int {
    kept.push_back(issue.done);
    for (const auto& done : kept) done();
    return {};
  });
  const auto host = tasks.task(2, [&] { ran.fetch_add(1); });
  tasks.edge(kernel, host);
  tasks.carried_edge(host, kernel);
  {
    CompiledGraph graph(runtime_, std::move(tasks), GetParam());
    for (int k = 0; k < 10; ++k) graph.launch({.iterations = 3});
    runtime_.wait();
    EXPECT_EQ(ran.load(), 30);
  }
  for (const auto& done : kept) done();  // the graph is gone
  runtime_.wait();
}

TEST_P(Async, DoneOfAStartThatThrewDoesNothing) {
  Done of_failed, done;
  std::atomic<bool> started{false};
  bool fails = true;
  int ran = 0;
  TaskGraph tasks("mixed");
  const auto kernel = tasks.async_task<int>(
      1,
      [&](const Turn&, const Issue<int>& issue) -> int {
        if (fails) {
          of_failed = issue.done;
          throw std::runtime_error("no device");
        }
        done = issue.done;
        started = true;
        return {};
      },
      "kernel");
  tasks.edge(kernel, tasks.task(1, [&] { ++ran; }));
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  graph.launch();
  EXPECT_THAT(failure_of(runtime_), AllOf(HasSubstr("mixed kernel"), HasSubstr("no device")));
  fails = false;
  graph.launch();
  std::thread device([&, hold = runtime_.hold()] {
    while (!started) std::this_thread::yield();
    of_failed();
    EXPECT_EQ(ran, 0);
    done();
  });
  runtime_.wait();
  device.join();
  EXPECT_EQ(ran, 1);
}

INSTANTIATE_TEST_SUITE_P(Policies, Async, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
