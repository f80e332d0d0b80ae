/// Launches that are cancelled, and those that come after them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

class CancelledLaunches : public testing::TestWithParam<Policy> {
 protected:
  Runtime runtime_{{.workers = 3, .pin = false, .spin = 50us}};
};

TEST_P(CancelledLaunches, End) {
  TaskGraph tasks("graph");
  std::atomic<int> ran{0};
  std::vector<TaskGraph::Node> nodes;
  for (int w = 0; w < 3; ++w) nodes.push_back(tasks.task(w, [&] { ++ran; }));
  tasks.carried_edge(nodes[0], nodes[1]);
  tasks.carried_edge(nodes[1], nodes[2]);
  tasks.carried_edge(nodes[2], nodes[0]);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < 20; ++round) {
    const auto launch = graph.launch({.iterations = 1'000'000'000}), queued = graph.launch();
    const Event never;
    graph.launch({.after = {never}});
    std::thread other([&, hold = runtime_.hold()] {
      if (round % 2 == 0) std::this_thread::sleep_for(1ms);
      graph.cancel();
    });
    EXPECT_THROW(runtime_.wait(launch.done), Cancelled);
    EXPECT_THROW(runtime_.wait(queued.done), Cancelled);
    other.join();
    runtime_.wait();
    ran = 0;
    runtime_.wait(graph.launch({.iterations = 7}).done);
    EXPECT_EQ(ran, 21);
  }
}

TEST_P(CancelledLaunches, LetLaterOnesRun) {
  TaskGraph tasks("graph");
  for (int w = 0; w < 3; ++w) tasks.task(w, [] {});
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  for (int round = 0; round < rounds(500); ++round) {
    const auto first = graph.launch({.iterations = 100}), queued = graph.launch();
    graph.cancel();
    const auto after = graph.launch();
    runtime_.wait(after.done);
    EXPECT_TRUE(after.done.is_set());
    EXPECT_EQ(queued.done.is_set(), false);
    EXPECT_TRUE(first.done.is_set() || first.done.failure() != nullptr);
  }
  runtime_.wait();
}

INSTANTIATE_TEST_SUITE_P(Policies, CancelledLaunches, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
