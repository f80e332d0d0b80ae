/// What asynchronous tasks take: no allocation each in the steady state; and what happens if there is no memory.

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "allocations.hpp"
#include "policies.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Issued {
  std::int64_t stream, at, more[2];
};

/// What one thread has allocated from the first time that it is asked to the last.
struct alignas(128) Meter {
  std::int64_t calls = 0, first = 0, last = 0;

  void look() {
    last = allocations();
    if (calls++ == 0) first = last;
  }
};

/// A device that is done with everything in its order, and allocates nothing.
class FrugalDevice {
 public:
  ~FrugalDevice() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void submit(Done done) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.at(static_cast<std::size_t>(end_of_jobs_++ % 64)) = std::move(done);
    }
    changed_.notify_one();
  }
  Meter meter;

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (done_ == end_of_jobs_) {
        if (end_) return;
        changed_.wait(lock);
        continue;
      }
      Done done = std::move(jobs_.at(static_cast<std::size_t>(done_++ % 64)));
      lock.unlock();
      meter.look();  // before `done`, after which the test may read it
      done();
      done = Done();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Done, 64> jobs_;
  std::int64_t done_ = 0, end_of_jobs_ = 0;
  bool end_ = false;
  std::thread thread_{[this] { serve(); }};
};

TEST(GraphMemory, TasksAllocateNothingOnADevice) {
  for (const Policy policy : {Policy::in_order, Policy::ready_queue, Policy::stealing}) {
    Runtime runtime({.workers = 2, .pin = false});
    std::array<Meter, 2> meters;
    FrugalDevice device;
    TaskGraph tasks;
    const auto on_device = [&](int worker) {
      return tasks.async_task<Issued>(worker, [&](const Turn& turn, const auto& issue) {
        meters[static_cast<std::size_t>(turn.worker)].look();
        device.submit(issue.done);
        return Issued{turn.worker, turn.iteration, {}};
      });
    };
    const auto at_once = tasks.async_task<Issued>(1, [&](const Turn& turn, const auto& issue) {
      meters[static_cast<std::size_t>(turn.worker)].look();
      issue.done();
      return Issued{turn.worker, turn.iteration, {}};
    });
    const auto copy = on_device(0), kernel = on_device(1);
    const auto host = tasks.task(0, [&](const Turn& turn) { meters[static_cast<std::size_t>(turn.worker)].look(); });
    tasks.edge(copy, kernel);
    tasks.edge(copy, at_once);
    tasks.edge(kernel, host);
    tasks.carried_edge(kernel, copy);
    tasks.carried_edge(at_once, kernel);
    tasks.carried_edge(host, kernel);
    CompiledGraph graph(runtime, std::move(tasks), policy);
    graph.launch({.iterations = 300});  // queues get their sizes
    runtime.wait();
    for (Meter& meter : meters) meter = {};
    device.meter = {};
    graph.launch({.iterations = 1000});
    runtime.wait();
    std::int64_t allocated = device.meter.last - device.meter.first;
    for (const Meter& meter : meters) allocated += meter.last - meter.first;
    EXPECT_EQ(meters[0].calls + meters[1].calls, 4 * 1000);
    EXPECT_EQ(device.meter.calls, 2 * 1000);
    // A queue may get longer than ever before, and a worker may send to another for the first time: some allocations,
    // whatever the number of tasks.
    EXPECT_LT(allocated, 100) << policy_name({policy, 0});
  }
}

TEST(GraphMemory, ThatEndsWhenADeviceIsGivenATaskEndsTheLaunch) {
  for (const Policy policy : {Policy::in_order, Policy::ready_queue, Policy::stealing}) {
    Runtime runtime({.workers = 2});
    TaskGraph tasks;
    std::atomic<bool> refuse{true};
    Done kept;  // what stands for the first is not given to the second
    const auto first = tasks.async_task<int>(1, [&](const Turn&, const auto& issue) {
      kept = issue.done;
      issue.done();
      if (refuse) refuse_next_allocation();  // asynchronous tasks are not stolen: this worker issues the second
      return 0;
    });
    const auto second = tasks.async_task<int>(1, [&](const Turn&, const auto& issue) {
      issue.done();
      return 0;
    });
    tasks.edge(first, second);
    tasks.edge(second, tasks.task(0, [] {}));
    CompiledGraph graph(runtime, std::move(tasks), policy);
    graph.launch({.iterations = 3});
    EXPECT_THAT([&] { runtime.wait(); }, ThrowsMessage<TaskFailed>(HasSubstr("bad_alloc"))) << policy_name({policy, 0});
    refuse = false;
    graph.launch({.iterations = 3});
    runtime.wait();
  }
}

}  // namespace
}  // namespace taskgrain::rt
