/// Asynchronous tasks: the host gives work to a device and goes on. Here the device is a thread with a queue; with CUDA
/// it would be a stream, its events and a callback.

#include <cstdio>
#include <functional>
#include <latch>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

using Finished = std::shared_ptr<std::latch>;  // what the device calls an event

/// Does what is enqueued, in order, each after the events that it waits for.
class Stream {
 public:
  Finished enqueue(std::span<const Finished> after, std::function<void()> work, rt::Done done) {
    std::vector<Finished> before(after.begin(), after.end());
    if (last_) before.push_back(last_);
    last_ = std::make_shared<std::latch>(1);
    threads_.emplace_back([before, work, done, finished = last_] {
      for (const Finished& one : before) one->wait();
      work();
      finished->count_down();
      done();
    });
    return last_;
  }

 private:
  Finished last_;
  std::vector<std::jthread> threads_;
};

int main() {
  rt::Runtime runtime;
  Stream copies, kernels;
  int host = 0, device = 0, result = 0;
  rt::TaskGraph graph("device");
  const auto prepare = graph.task(0, [&] { host = 20; }, "prepare");
  const auto copy = graph.async_task<Finished>(
      0,
      [&](const rt::Turn&, const rt::Issue<Finished>& issue) {
        return copies.enqueue(issue.after, [&] { device = host; }, issue.done);
      },
      "copy");
  const auto kernel = graph.async_task<Finished>(
      0,
      [&](const rt::Turn&, const rt::Issue<Finished>& issue) {
        return kernels.enqueue(
            issue.after, [&] { device = 2 * device + 2; }, issue.done);  // waits for the copy on the device
      },
      "kernel");
  const auto use = graph.task(0, [&] { result = device; }, "use");  // runs when the device is done
  graph.edge(prepare, copy);
  graph.edge(copy, kernel);
  graph.edge(kernel, use);
  rt::CompiledGraph compiled(runtime, std::move(graph), rt::Policy::ready_queue);
  compiled.launch();
  runtime.wait();
  std::printf("the device says %d\n", result);
  return result == 42 ? 0 : 1;
}
