/// Random graphs, launched several times in every way: everything runs once, and after all that it comes after.

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

#include "policies.hpp"
#include "random_graph.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;

class RandomGraphs : public testing::TestWithParam<Policy> {
 protected:
  /// Runs one graph; what is random follows from the seed.
  static void check(std::uint64_t seed, const Ingredients& ingredients) {
    Random random(seed);
    const int workers = between(random, 1, 5);
    constexpr std::chrono::nanoseconds spins[] = {0ns, 20us, 2ms};
    Runtime runtime({.workers = workers, .pin = false, .spin = spins[between(random, 0, 2)]});
    SimulatedDevice device(3);
    RandomGraph graph(random, workers, ingredients, &device);
    std::vector<int> iterations;
    for (int launches = between(random, 1, 4); launches > 0; --launches)
      iterations.push_back(between(random, chance(random, 0.1) ? 0 : 1, 5));
    CompiledGraph compiled(runtime, graph.build(iterations), GetParam());
    for (std::size_t l = 0; l < iterations.size(); ++l) {
      CompiledGraph::LaunchOptions options{.iterations = iterations[l]};
      for (const auto node : graph.preconditions()) options.preconditions.emplace_back(node, Event());
      const bool before = chance(random, 0.3);
      const auto meet = [&graph, l, events = options.preconditions] {
        for (std::size_t k = 0; k < events.size(); ++k) {
          graph.meeting(l, k);
          events[k].second.set();
        }
      };
      if (before) meet();
      graph.watch(l, compiled.launch(options));
      if (!before && chance(random, 0.5)) {
        others_.emplace_back([meet, hold = runtime.hold()] { meet(); });
      } else if (!before) {
        meet();
      }
      if (chance(random, 0.3)) runtime.wait();
    }
    runtime.wait();
    for (std::thread& other : others_) other.join();
    others_.clear();
    EXPECT_THAT(graph.faults(), IsEmpty()) << "seed " << seed << ", " << workers << " workers; " << graph.text();
  }
  static void check_all(const Ingredients& ingredients) {
    const auto graphs = static_cast<std::uint64_t>(rounds(600));
    for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) check(seed, ingredients);
  }

  static inline std::vector<std::thread> others_;
};

TEST_P(RandomGraphs, KeepTheirEdges) { check_all({.carried = false, .events = false}); }
TEST_P(RandomGraphs, KeepCarriedEdges) { check_all({.events = false}); }
TEST_P(RandomGraphs, KeepEvents) { check_all({}); }
TEST_P(RandomGraphs, KeepTheEdgesOfAsynchronousTasks) { check_all({.most_tasks = 30, .asynchronous = 0.4}); }
TEST_P(RandomGraphs, MayBeSmall) { check_all({.most_tasks = 4, .asynchronous = 0.2}); }

INSTANTIATE_TEST_SUITE_P(Policies, RandomGraphs, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
