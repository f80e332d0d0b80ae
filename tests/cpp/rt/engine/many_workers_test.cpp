/// More workers than processors, and more than a worker looks at one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

class ManyWorkers : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, ManyWorkers, testing::Values(9, 64, many_workers()));

TEST_P(ManyWorkers, WriteToManyOthers) {
  // Task (step, k) of worker k follows those of step - 1 of k itself and the workers before it: more than there are
  // bits for mailboxes, where there are so many.
  const int workers = GetParam(), others = std::min(workers, 70);
  const auto steps = static_cast<int>(1 + rounds(500) / workers);
  Runtime runtime({.workers = workers});
  std::vector<std::atomic<int>> reached(static_cast<std::size_t>(workers));
  const auto at = [&](int worker) { return static_cast<std::size_t>((worker + workers) % workers); };
  std::atomic<bool> early{false};
  struct Key {
    int step, worker;
  };
  Taskflow<Key> flow(runtime);
  flow.indegree([&](Key key) { return key.step == 0 ? 1 : others; }).worker([](Key key) { return key.worker; });
  flow.bound([](Key) { return true; }).run([&](Key key) {
    if (key.worker != this_worker()) early = true;
    for (int k = 0; k < others; ++k) early = early || reached[at(key.worker - k)] < key.step;
    reached[at(key.worker)] = key.step + 1;
    for (int k = 0; k < others && key.step < steps; ++k)
      flow.fulfill({key.step + 1, static_cast<int>(at(key.worker + k))});
  });
  for (int k = 0; k < workers; ++k) flow.fulfill({0, k});
  runtime.wait();
  EXPECT_FALSE(early);
  for (const auto& step : reached) EXPECT_EQ(step, steps + 1);
}

TEST_P(ManyWorkers, AllWriteToOne) {
  const int workers = GetParam();
  const std::int64_t each = 1 + rounds(20'000) / workers;
  Runtime runtime({.workers = workers});
  std::int64_t sum = 0;  // of worker 0
  struct Key {
    std::int32_t from, number;
  };
  Taskflow<Key> flow(runtime);
  flow.indegree([](Key) { return 1; }).worker([](Key key) { return key.number < 0 ? key.from : 0; });
  flow.bound([](Key) { return true; }).run([&](Key key) {
    if (key.number >= 0) sum += key.number;
    for (std::int32_t n = 0; n < each && key.number < 0; ++n) flow.fulfill({key.from, n});
  });
  for (int k = 0; k < workers; ++k) flow.fulfill({k, -1});
  runtime.wait();
  EXPECT_EQ(sum, workers * (each * (each - 1) / 2));
}

TEST_P(ManyWorkers, RunAGraph) {
  const int workers = GetParam();
  for (const Policy policy : {Policy::in_order, Policy::ready_queue, Policy::stealing}) {
    Runtime runtime({.workers = workers});
    std::vector<std::int64_t> ran(static_cast<std::size_t>(workers));
    TaskGraph graph;
    std::vector<TaskGraph::Node> nodes;
    for (int k = 0; k < workers; ++k) nodes.push_back(graph.task(k, [&ran, k] { ++ran[static_cast<std::size_t>(k)]; }));
    for (std::size_t k = 0; k < nodes.size(); ++k) {  // a ring that meets itself again in the next iteration
      graph.carried_edge(nodes[k], nodes[(k + 1) % nodes.size()]);
      graph.carried_edge(nodes[k], nodes[k]);
    }
    CompiledGraph compiled(runtime, std::move(graph), policy);
    compiled.launch({.iterations = 5});
    compiled.launch();
    runtime.wait();
    EXPECT_EQ(ran, std::vector<std::int64_t>(static_cast<std::size_t>(workers), 6));
  }
}

#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(ManyWorkersOf, ARuntimeTakeLittleMemory) {
  const auto in_use = [] {
    const auto heap = mallinfo2();
    return static_cast<double>(heap.uordblks + heap.hblkhd);
  };
  for (const int workers : {2, 192, 1024}) {
    const double before = in_use();
    const Runtime runtime({.workers = workers});
    const double megabytes = (in_use() - before) / 1e6;
    RecordProperty("megabytes_" + std::to_string(workers), std::to_string(megabytes));
    EXPECT_LT(megabytes, 16.0 * workers / 192) << workers << " workers";
  }
}
#endif

}  // namespace
}  // namespace taskgrain::rt
