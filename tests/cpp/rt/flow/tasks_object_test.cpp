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
#include <map>
#include <memory>
#include <mutex>
#include <ranges>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "random_tasks.hpp"
#include "rt/asleep.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;

/// What every object here has.
struct Plain {
  RandomTasks* graph;

  int indegree(int k) const { return graph->indegree(k); }
  int worker(int k) const { return (*graph)[k].worker; }
  void run(int k) const { graph->run(k); }
};
struct After : Plain {
  void after(int k, const auto& notify) const {
    (*graph)[k].asked.fetch_add(1, std::memory_order_relaxed);
    for (const int next : (*graph)[k].after) notify(next);
  }
};
struct Numbered : After {
  std::size_t number(int k) const { return static_cast<std::size_t>(k); }
};
struct BadlyNumbered : After {
  std::size_t number(int k) const { return static_cast<std::size_t>(k % 2); }
};
struct AtOnce : After {
  static constexpr std::size_t at_once = 3;
};
struct All : Numbered {
  static constexpr std::size_t at_once = 16;
};
/// Knows what comes after a task by owner.
struct ByOwner : Plain {
  void after(int k, const auto& notify) const {
    (*graph)[k].asked.fetch_add(1, std::memory_order_relaxed);
    std::map<int, std::vector<int>> owned;
    for (const int next : (*graph)[k].after) owned[worker(next)].push_back(next);
    for (const auto& [owner, keys] : owned) {
      if (owner % 2 == 0) {
        notify(owner, keys);
      } else {
        notify(owner, std::views::iota(std::size_t{0}, keys.size()), [&](std::size_t at) { return keys[at]; });
      }
    }
  }
};
struct ByOwnerNumbered : ByOwner {
  static constexpr std::size_t at_once = 16;
  std::size_t number(int k) const { return static_cast<std::size_t>(k); }
};
struct ByOwnerBadlyNumbered : ByOwner {
  std::size_t number(int k) const { return static_cast<std::size_t>(k % 2); }
};
/// Fulfills by itself.
struct ByItself : Plain {
  static constexpr std::size_t at_once = 5;
  std::shared_ptr<Taskflow<int, ByItself>*> flow = std::make_shared<Taskflow<int, ByItself>*>();

  std::size_t number(int k) const { return static_cast<std::size_t>(k); }
  void run(int k) const {
    graph->run(k);
    for (const int next : (*graph)[k].after) (*flow)->fulfill(next);
  }
};

template <typename Tasks>
class TasksObjects : public testing::Test {};
using Objects = testing::Types<After, Numbered, BadlyNumbered, AtOnce, All, ByOwner, ByOwnerNumbered,
                               ByOwnerBadlyNumbered, ByItself>;
TYPED_TEST_SUITE(TasksObjects, Objects);

