/// Compiled graphs under simulated schedules: random ones, and launches against the end of a run.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/graph/random_graph.hpp"
#include "scheduler.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using simulated::check;

constexpr Policy policies[] = {Policy::in_order, Policy::ready_queue, Policy::stealing};

RuntimeOptions options(Random& random, int workers) {
  constexpr std::chrono::nanoseconds spins[] = {0ns, 2us, 50us};
  return {.workers = workers,
          .cores = std::vector<int>(static_cast<std::size_t>(workers), 0),
          .pin = false,
          .spin = spins[between(random, 0, 2)]};
}

/// As in graph/random_graphs_test.cpp.
void run_random_graph(Random& random) {
  const int workers = between(random, 1, 3);
  Runtime runtime(options(random, workers));
  SimulatedDevice device(3);
  RandomGraph graph(random, workers, {.most_tasks = 10, .asynchronous = chance(random, 0.3) ? 0.3 : 0}, &device);
  std::vector<int> iterations;
  for (int launches = between(random, 1, 3); launches > 0; --launches) iterations.push_back(between(random, 0, 4));
  for (const std::string& fault : faults_of(graph, random, runtime, iterations, policies[between(random, 0, 2)]))
    simulated::fail(fault + "; " + graph.text());
}

TEST(Schedules, OfRandomGraphs) {
  simulated::for_seeds("graph", 4000, [](std::uint64_t seed) {
    Random random(seed);
    run_random_graph(random);
  });
}

TEST(Schedules, OfWorkersThatWaitForOneAnother) {
  // Small graphs, several short launches, and workers that park at once: a message that is lost at the end of a launch
  // is not made up for.
  simulated::for_seeds("window", 8000, [](std::uint64_t seed) {
    Random random(seed);
    const int workers = between(random, 2, 3);
    RuntimeOptions how = options(random, workers);
    how.spin = 0ns;
    Runtime runtime(how);
    RandomGraph graph(random, workers, {.most_tasks = 4, .events = false}, nullptr);
    std::vector<int> iterations;
    for (int launches = between(random, 1, 4); launches > 0; --launches) iterations.push_back(between(random, 3, 4));
    CompiledGraph compiled(runtime, graph.build(iterations), policies[between(random, 0, 2)]);
    for (std::size_t l = 0; l < iterations.size(); ++l) graph.watch(l, compiled.launch({.iterations = iterations[l]}));
    runtime.wait();
    for (const std::string& fault : graph.faults()) simulated::fail(fault + "; " + graph.text());
  });
}

TEST(Schedules, OfDevicesThatAreLate) {
  // The launch is over, and the graph is gone, before the device returns from `done`.
  simulated::for_seeds("late", 4000, [](std::uint64_t seed) {
    Random random(seed);
    const int workers = between(random, 1, 2);
    Runtime runtime(options(random, workers));
    SimulatedDevice device(1);
    for (int graphs = between(random, 1, 3); graphs > 0; --graphs) {
      int ran = 0;
      TaskGraph tasks("late");
      const auto first = tasks.async_task<SimulatedDevice::Event>(
          between(random, 0, workers - 1),
          [&](const Turn&, const auto& issue) { return device.submit(0, issue.after, [] {}, issue.done); });
      tasks.edge(first, tasks.task(between(random, 0, workers - 1), [&] { ++ran; }));
      CompiledGraph graph(runtime, std::move(tasks), policies[between(random, 0, 2)]);
      const int iterations = between(random, 1, 2);
      runtime.wait(graph.launch({.iterations = iterations}).done);
      check(ran == iterations, "a launch is done and its tasks have not run");
    }
  });
}

