/// In which order a worker runs its ready tasks. A chain is the longest path of a graph, and each of its tasks makes
/// two others ready. One worker, so that the order is the same each time.

#include <cstdio>
#include <string>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int links = 4, leaves = 2;

/// Which tasks ran, in order: 'A', 'B', … are the chain, 'a', 'b', … what comes after its tasks.
std::string run(rt::Order order, bool chain_first) {
  std::string ran;
  rt::Runtime runtime({.workers = 1, .order = order});
  rt::Taskflow<char> flow(runtime, "task");
  flow.indegree([](char) { return 1; });
  if (chain_first) flow.priority([](char task) { return task < 'a' ? 1 : 0; });  // 0 where none is given
  flow.run([&](char task) {
    ran += task;
    if (task >= 'a') return;
    if (task + 1 < 'A' + links) flow.fulfill(static_cast<char>(task + 1));
    for (int leaf = 0; leaf < leaves; ++leaf) flow.fulfill(static_cast<char>(task - 'A' + 'a'));
  });
  flow.fulfill('A');
  runtime.wait();
  return ran;
}

int main() {
  std::printf("newest first: %s\n", run(rt::Order::newest, false).c_str());
  std::printf("oldest first: %s\n", run(rt::Order::oldest, false).c_str());
  std::printf("chain first:  %s\n", run(rt::Order::newest, true).c_str());
}
