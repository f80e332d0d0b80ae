/// The shortest graph with all there is to a task: task 0 comes before 1 and 2, and both of these before 3.

#include <cstdio>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

int main() {
  rt::Runtime runtime;  // a worker on each core
  rt::Taskflow<int> flow(runtime, "diamond");
  flow.indegree([](int task) { return task == 3 ? 2 : 1; });
  flow.run([&](int task) {
    if (task == 0) flow.fulfill(1), flow.fulfill(2);
    if (task == 1 || task == 2) flow.fulfill(3);
    if (task == 3) std::puts("hello from the last task");
  });
  flow.fulfill(0);
  runtime.wait();
}