TEST(Schedules, OfLaunchesThatEndOthers) {
  // The end of a launch ends a launch of another graph, while another thread ends the next launch of the first graph.
  simulated::for_seeds("ends", 4000, [](std::uint64_t seed) {
    Random random(seed);
    const int workers = between(random, 1, 2);
    Runtime runtime(options(random, workers));
    TaskGraph task("ends others");
    std::int64_t ran = 0, runs = 0;
    task.task(workers - 1, [&] { ++ran; });
    CompiledGraph first(runtime, std::move(task), policies[between(random, 0, 2)]);
    std::deque<CompiledGraph> others;
    std::array<std::vector<Event>, 2> begins;  // by the thread that sets them
    std::vector<Event> ends;
    for (int launches = between(random, 2, 8); launches > 0; --launches) {
      const Event& begin = begins[static_cast<std::size_t>(between(random, 0, 1))].emplace_back();
      const int iterations = chance(random, 0.3) ? 1 : 0;
      runs += iterations;
      ends.push_back(first.launch({.iterations = iterations, .after = {begin}}).done);
      others.emplace_back(runtime, TaskGraph("is ended"));
      ends.push_back(others.back().launch({.iterations = 0, .after = {ends.back()}}).done);
    }
    std::thread another([&] {
      const auto hold = runtime.hold();
      for (const Event& begin : begins[1]) begin.set();
    });
    for (const Event& begin : begins[0]) begin.set();
    another.join();
    runtime.wait();
    check(ran == runs, "not all tasks have run");
    for (const Event& end : ends) check(end.is_set(), "a launch has no end");
  });
}

/// A graph of three tasks in a row, on all workers, that threads outside launch, cancel and wait for.
class Launches {
 public:
  Launches(Runtime& runtime, Random& random)
      : runtime_(runtime), calm_(chance(random, 0.3)),
        throws_(!calm_ && chance(random, 0.4) ? between(random, 1, 20) : 0) {
    TaskGraph graph("row");
    const int workers = runtime.workers();
    const auto pre = graph.precondition();
    std::array<TaskGraph::Node, 3> nodes;
    for (int k = 0; k < 3; ++k)
      nodes[static_cast<std::size_t>(k)] = graph.task((k + between(random, 0, 1)) % workers,
                                                      [this, k](const Turn& turn) { execute(k, turn.iteration); });
    graph.edge(nodes[0], nodes[1]);
    graph.edge(nodes[1], nodes[2]);
    graph.carried_edge(nodes[2], nodes[0]);
    graph.edge(pre, nodes[0]);
    compiled_.emplace_back(runtime, std::move(graph), policies[between(random, 0, 2)]);
    pre_ = pre;
  }
  ~Launches() {
    compiled_.clear();
    for (const Made& made : made_) {
      check(made.settled == 1, "the event of a launch was settled " + std::to_string(made.settled) + " times");
      check(made.launch.done.is_set() || made.launch.done.failure() != nullptr, "a launch has no end");
      check(!calm_ || made.launch.done.is_set(), "a launch failed, and there was no reason");
    }
  }

  /// What a thread outside does.
  void act(Random& random) {
    switch (between(random, 0, 7)) {
      case 0:
      case 1:
      case 2: {
        if (chance(random, 0.5)) {
          const auto hold = runtime_.hold();
          return launch(random);
        }
        return launch(random);
      }
      case 3:
        if (!calm_ && chance(random, 0.5)) graph().cancel();
        return;
      case 4:
        if (const auto event = some_end(random)) wait([&] { runtime_.wait(*event); });
        return;
      case 5:
        if (const auto event = take_event()) event->set();
        return;
      case 6:
        if (!chance(random, 0.3)) return;
        if (const auto event = take_event()) event->fail(std::make_exception_ptr(Unhappy()));
        return;
      default:
        return wait([&] { runtime_.wait(); });
    }
  }
  bool alone = false;  // one thread does all that is done outside

  template <typename Wait>
  static void wait(const Wait& wait) {
    try {
      wait();
    } catch (const TaskFailed&) {
    } catch (const Stuck&) {
    } catch (const Cancelled&) {
    } catch (const Unhappy&) {
    }
  }

