/// Events of devices: they have a type, go to the tasks after theirs, and are destroyed.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "policies.hpp"
#include "rt/stress.hpp"
#include "simulated_device.hpp"

namespace taskgrain::rt {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DeviceEvents : public testing::TestWithParam<Policy> {
 protected:
  Runtime runtime_{{.workers = 3, .pin = false}};
};

/// As large as an event may be.
struct Mark {
  std::int64_t task, iteration, square, none = 0;
  bool operator==(const Mark&) const = default;
};
static_assert(sizeof(Mark) == 32 && DeviceEvent<Mark>);

Mark mark(std::int64_t task, std::int64_t iteration) { return {task, iteration, iteration * iteration}; }

static_assert(DeviceEvent<void*> && DeviceEvent<std::shared_ptr<int>> && DeviceEvent<SimulatedDevice::Event>);
static_assert(!DeviceEvent<std::array<int, 9>>, "too large");
static_assert(!DeviceEvent<std::string>, "copies may throw");
static_assert(!DeviceEvent<std::unique_ptr<int>>, "each task after it gets a copy");

TEST_P(DeviceEvents, AreThoseOfTheTasksBefore) {
  std::vector<std::vector<Mark>> a_after, c_after;
  TaskGraph tasks;
  const auto a = tasks.async_task<Mark>(0, [&](const Turn& turn, const auto& issue) {
    a_after.emplace_back(issue.after.begin(), issue.after.end());
    issue.done();
    return mark(0, turn.iteration);
  });
  const auto b = tasks.async_task<Mark>(1, [&](const Turn& turn, const auto& issue) {
    issue.done();
    return mark(1, turn.iteration);
  });
  const auto c = tasks.async_task<Mark>(2, [&](const Turn& turn, const auto& issue) {
    c_after.emplace_back(issue.after.begin(), issue.after.end());
    issue.done();
    return mark(2, turn.iteration);
  });
  tasks.edge(a, c);
  tasks.edge(b, c);
  tasks.carried_edge(b, c);
  tasks.carried_edge(b, b);
  tasks.carried_edge(c, c);
  tasks.carried_edge(c, a);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().on_device, 6U);
  for (int round = 0; round < 3; ++round) {
    a_after.clear();
    c_after.clear();
    graph.launch({.iterations = 100});
    runtime_.wait();
    ASSERT_EQ(a_after.size(), 100U);
    ASSERT_EQ(c_after.size(), 100U);
    EXPECT_THAT(a_after[0], IsEmpty());
    EXPECT_THAT(c_after[0], ElementsAre(mark(0, 0), mark(1, 0)));
    for (std::int64_t n = 1; n < 100; ++n) {
      EXPECT_THAT(a_after[static_cast<std::size_t>(n)], ElementsAre(mark(2, n - 1)));
      EXPECT_THAT(c_after[static_cast<std::size_t>(n)],
                  ElementsAre(mark(0, n), mark(1, n), mark(1, n - 1), mark(2, n - 1)));
    }
  }
}

/// A device cannot wait for an event of another type: the host does.
TEST_P(DeviceEvents, OfDifferentTypesMeetOnTheHost) {
  SimulatedDevice device(1);
  std::atomic<int> at{0};
  std::atomic<int> wrong{0};
  TaskGraph tasks;
  const auto first = tasks.async_task<SimulatedDevice::Event>(0, [&](const Turn&, const auto& issue) {
    wrong += !issue.after.empty();
    return device.submit(0, issue.after, [&] { at.fetch_add(1); }, issue.done);
  });
  const auto second = tasks.async_task<int>(1, [&](const Turn& turn, const auto& issue) {
    wrong += !issue.after.empty() || at.load() != turn.iteration + 1;
    issue.done();
    return 0;
  });
  tasks.edge(first, second);
  tasks.carried_edge(second, first);
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  EXPECT_EQ(graph.statistics().on_device, 0U);
  graph.launch({.iterations = 50});
  runtime_.wait();
  EXPECT_EQ(at.load(), 50);
  EXPECT_EQ(wrong.load(), 0);
}

