/// Random graphs of tasks on random runtimes, every execution and every order checked.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "random_tasks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

struct Thrown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The graph as three flows with keys of three kinds, task k in flow k modulo 3.
class Flows {
 public:
  Flows(Runtime& runtime, RandomTasks& graph)
      : graph_(graph), numbers_(runtime, "number"), pairs_(runtime, "pair"), names_(runtime, "name") {
    set(numbers_, [](int key) { return key; });
    set(pairs_, [](const std::pair<int, std::int64_t>& key) { return key.first; });
    set(names_, [](const std::string& key) { return std::stoi(key); });
  }
  void fulfill(int k) {
    if (k % 3 == 0)
      numbers_.fulfill(k);
    else if (k % 3 == 1)
      pairs_.fulfill({k, -k});
    else
      names_.fulfill(name(k));
  }
  /// What errors call task k.
  static std::string text(int k) {
    const std::string number = std::to_string(k);
    return k % 3 == 0   ? "number " + number
           : k % 3 == 1 ? "pair (" + number + ", " + std::to_string(-k) + ")"
                        : "name " + name(k);
  }
  /// The task that throws; none if it is -1.
  void fail_at(int k) { fails_ = k; }

 private:
  template <typename K, typename NumberOf>
  void set(Taskflow<K>& flow, NumberOf number_of) {
    const auto task = [this, number_of](const K& key) -> Task& { return graph_[number_of(key)]; };
    flow.indegree([this, number_of](const K& key) { return graph_.indegree(number_of(key)); });
    flow.worker([task](const K& key) { return task(key).worker; });
    flow.priority([task](const K& key) { return task(key).priority; });
    flow.bound([task](const K& key) { return task(key).bound; });
    flow.run([this, number_of](const K& key) { run(number_of(key)); });
  }
  static std::string name(int k) { return std::to_string(k) + " with a tail that puts it on the heap"; }
  void run(int k) {
    graph_.run(k);
    if (k == fails_) throw Thrown("as told");
    for (const int after : graph_[k].after) fulfill(after);
  }

  RandomTasks& graph_;
  int fails_ = -1;
  Taskflow<int> numbers_;
  Taskflow<std::pair<int, std::int64_t>> pairs_;
  Taskflow<std::string> names_;
};

/// Fulfills what comes from outside, from one thread or three, before the wait or during it.
void fulfill_from_outside(Runtime& runtime, RandomTasks& graph, Flows& flows, Random& random,
                          std::vector<std::jthread>& threads) {
  std::vector<int> outside;
  for (int k = 0; k < static_cast<int>(graph.tasks().size()); ++k)
    if (graph[k].from_outside) outside.push_back(k);
  std::ranges::shuffle(outside, random);
  if (random() % 2 == 0) {
    for (const int k : outside) flows.fulfill(k);
    return;
  }
  for (std::size_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([&flows, outside, thread, hold = runtime.hold()] {
      for (std::size_t n = thread; n < outside.size(); n += 3) flows.fulfill(outside[n]);
    });
}

/// A graph, run to its end three times on one runtime, sometimes after a run that fails.
void run_one(unsigned seed) {
  Random random(seed);
  const int workers = 1 + static_cast<int>(random() % 5);
  const std::chrono::nanoseconds spins[] = {0ns, 20us, 2ms};
  Runtime runtime(
      {.workers = workers, .pin = random() % 4 != 0, .spin = spins[random() % 3], .check = random() % 4 == 0});
  for (int run = 0; run < 3; ++run) {
    RandomTasks graph(random, workers);
    Flows flows(runtime, graph);
    std::vector<std::jthread> threads;
    if (random() % 4 == 0) {
      const int fails = static_cast<int>(random() % graph.tasks().size());
      flows.fail_at(fails);
      fulfill_from_outside(runtime, graph, flows, random, threads);
      EXPECT_THAT([&] { runtime.wait(); },
                  testing::Throws<TaskFailed>(testing::Property(&TaskFailed::task, Flows::text(fails))));
      threads.clear();
      flows.fail_at(-1);
      for (const Task& task : graph.tasks()) ASSERT_LE(task.ran, 1);
      graph.clear();
    }
    fulfill_from_outside(runtime, graph, flows, random, threads);
    ASSERT_NO_THROW(runtime.wait());
    graph.expect_right();
  }
}

TEST(RandomGraphs, RunEachTaskOnceAndInOrder) {
  for (unsigned seed = 1; seed <= rounds(400) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_one(seed);
  }
}

}  // namespace
}  // namespace taskgrain::rt
