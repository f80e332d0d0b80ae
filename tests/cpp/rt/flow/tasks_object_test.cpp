/// Flows whose functions are members of an object: the same order of tasks as with functions that are set, with and
/// without each of the members that save time.

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

struct Key {
  std::uint32_t step, point;
};
std::ostream& operator<<(std::ostream& out, Key key) { return out << key.step << '.' << key.point; }

/// A graph of random edges, each over one to three steps, and what its tasks have seen.
struct Graph {
  struct Node {
    std::vector<Key> before, after;
    int worker = 0;
    int cost = 0;             // pauses
    std::uint64_t value = 0;  // written by the task, read by those after it: no atomics, no locks
    int ran = 0;
    std::atomic<int> asked{0};  // calls of `after`
    std::set<int> told = {};    // other workers that own tasks after it
  };

  Graph(std::minstd_rand& random, int workers) : width(1 + static_cast<std::uint32_t>(random() % 20)) {
    const auto steps = 1 + static_cast<std::uint32_t>(random() % 40);
    const auto edges = random() % 5, one_in_slow = 1 + random() % 100;
    const bool blocks = random() % 2 == 0;
    nodes = std::vector<Node>(std::size_t{steps} * width);
    for (std::uint32_t step = 0; step < steps; ++step)
      for (std::uint32_t point = 0; point < width; ++point) {
        Node& node = (*this)[{step, point}];
        node.worker = blocks ? static_cast<int>(point) * workers / static_cast<int>(width)
                             : static_cast<int>(random() % static_cast<unsigned>(workers));
        node.cost = random() % one_in_slow == 0 ? 3000 : static_cast<int>(random() % 20);
        for (auto n = edges; n > 0 && step > 0; --n) {
          const Key before{step - 1 - static_cast<std::uint32_t>(random() % std::min(step, 3U)),
                           static_cast<std::uint32_t>(random() % width)};
          node.before.push_back(before);
          (*this)[before].after.push_back({step, point});
        }
      }
    for (Node& node : nodes)
      for (const Key next : node.after)
        if ((*this)[next].worker != node.worker) node.told.insert((*this)[next].worker);
  }
  Node& operator[](Key key) { return nodes[number(key)]; }
  std::size_t number(Key key) const { return std::size_t{key.step} * width + key.point; }
  std::uint64_t value_of(Key key) {
    std::uint64_t value = number(key) + 1;
    for (const Key before : (*this)[key].before)
      value = (value + (*this)[before].value) * 0xbf58476d1ce4e5b9 ^ value >> 29;
    return value;
  }

  std::uint32_t width;
  std::vector<Node> nodes;
};

/// What every object here has.
struct Plain {
  Graph* graph;

  int indegree(Key key) const { return static_cast<int>((*graph)[key].before.size()); }
  int worker(Key key) const { return (*graph)[key].worker; }
  void work(Key key) const {
    Graph::Node& node = (*graph)[key];
    ++node.ran;
    for (int n = 0; n < node.cost; ++n) detail::pause();
    node.value = graph->value_of(key);
  }
  void run(Key key) const { work(key); }
};
struct After : Plain {
  void after(Key key, const auto& tell) const {
    (*graph)[key].asked.fetch_add(1, std::memory_order_relaxed);
    for (const Key next : (*graph)[key].after) tell(next);
  }
};
struct Numbered : After {
  std::size_t number(Key key) const { return graph->number(key); }
};
struct BadlyNumbered : After {
  std::size_t number(Key key) const { return key.point % 2; }
};
struct AtOnce : After {
  static constexpr std::size_t at_once = 3;
};
struct All : Numbered {
  static constexpr std::size_t at_once = 16;
};
/// Fulfills by itself.
struct ByItself : Plain {
  static constexpr std::size_t at_once = 5;
  std::shared_ptr<Taskflow<Key, ByItself>*> flow = std::make_shared<Taskflow<Key, ByItself>*>();

  std::size_t number(Key key) const { return graph->number(key); }
  void run(Key key) const {
    work(key);
    for (const Key next : (*graph)[key].after) (*flow)->fulfill(next);
  }
};

template <typename Tasks>
class TasksObjects : public testing::Test {};
using Objects = testing::Types<After, Numbered, BadlyNumbered, AtOnce, All, ByItself>;
TYPED_TEST_SUITE(TasksObjects, Objects);

TYPED_TEST(TasksObjects, RunEachTaskOnceAndAfterThoseBeforeIt) {
  const Race race(60);
  for (int round = 0; race.has(round); ++round) {
    std::minstd_rand random(static_cast<unsigned>(round + 1));
    const int workers = 1 + static_cast<int>(random() % 5);
    Runtime runtime({.workers = workers,
                     .pin = false,
                     .order = random() % 2 == 0 ? Order::oldest : Order::newest,
                     .spin = random() % 2 == 0 ? 0ns : 1ms,
                     .check = random() % 3 == 0});
    Graph graph(random, workers);
    TypeParam tasks;
    tasks.graph = &graph;
    Taskflow<Key, TypeParam> flow(runtime, tasks);
    if constexpr (std::is_same_v<TypeParam, ByItself>) *tasks.flow = &flow;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (Graph::Node& node : graph.nodes) node.ran = 0, node.asked = 0, node.value = 0;
      for (std::uint32_t k = 0; k < graph.nodes.size(); ++k)
        if (const Key key{k / graph.width, k % graph.width}; graph[key].before.empty()) flow.fulfill(key);
      runtime.wait();
      for (std::uint32_t k = 0; k < graph.nodes.size(); ++k) {
        const Key key{k / graph.width, k % graph.width};
        ASSERT_EQ(graph[key].ran, 1) << key << ", round " << round;
        ASSERT_EQ(graph[key].value, graph.value_of(key)) << key << " ran early, round " << round;
        if constexpr (!std::is_same_v<TypeParam, ByItself>) {
          // By who ran it, and by each owner whom that tells; a thief tells the owner, too.
          ASSERT_LE(graph[key].asked, 1 + static_cast<int>(graph[key].told.size()) + 1) << key;
        }
      }
    }
  }
}

