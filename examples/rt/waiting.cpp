/// Several threads submit work to one runtime, and each waits for its own: one flow, one launch, one event. What goes
/// wrong in one of them, or is cancelled, does not concern the others.

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main() {
  rt::Runtime runtime;
  int right = 0;

  // A flow that goes on all the time.
  std::atomic<bool> go_on{true};
  rt::Taskflow<long> clock(runtime, "clock");
  clock.indegree([](long) { return 1; }).run([&](long tick) {
    if (go_on) clock.fulfill(tick + 1);
  });
  clock.fulfill(0);

  // Another thread has a flow of its own, and waits for this one alone.
  std::thread other([&] {
    rt::Taskflow<int> sum(runtime, "sum");
    std::atomic<int> total{0};
    sum.indegree([](int) { return 0; }).run([&](int task) { total += task; });
    for (int task = 1; task <= 100; ++task) sum.fulfill(task);
    sum.wait();
    std::printf("the sum is %d\n", total.load());
    right += total == 5050;
  });
  other.join();

  // A failure belongs to its flow.
  rt::Taskflow<int> weak(runtime, "weak");
  weak.indegree([](int) { return 1; }).run([](int) { throw std::runtime_error("no strength left"); });
  weak.fulfill(1);
  try {
    weak.wait();
  } catch (const rt::TaskFailed& failure) {
    std::printf("%s\n", failure.what());
    ++right;
  }

  // A graph waits for an input, and tells when its first half is done.
  rt::TaskGraph graph("halves");
  const auto input = graph.precondition("input"), half = graph.postcondition("half");
  const auto first = graph.task(0, [] {}), second = graph.task(runtime.workers() - 1, [] {});
  graph.edge(input, first);
  graph.edge(first, half);
  graph.edge(first, second);
  rt::CompiledGraph compiled(runtime, std::move(graph));
  const rt::Event ready;
  const auto launch = compiled.launch({.preconditions = {{input, ready}}});
  ready.set();
  runtime.wait(launch.postcondition(half));
  runtime.wait(launch.done);
  std::printf("both halves are done\n");

  // What has not started can be cancelled.
  const auto never = compiled.launch({.preconditions = {{input, rt::Event()}}});
  compiled.cancel();
  try {
    runtime.wait(never.done);
  } catch (const rt::Cancelled& cancelled) {
    std::printf("the launch was %s\n", cancelled.what());
    ++right;
  }

  go_on = false;
  runtime.wait();
  return right == 3 ? 0 : 1;
}