/// An event that says how many there are.
class Counted {
 public:
  explicit Counted(std::atomic<int>& alive) noexcept : alive_(&alive) { ++*alive_; }
  Counted(const Counted& other) noexcept : alive_(other.alive_) { ++*alive_; }
  ~Counted() { --*alive_; }

 private:
  std::atomic<int>* alive_;
};

TEST_P(DeviceEvents, AreDestroyed) {
  std::atomic<int> alive{0}, fails_at{-1};
  TaskGraph tasks("graph");
  std::vector<TaskGraph::Node> nodes;
  for (int k = 0; k < 6; ++k)
    nodes.push_back(tasks.async_task<Counted>(k % 3, [&, k](const Turn& turn, const auto& issue) {
      issue.done();
      if (turn.iteration == 5 && k == fails_at) throw std::runtime_error("no");
      return Counted(alive);
    }));
  for (std::size_t k = 1; k < nodes.size(); ++k) {
    tasks.edge(nodes[k - 1], nodes[k]);
    tasks.carried_edge(nodes[k], nodes[k - 1]);
    if (k > 1) tasks.edge(nodes[k - 2], nodes[k]);
  }
  {
    CompiledGraph graph(runtime_, std::move(tasks), GetParam());
    for (int round = 0; round < 30; ++round) {
      fails_at = round % 7 - 1;
      graph.launch({.iterations = 10});
      if (fails_at < 0)
        runtime_.wait();
      else
        EXPECT_THROW(runtime_.wait(), TaskFailed);
      EXPECT_GE(alive.load(), 0);
      EXPECT_LE(alive.load(), 3 * 6);  // the last ones may be kept
    }
  }
  EXPECT_EQ(alive.load(), 0);
}

/// The destructor of an event launches the graph whose failed launch ends.
TEST_P(DeviceEvents, MayLaunchTheGraphWhenTheyAreDestroyed) {
  CompiledGraph* graph = nullptr;
  std::atomic<bool> fails{false}, launches{false}, issued{false};
  std::atomic<int> ran{0};
  const auto launch_again = [&](int*) {
    if (launches.exchange(false)) graph->launch();
  };
  using Owner = std::shared_ptr<int>;
  static int nothing = 0;
  TaskGraph tasks;
  const auto first = tasks.async_task<Owner>(0, [&](const Turn&, const auto& issue) {
    issue.done();
    issued = true;
    return Owner(&nothing, launch_again);
  });
  const auto between = tasks.task(1, [&] {
    while (!issued) std::this_thread::yield();
    if (fails.exchange(false)) throw std::runtime_error("no");
  });
  const auto second = tasks.async_task<Owner>(1, [&](const Turn&, const auto& issue) {
    ran.fetch_add(1);
    issue.done();
    return Owner();
  });
  tasks.edge(first, second);
  tasks.edge(between, second);
  CompiledGraph compiled(runtime_, std::move(tasks), GetParam());
  graph = &compiled;
  for (int round = 0; round < 20; ++round) {
    fails = launches = true;
    issued = false;
    const auto launch = compiled.launch();
    EXPECT_THROW(runtime_.wait(launch.done), TaskFailed);
    const auto after = compiled.launch();
    runtime_.wait(after.done);
    launches = false;
    runtime_.wait();
  }
  EXPECT_GE(ran.load(), 20);
}

/// A device that calls a function of C with a pointer.
TEST_P(DeviceEvents, DoneMayTravelAsAPointer) {
  std::atomic<void*> given{nullptr};
  std::atomic<int> ran{0};
  TaskGraph tasks;
  const auto kernel = tasks.async_task<int>(0, [&](const Turn&, const auto& issue) {
    given = Done(issue.done).release();
    return 0;
  });
  tasks.edge(kernel, tasks.task(1, [&] { ran.fetch_add(1); }));
  CompiledGraph graph(runtime_, std::move(tasks), GetParam());
  graph.launch();
  std::thread device([&, hold = runtime_.hold()] {
    while (given == nullptr) std::this_thread::yield();
    EXPECT_EQ(ran.load(), 0);
    Done::from(given)();
  });
  runtime_.wait();
  device.join();
  EXPECT_EQ(ran.load(), 1);
}

INSTANTIATE_TEST_SUITE_P(Policies, DeviceEvents, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
