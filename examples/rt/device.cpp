/// Asynchronous tasks: the host gives work to a device and goes on. Here the device is a thread with a queue; with CUDA
/// it would be a stream, its events and a callback.

#include <any>
#include <cstdio>
#include <functional>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

using Finished = std::shared_future<void>;  // what the device calls an event

/// Does what is enqueued, in order, each after the events that it waits for.
class Stream {
 public:
  Finished enqueue(std::span<const rt::DeviceEvent> after, std::function<void()> work, std::function<void()> done) {
    std::vector<Finished> before{last_};
    for (const rt::DeviceEvent& event : after) before.push_back(std::any_cast<Finished>(event));
    return last_ = std::async(std::launch::async, [before, work, done] {
                     for (const Finished& one : before)
                       if (one.valid()) one.wait();
                     work();
                     done();
                   }).share();
  }

 private:
  Finished last_;
};

int main() {
  rt::Runtime runtime;
  Stream copies, kernels;
  int host = 0, device = 0, result = 0;
  rt::TaskGraph graph("device");
  const auto prepare = graph.task(0, [&] { host = 20; }, "prepare");
  const auto copy = graph.async_task(
      0,
      [&](const rt::Turn&, const rt::Issue& issue) -> rt::DeviceEvent {
        return copies.enqueue(issue.after, [&] { device = host; }, issue.done);
      },
      "copy");
  const auto kernel = graph.async_task(
      0,
      [&](const rt::Turn&, const rt::Issue& issue) -> rt::DeviceEvent {
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
