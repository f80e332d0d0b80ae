/// What goes wrong comes out of `wait`, with the names of the tasks; afterwards the runtime is as new.

#include <cstdio>
#include <stdexcept>
#include <utility>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main() {
  rt::Runtime runtime;
  rt::Taskflow<int> flow(runtime, "sum");
  int caught = 0;
  flow.indegree([](int task) { return task == 9 ? 3 : 1; });
  flow.run([&](int task) {
    if (task == 7) throw std::domain_error("no such element");
    flow.fulfill(9);
  });

  flow.fulfill(7);
  try {
    runtime.wait();
  } catch (const rt::TaskFailed& failure) {
    std::printf("TaskFailed: %s\n", failure.what());
    try {
      failure.rethrow_nested();
    } catch (const std::domain_error& error) {
      std::printf("which was a domain_error: %s\n", error.what());
      ++caught;
    }
  }

  flow.fulfill(1);  // task 9 waits for a third one
  flow.fulfill(2);
  try {
    runtime.wait();
  } catch (const rt::Stuck& stuck) {
    std::printf("Stuck: %s\n", stuck.what());
    caught += stuck.total() == 1;
  }

  rt::TaskGraph graph("loop");
  const auto a = graph.task(0, [] {}, "a"), b = graph.task(0, [] {}, "b");
  graph.edge(a, b);
  graph.edge(b, a);
  try {
    rt::CompiledGraph compiled(runtime, std::move(graph));
  } catch (const rt::UsageError& error) {
    std::printf("UsageError: %s\n", error.what());
    ++caught;
  }
  return caught == 3 ? 0 : 1;
}