TYPED_TEST(TasksObjects, RunEachTaskOnceAndAfterThoseBeforeIt) {
  const Race race(60);
  for (int round = 0; race.has(round); ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<unsigned>(round + 1));
    const int workers = 1 + static_cast<int>(random() % 5);
    Runtime runtime({.workers = workers,
                     .pin = false,
                     .order = random() % 2 == 0 ? Order::oldest : Order::newest,
                     .spin = random() % 2 == 0 ? 0ns : 1ms,
                     .check = random() % 3 == 0});
    RandomTasks graph(random, workers);
    TypeParam tasks;
    tasks.graph = &graph;
    Taskflow<int, TypeParam> flow(runtime, tasks);
    if constexpr (std::is_same_v<TypeParam, ByItself>) *tasks.flow = &flow;
    for (int repeat = 0; repeat < 3; ++repeat) {
      graph.clear();
      const auto number = static_cast<int>(graph.tasks().size());
      for (int k = 0; k < number; ++k)
        if (graph[k].from_outside) flow.fulfill(k);
      runtime.wait();
      graph.expect_right(false);
      for (const Task& task : graph.tasks()) {
        // By who ran it, and by each owner whom that tells; a thief tells the owner, too.
        std::set<int> told{task.worker};
        for (const int next : task.after) told.insert(graph[next].worker);
        ASSERT_LE(task.asked, 1 + static_cast<int>(told.size()));
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
  void after(int key, auto notify) const {
    if (key == -fails) throw std::runtime_error("after");
    if (key < last) notify(key + 1);
  }
};

TEST(TasksObject, FailsItsFlowWhenRunOrAfterThrows) {
  Runtime runtime({.workers = 2});
  for (const int fails : {500, -500}) {
    Taskflow<int, Chain> flow(runtime, {1000, fails}, "link");
    flow.fulfill(0);
    EXPECT_THAT([&] { runtime.wait(); }, testing::Throws<TaskFailed>(testing::Property(&TaskFailed::task, "link 500")));
    flow.fulfill(501);
    EXPECT_NO_THROW(runtime.wait());
  }
}

struct Everywhere {
  int indegree(int) const { return 1; }
  int worker(int key) const { return key; }
  void run(int) const {}
  void after(int key, auto notify) const {
    if (key == 0) notify(7);
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
  EXPECT_THAT([&] { runtime.wait(); }, testing::Throws<Stuck>(testing::Property(&Stuck::total, 3U)));
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
  void after(int key, auto notify) const {
    if (key % together != 0 || *stolen > 0 || std::chrono::steady_clock::now() > too_late) return;
    for (int next = 1; next <= together; ++next) notify(key + next);
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

/// Says what comes after task 0 in each way that there is.
struct Fan {
  std::mutex* mutex;
  std::vector<int>* ran;

  int indegree(int) const { return 1; }
  int worker(int key) const { return key % 3; }
  void run(int key) const {
    const std::lock_guard lock(*mutex);
    ran->push_back(key);
  }
  void after(int key, auto notify) const {
    if (key != 0) return;
    notify(1);
    notify(2, std::vector{2, 5});
    notify(0, std::vector{1, 2}, [](int third) { return 3 * third; });
    notify(1, std::vector<int>());
  }
};

TEST(TasksObject, FulfillsWhatComesAfterATaskThatRanElsewhere) {
  Runtime runtime({.workers = 3});
  std::mutex mutex;
  std::vector<int> ran;
  Taskflow<int, Fan> flow(runtime, {&mutex, &ran});
  flow.fulfill_after(0);  // by a thread outside
  runtime.wait();
  EXPECT_THAT(ran, testing::UnorderedElementsAre(1, 2, 3, 5, 6));
  ran.clear();
  Taskflow<int> teller(runtime);
  teller.indegree([](int) { return 1; }).run([&](int) { flow.fulfill_after(0); });
  teller.fulfill(0);
  runtime.wait();
  EXPECT_THAT(ran, testing::UnorderedElementsAre(1, 2, 3, 5, 6));
}

struct NobodyOwns : Fan {
  void after(int, auto notify) const { notify(3, std::vector{9}); }
};

TEST(TasksObject, MayNotTellOfAnOwnerThatThereIsNot) {
  Runtime runtime({.workers = 3});
  std::mutex mutex;
  std::vector<int> ran;
  Taskflow<int, NobodyOwns> flow(runtime, {{&mutex, &ran}});
  flow.fulfill(0);
  EXPECT_THROW(runtime.wait(), TaskFailed);
}

struct AnotherOwns : Fan {
  void after(int key, auto notify) const {
    if (key == 0) notify(2, std::vector{4});
  }
};

TEST(TasksObject, MayNotTellOfAnotherOwnerIfThatIsChecked) {
  Runtime runtime({.workers = 3, .check = true});
  std::mutex mutex;
  std::vector<int> ran;
  Taskflow<int, AnotherOwns> flow(runtime, {{&mutex, &ran}});
  flow.fulfill(0);
  EXPECT_THAT([&] { runtime.wait(); }, testing::ThrowsMessage<TaskFailed>(
                                           testing::HasSubstr("its worker is 1, and worker 2 was given as its owner")));
}

/// Takes `notify` by reference.
struct Referring {
  std::atomic<int>* ran;

  int indegree(int) const { return 1; }
  void run(int) const { ++*ran; }
  void after(int key, auto& notify) const {
    if (key < 100) notify(key + 1);
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
  void after(int key, auto notify) const {
    if (key < 20) notify(key + 1);
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