struct Chain {
  int last, fails = -1;

  int indegree(int) const { return 1; }
  int worker(int key) const { return key % 2; }
  void run(int key) const {
    if (key == fails) throw std::runtime_error("as told");
  }
  void after(int key, auto tell) const {
    if (key == -fails) throw std::runtime_error("after");
    if (key < last) tell(key + 1);
  }
};

TEST(TasksObject, FailsItsFlowWhenRunOrAfterThrows) {
  Runtime runtime({.workers = 2});
  for (const int fails : {500, -500}) {
    Taskflow<int, Chain> flow(runtime, {1000, fails}, "link");
    flow.fulfill(0);
    try {
      runtime.wait();
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.task(), "link 500");
    }
    flow.fulfill(501);
    EXPECT_NO_THROW(runtime.wait());
  }
}

struct Everywhere {
  int indegree(int) const { return 1; }
  int worker(int key) const { return key; }
  void run(int) const {}
  void after(int key, auto tell) const {
    if (key == 0) tell(7);
  }
};

TEST(TasksObject, MayNotTellAWorkerThatThereIsNot) {
  Runtime runtime({.workers = 2});
  Taskflow<int, Everywhere> flow(runtime, {});
  flow.fulfill(0);
  EXPECT_THROW(runtime.wait(), TaskFailed);
}

struct Waits {
  int indegree(int) const { return 2; }
  void run(int) const {}
  std::size_t number(int) const { return 3; }
};

TEST(TasksObject, TellsWhichTasksWaitThoughTheyHaveOneNumber) {
  Runtime runtime({.workers = 1});
  Taskflow<int, Waits> flow(runtime, {}, "late");
  for (const int key : {1, 2, 3}) flow.fulfill(key);
  try {
    runtime.wait();
    FAIL() << "nothing was thrown";
  } catch (const Stuck& stuck) {
    EXPECT_EQ(stuck.total(), 3U);
  }
  flow.fulfill(1), flow.fulfill(1);
  EXPECT_NO_THROW(runtime.wait());
}

/// Tasks that all belong to worker 0 and last. There are more until one is stolen.
struct Long {
  static constexpr std::size_t at_once = 64;
  static constexpr int together = 200;
  std::shared_ptr<std::atomic<int>> stolen = std::make_shared<std::atomic<int>>(0);
  std::chrono::steady_clock::time_point too_late = hang();

  int indegree(int) const { return 1; }
  int worker(int) const { return 0; }
  void run(int key) const {
    if (key % together == 0) return;
    std::this_thread::sleep_for(1ms);
    if (this_worker() != 0) stolen->fetch_add(1);
  }
  void after(int key, auto tell) const {
    if (key % together != 0 || *stolen > 0 || std::chrono::steady_clock::now() > too_late) return;
    for (int next = 1; next <= together; ++next) tell(key + next);
  }
};

TEST(TasksObject, LetsLongTasksBeStolenThoughManyRunAtOnce) {
  Runtime runtime({.workers = 2});
  const Long tasks;
  Taskflow<int, Long> flow(runtime, tasks);
  flow.fulfill(0);
  runtime.wait();
  EXPECT_GT(*tasks.stolen, 0);
}

/// Takes `tell` by reference.
struct Referring {
  std::atomic<int>* ran;

  int indegree(int) const { return 1; }
  void run(int) const { ++*ran; }
  void after(int key, auto& tell) const {
    if (key < 100) tell(key + 1);
  }
};

TEST(TasksObject, MayTakeWhatItTellsByReference) {
  Runtime runtime({.workers = 2});
  std::atomic<int> ran{0};
  Taskflow<int, Referring> flow(runtime, {&ran});
  EXPECT_EQ(flow.tasks().ran, &ran);
  flow.fulfill(1);
  runtime.wait();
  EXPECT_EQ(ran, 100);
}

struct Traced {
  static constexpr std::size_t at_once = 64;
  int indegree(int) const { return 1; }
  void run(int) const {}
  void after(int key, auto tell) const {
    if (key < 20) tell(key + 1);
  }
};

TEST(TasksObject, ShowsEachTaskInATrace) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("tasks_object_" + std::to_string(getpid()) + ".json");
  {
    Runtime runtime({.workers = 1, .trace = file});
    Taskflow<int, Traced> flow(runtime, {}, "shown");
    flow.fulfill(1);
    runtime.wait();
  }
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (int key = 1; key <= 20; ++key) EXPECT_THAT(text, testing::HasSubstr("\"shown " + std::to_string(key) + "\""));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace taskgrain::rt