 private:
  struct Unhappy {};
  struct Made {
    CompiledGraph::Launch launch;
    std::int64_t iterations;
    bool watched = false;
    int settled = 0;
  };

  CompiledGraph& graph() { return compiled_.front(); }
  /// An event that a launch waits for.
  std::optional<Event> take_event() {
    const std::lock_guard lock(mutex_);
    if (open_.empty()) return std::nullopt;
    Event event = open_.back();
    open_.pop_back();
    return event;
  }
  Event make_event(Random& random) {
    Event made;
    if (calm_ || chance(random, 0.6)) {
      made.set();
    } else {
      const std::lock_guard lock(mutex_);
      open_.push_back(made);
    }
    return made;
  }
  std::optional<Event> some_end(Random& random) {
    const std::lock_guard lock(mutex_);
    if (made_.empty()) return std::nullopt;
    return made_[static_cast<std::size_t>(between(random, 0, static_cast<int>(made_.size()) - 1))].launch.done;
  }
  void launch(Random& random) {
    CompiledGraph::LaunchOptions how{.iterations = between(random, 0, 3)};
    if (chance(random, 0.3)) how.after.push_back(make_event(random));
    how.preconditions.emplace_back(pre_, make_event(random));
    const std::int64_t iterations = how.iterations;
    const CompiledGraph::Launch launched = graph().launch(std::move(how));
    Made* made = nullptr;
    {
      const std::lock_guard lock(mutex_);
      made = &made_.emplace_back(launched, iterations);
    }
    launched.done.then([this, made] {
      ++made->settled;
      check(!alone || !inside_, "a launch has an end, and a task runs");
      // Whoever ends the launch calls this before the next one begins; if it is over already, others may have begun.
      if (!made->watched || !made->launch.done.is_set() || made->iterations == 0) return;
      check(begun_ && ran_ == 3 * made->iterations, "a launch is done and its tasks have not run");
      begun_ = false;
    });
    made->watched = true;
  }
  void execute(int task, std::int64_t iteration) {
    check(!inside_, "two tasks of a row at a time");
    inside_ = true;
    if (task == 0 && iteration == 0) {
      begun_ = true;
      ran_ = 0;
    }
    check(ran_ == 3 * iteration + task, "task " + std::to_string(task) + " of iteration " + std::to_string(iteration) +
                                            " ran after " + std::to_string(ran_) + " others");
    simulated::point();
    ++ran_;
    inside_ = false;
    if (throws_ != 0 && --throws_ == 0) throw std::runtime_error("as it should");
  }

  Runtime& runtime_;
  const bool calm_;  // nothing goes wrong: no task throws, nobody cancels, and events are set before
  std::deque<CompiledGraph> compiled_;
  TaskGraph::Node pre_{};
  int throws_;
  std::mutex mutex_;  // protects the next two
  std::deque<Made> made_;
  std::vector<Event> open_;
  // Threads take turns.
  bool begun_ = false;
  std::int64_t ran_ = 0;  // tasks of the launch that has begun
  bool inside_ = false;
};

TEST(Schedules, OfLaunches) {
  simulated::for_seeds("launch", 4000, [](std::uint64_t seed) {
    Random random(seed);
    Runtime runtime(options(random, between(random, 1, 3)));
    Launches launches(runtime, random);
    std::vector<std::thread> threads;
    const int number = between(random, 0, 2);
    launches.alone = number == 0;
    for (int k = 0; k < number; ++k)
      threads.emplace_back([&, own = Random(random())]() mutable {
        for (int actions = between(own, 1, 6); actions > 0; --actions) launches.act(own);
      });
    for (int actions = between(random, 1, 6); actions > 0; --actions) launches.act(random);
    for (std::thread& thread : threads) thread.join();
    Launches::wait([&] { runtime.wait(); });
  });
}

}  // namespace
}  // namespace taskgrain::rt
