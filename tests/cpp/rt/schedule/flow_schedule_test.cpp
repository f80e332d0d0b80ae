/// Random graphs of tasks under simulated schedules: all policies of the engine between one task and the next, with
/// mailboxes that are nearly always full.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "random.hpp"
#include "scheduler.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using simulated::check;

/// One, two or three words of a mailbox.
using Word = std::int64_t;
using Words = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
template <typename Key>
Key key_of(int task) {
  if constexpr (std::is_same_v<Key, Word>)
    return task;
  else
    return {task, ~task, 3 * task};
}
int task_of(Word key) { return static_cast<int>(key); }
int task_of(const Words& key) {
  const auto& [task, same, more] = key;
  check(same == ~task && more == 3 * task, "a message is not whole");
  return static_cast<int>(task);
}

template <typename Key>
class Graph {
 public:
  Graph(Runtime& runtime, Random& random, const char* name) : flow(runtime, name) {
    tasks_.resize(static_cast<std::size_t>(1 + below(random, 24)));
    const int number = static_cast<int>(tasks_.size()), most = below(random, 5),
              favourite = below(random, runtime.workers());
    const bool ranked = below(random, 3) == 0, fair = below(random, 2) == 0;
    for (int t = 0; t < number; ++t) {
      Task& task = tasks_[static_cast<std::size_t>(t)];
      task.worker = fair ? below(random, runtime.workers()) : favourite;
      task.priority = ranked ? below(random, 3) - 1 : 0;
      task.bound = ranked && below(random, 4) == 0;
      for (int edges = t == 0 ? 0 : below(random, most + 1); edges > 0; --edges) {
        const int before = below(random, t);
        task.before.push_back(before);
        tasks_[static_cast<std::size_t>(before)].after.push_back(t);
      }
      task.from_outside = task.before.empty() || below(random, 5) == 0;
    }
    flow.indegree([this](const Key& key) { return indegree(of(key)); });
    flow.worker([this](const Key& key) { return of(key).worker; });
    if (ranked) {
      flow.priority([this](const Key& key) { return of(key).priority; });
      flow.bound([this](const Key& key) { return of(key).bound; });
    }
    flow.run([this](const Key& key) { execute(task_of(key)); });
  }

  /// What threads outside fulfill.
  void begin() {
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      if (tasks_[t].from_outside && t != late) flow.fulfill(key_of<Key>(static_cast<int>(t)));
  }
  void check_done() const {
    for (const Task& task : tasks_) check(task.ran == 1, "a task ran " + std::to_string(task.ran) + " times");
  }
  void check_some() const {
    for (const Task& task : tasks_) check(task.ran <= 1, "a task ran twice");
  }
  void again() {
    for (Task& task : tasks_) task.ran = 0;
  }
  std::size_t size() const { return tasks_.size(); }

  Taskflow<Key> flow;
  std::size_t throws = none, late = none;  // this task throws; this one is forgotten
  static constexpr std::size_t none = ~std::size_t{0};

 private:
  struct Task {
    std::vector<int> before, after;
    int worker = 0, priority = 0;
    bool bound = false, from_outside = false;
    int ran = 0;  // by one thread at a time
  };
  static int indegree(const Task& task) { return static_cast<int>(task.before.size()) + task.from_outside; }
  const Task& of(const Key& key) const { return tasks_[static_cast<std::size_t>(task_of(key))]; }
  void execute(int number) {
    Task& task = tasks_[static_cast<std::size_t>(number)];
    check(!task.bound || this_worker() == task.worker, "a bound task was stolen");
    ++task.ran;
    for (const int before : task.before)
      check(tasks_[static_cast<std::size_t>(before)].ran == 1, "a task ran before its predecessor");
    if (static_cast<std::size_t>(number) == throws) throw std::runtime_error("as it should");
    for (const int after : task.after) flow.fulfill(key_of<Key>(after));
  }

  std::vector<Task> tasks_;
};

RuntimeOptions options(Random& random) {
  constexpr std::chrono::nanoseconds spins[] = {0ns, 2us, 50us};
  const int workers = 1 + below(random, 4);
  RuntimeOptions options{
      .workers = workers, .cores = std::vector<int>(static_cast<std::size_t>(workers), 0), .pin = false};
  options.spin = spins[below(random, 3)];
  options.order = below(random, 2) == 0 ? Order::newest : Order::oldest;
  return options;
}

/// A graph that nothing is wrong with, whatever becomes of others.
template <typename Key>
void run_well(Runtime& runtime, Graph<Key>& graph, bool alone) {
  if (alone) {
    graph.begin();
    graph.flow.wait();
  } else {
    {
      const auto hold = runtime.hold();  // another thread may wait for everything
      graph.begin();
    }
    runtime.wait();
  }
  graph.check_done();
}

template <typename Wait>
void expect_failure(std::size_t throws, const Wait& wait) {
  try {
    wait();
    check(false, "a failure was not told");
  } catch (const TaskFailed&) {
    check(throws != Graph<Word>::none, "nothing threw");
  } catch (const Stuck&) {
    check(throws == Graph<Word>::none, "stuck, and all was fulfilled");
  }
}

