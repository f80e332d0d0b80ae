/// Random graphs, launched several times in every way: everything runs once, and after all that it comes after.

#include <gmock/gmock.h>

#include <chrono>

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
    EXPECT_THAT(faults_of(graph, random, runtime, iterations, GetParam()), IsEmpty())
        << "seed " << seed << ", " << workers << " workers; " << graph.text();
  }
  static void check_all(const Ingredients& ingredients) {
    const auto graphs = static_cast<std::uint64_t>(rounds(600));
    for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) check(seed, ingredients);
  }
};

TEST_P(RandomGraphs, KeepTheirEdges) { check_all({.carried = false, .events = false}); }
TEST_P(RandomGraphs, KeepCarriedEdges) { check_all({.events = false}); }
TEST_P(RandomGraphs, KeepEvents) { check_all({}); }
TEST_P(RandomGraphs, KeepTheEdgesOfAsynchronousTasks) { check_all({.most_tasks = 30, .asynchronous = 0.4}); }
TEST_P(RandomGraphs, MayBeSmall) { check_all({.most_tasks = 4, .asynchronous = 0.2}); }

INSTANTIATE_TEST_SUITE_P(Policies, RandomGraphs, every_policy, policy_name);

}  // namespace
}  // namespace taskgrain::rt
