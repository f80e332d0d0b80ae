/// Random graphs of tasks on random runtimes, every execution and every order checked.
///
/// Each task reads what its predecessors wrote, with no atomics and no locks: a task that runs early or twice gives
/// another value, and ThreadSanitizer sees a runtime that orders two tasks without synchronising them.
/// TASKGRAIN_RANDOM_GRAPHS in the environment sets how many graphs there are, TASKGRAIN_RANDOM_SEED the first one's
/// seed.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

struct Task {
  std::vector<int> before, after;
  int worker = 0;
  int priority = 0;
  bool bound = false;
  bool from_outside = false;  // has one fulfilment more, by a thread that is no worker
  int cost = 0;               // iterations
  // written by the task, read by those after it
  int ran = 0;
  int ran_on = -1;
  std::uint64_t value = 0;
};

std::uint64_t hashed(std::uint64_t value) { return (value ^ value >> 29) * 0xbf58476d1ce4e5b9; }

using Random = std::minstd_rand;

class Graph {
 public:
  Graph(Random& random, int workers) : tasks_(1 + random() % (random() % 4 == 0 ? 3000 : 200)) {
    const auto number = static_cast<int>(tasks_.size());
    const int window = 1 + static_cast<int>(random() % 50);
    const auto most_edges = random() % 6, one_in_slow = 1 + random() % 50;
    const int favourite = static_cast<int>(random() % static_cast<unsigned>(workers));  // where much is to be stolen
    const bool ranked = random() % 2 == 0, unfair = random() % 3 == 0;
    for (int k = 0; k < number; ++k) {
      Task& task = tasks_[static_cast<std::size_t>(k)];
      for (auto edges = random() % (most_edges + 1); edges > 0 && k > 0; --edges) {
        const int to = k - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(k, window)));
        task.before.push_back(to);  // the same more than once is more than one dependence
        tasks_[static_cast<std::size_t>(to)].after.push_back(k);
      }
      task.worker =
          unfair && random() % 8 != 0 ? favourite : static_cast<int>(random() % static_cast<unsigned>(workers));
      if (ranked) {
        task.priority = static_cast<int>(random() % 5) - 2;
        task.bound = random() % 4 == 0;
      }
      task.from_outside = task.before.empty() || random() % 40 == 0;
      task.cost = random() % one_in_slow == 0 ? 3000 : static_cast<int>(random() % 30);
    }
  }

  std::vector<Task>& tasks() { return tasks_; }
  Task& operator[](int k) { return tasks_[static_cast<std::size_t>(k)]; }

  std::uint64_t value_of(int k) {
    std::uint64_t value = static_cast<std::uint64_t>(k) + 1;
    for (const int before : (*this)[k].before) value = hashed(value + (*this)[before].value);
    return value;
  }
  /// What each task must have written.
  std::vector<std::uint64_t> expected() const {
    std::vector<std::uint64_t> values;
    for (std::size_t k = 0; k < tasks_.size(); ++k) {
      std::uint64_t value = k + 1;
      for (const int before : tasks_[k].before) value = hashed(value + values[static_cast<std::size_t>(before)]);
      values.push_back(value);
    }
    return values;
  }

 private:
  std::vector<Task> tasks_;
};

struct Thrown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The graph as three flows with keys of three kinds, task k in flow k modulo 3.
class Flows {
 public:
  Flows(Runtime& runtime, Graph& graph)
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
    flow.indegree([task](const K& key) { return static_cast<int>(task(key).before.size()) + task(key).from_outside; });
    flow.worker([task](const K& key) { return task(key).worker; });
    flow.priority([task](const K& key) { return task(key).priority; });
    flow.bound([task](const K& key) { return task(key).bound; });
    flow.run([this, number_of](const K& key) { run(number_of(key)); });
  }
  static std::string name(int k) { return std::to_string(k) + " with a tail that puts it on the heap"; }
  void run(int k) {
    Task& task = graph_[k];
    ++task.ran;
    task.ran_on = this_worker();
    for (int n = 0; n < task.cost; ++n) detail::pause();
    task.value = graph_.value_of(k);
    if (k == fails_) throw Thrown("as told");
    for (const int after : task.after) fulfill(after);
  }

  Graph& graph_;
  int fails_ = -1;
  Taskflow<int> numbers_;
  Taskflow<std::pair<int, std::int64_t>> pairs_;
  Taskflow<std::string> names_;
};

/// Fulfills what comes from outside, from one thread or three, before the wait or during it.
void fulfill_from_outside(Runtime& runtime, Graph& graph, Flows& flows, Random& random,
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

void expect_right(Graph& graph) {
  const std::vector<std::uint64_t> expected = graph.expected();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const Task& task = graph.tasks()[k];
    ASSERT_EQ(task.ran, 1) << "task " << k;
    ASSERT_EQ(task.value, expected[k]) << "task " << k << " ran early";
    if (task.bound) {
      ASSERT_EQ(task.ran_on, task.worker) << "task " << k;
    }
  }
}

/// A graph, run to its end three times on one runtime, sometimes after a run that fails.
void run_one(unsigned seed) {
  Random random(seed);
  const int workers = 1 + static_cast<int>(random() % 5);
  const std::chrono::nanoseconds spins[] = {0ns, 20us, 2ms};
  Runtime runtime(
      {.workers = workers, .pin = random() % 4 != 0, .spin = spins[random() % 3], .check = random() % 4 == 0});
  for (int run = 0; run < 3; ++run) {
    Graph graph(random, workers);
    const auto clear = [&] {
      for (Task& task : graph.tasks()) task.ran = 0, task.ran_on = -1, task.value = 0;
    };
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
      clear();
    }
    fulfill_from_outside(runtime, graph, flows, random, threads);
    ASSERT_NO_THROW(runtime.wait());
    expect_right(graph);
  }
}

TEST(RandomGraphs, RunEachTaskOnceAndInOrder) {
  const int graphs = from_environment("TASKGRAIN_RANDOM_GRAPHS", static_cast<int>(rounds(400)));
  const auto first = static_cast<unsigned>(from_environment("TASKGRAIN_RANDOM_SEED", 1));
  for (unsigned seed = first; seed < first + static_cast<unsigned>(graphs) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("TASKGRAIN_RANDOM_SEED=" + std::to_string(seed));
    run_one(seed);
  }
}

}  // namespace
}  // namespace taskgrain::rt