/// One in which a task throws, or waits for ever.
template <typename Key>
void run_badly(Graph<Key>& graph, Random& random) {
  const auto one = static_cast<std::size_t>(below(random, static_cast<int>(graph.size())));
  if (below(random, 2) == 0)
    graph.throws = one;
  else
    graph.late = 0;  // which has no predecessors
  const bool stuck_alone = graph.late == 0 && graph.size() == 1;
  graph.begin();
  if (graph.late == Graph<Key>::none) {
    expect_failure(graph.throws, [&] { graph.flow.wait(); });
  } else if (!stuck_alone) {
    // What comes after it waits for ever, if anything does.
    try {
      graph.flow.wait();
    } catch (const Stuck&) {
    }
  }
  graph.check_some();
  graph.throws = graph.late = Graph<Key>::none;
  graph.again();
  graph.begin();
  graph.flow.wait();
  graph.check_done();
}

TEST(Schedules, OfFlows) {
  simulated::for_seeds("flow", 4000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    Graph<Word> small(runtime, random, "small");
    Graph<Words> large(runtime, random, "large");
    const bool bad = below(random, 4) == 0, two = below(random, 2) == 0, alone = bad || below(random, 2) == 0;
    if (two) {
      std::thread other([&, own = Random(static_cast<unsigned>(random()))]() mutable {
        if (bad)
          run_badly(small, own);
        else
          run_well(runtime, small, alone);
      });
      run_well(runtime, large, alone);
      other.join();
    } else {
      small.begin();
      run_well(runtime, large, alone);
      runtime.wait();
      small.check_done();
    }
    runtime.wait();
  });
}

/// Chains of tasks of which some fail half-way are submitted while other threads wait. A task waits for ever only where
/// its flow has failed, so nobody is told that anything is stuck.
TEST(Schedules, OfFailuresBesideSubmissions) {
  simulated::for_seeds("failures", 2000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    Taskflow<int> flow(runtime, "flow");
    constexpr int steps = 3;
    const int each = 1 + below(random, 4), rare = 1 + below(random, 3);
    std::atomic<int> submitting{1 + below(random, 2)}, failed{0}, told{0};
    flow.indegree([](int k) { return k % steps == 0 ? 0 : 2; });
    flow.run([&](int k) {
      if (k % steps == steps - 1) return;
      flow.fulfill(k + 1);
      if (k / steps % rare == 0) {
        ++failed;
        throw std::runtime_error("as it should");
      }
      flow.fulfill(k + 1);
    });
    const auto wait = [&](bool alone) {
      try {
        alone ? flow.wait() : runtime.wait();
      } catch (const TaskFailed&) {
        ++told;
      } catch (const Stuck& stuck) {
        check(false, stuck.what());
      }
    };
    std::vector<std::thread> threads;
    for (int t = submitting; t > 0; --t)
      threads.emplace_back([&, t] {
        for (int n = 0; n < each; ++n) flow.fulfill(steps * (each * t + n));
        --submitting;
      });
    if (below(random, 2) == 0)
      threads.emplace_back([&, alone = below(random, 2) == 0] {
        while (submitting > 0) wait(alone);
      });
    while (submitting > 0) wait(below(random, 2) == 0);
    for (auto& thread : threads) thread.join();
    wait(false);
    wait(false);  // a failure may be told one wait late
    check((told > 0) == (failed > 0), "of failures none was told");
    bool ran = false;
    flow.run([&](int) { ran = true; }).fulfill(0);
    runtime.wait();
    check(ran, "the flow drops what comes");
  });
}

/// A flow that a thread outside holds is waited for to its end, and one that nobody holds is found stuck beside it.
TEST(Schedules, OfHeldFlows) {
  simulated::for_seeds("holds", 1000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    Taskflow<int> held(runtime, "held"), stuck(runtime, "stuck");
    std::atomic<int> ran{0};
    held.indegree([](int) { return 2; }).run([&](int) { ++ran; });
    stuck.indegree([](int) { return 2; }).run([](int) {});
    const int tasks = 1 + below(random, 3);
    const bool everything = below(random, 2) == 0;
    std::atomic<bool> found{everything};
    std::thread outside([&, hold = held.hold()]() mutable {
      for (int k = 0; k < tasks; ++k) held.fulfill(k);
      while (!found) std::this_thread::yield();
      for (int k = 0; k < tasks; ++k) held.fulfill(k);
      const auto ended = std::move(hold);
    });
    if (everything) {
      std::thread other([&] { held.wait(); });
      runtime.wait();
      other.join();
    } else {
      stuck.fulfill(0);
      try {
        stuck.wait();
        check(false, "nobody found what is stuck beside a flow that is held");
      } catch (const Stuck&) {
      }
      found = true;
      held.wait();
    }
    check(ran == tasks, "a flow that is held was left");
    outside.join();
  });
}

}  // namespace
}  // namespace taskgrain::rt
