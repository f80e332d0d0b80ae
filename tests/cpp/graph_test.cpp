/// Graphs: what is allowed, how large they may be, and what a query costs.

#include "taskgrain/graph.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <thread>

#include "allocations.hpp"
#include "specs.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

struct InvalidGraph {
  const char* field;
  GraphSpec spec;
  const char* value;
  const char* allowed;
};
void PrintTo(const InvalidGraph& invalid, std::ostream* out) { *out << invalid.field << " = " << invalid.value; }

class InvalidGraphs : public testing::TestWithParam<InvalidGraph> {};

TEST_P(InvalidGraphs, AreRefusedNamingFieldValueAndWhatIsAllowed) {
  const auto& [field, spec, value, allowed] = GetParam();
  EXPECT_THAT([&] { const Graph graph(spec); },
              testing::ThrowsMessage<InvalidSpec>(
                  AllOf(StartsWith(std::string(field) + ": '" + value), HasSubstr("allowed: "), HasSubstr(allowed))));
}

// What one field alone does not allow: fields_test.cpp.
INSTANTIATE_TEST_SUITE_P(
    All, InvalidGraphs,
    testing::Values(
        InvalidGraph{"pattern", {.pattern = "ring"}, "ring", "stencil_1d_periodic"},
        InvalidGraph{"pattern", {.pattern = ""}, "", "trivial"},
        InvalidGraph{
            "steps", {.steps = largest, .width = 2}, "9223372036854775807", "4611686018427387903 steps at this width"},
        InvalidGraph{"radix", {.radix = largest}, "9223372036854775807", "0 to 2305843009213693951"},
        InvalidGraph{"fraction", {.fraction = std::numeric_limits<double>::quiet_NaN()}, "nan", "0 to 1"},
        InvalidGraph{"period", {.pattern = "stencil_1d", .period = 2}, "2", "stencil_1d has no period"},
        InvalidGraph{"period", {.pattern = "spread", .width = 9, .radix = 3, .period = 4}, "4", "at most 3"},
        InvalidGraph{"period", {.pattern = "random_spread", .width = 4, .radix = 8, .period = 2}, "2", "at most 1"},
        InvalidGraph{"dag", {.pattern = "dag"}, "", "a file"},
        InvalidGraph{"dag", {.pattern = "trivial", .dag = "x.json"}, "x.json", "nothing, unless the pattern is dag"}));

TEST(Graph, DefaultPeriodIsThreeOrWhatSpreadAllows) {
  const auto period = [](const char* pattern, std::int64_t width, std::int64_t radix) {
    return Graph({.pattern = pattern, .width = width, .radix = radix}).spec().period;
  };
  EXPECT_EQ(period("random", 2, 3), 3);
  EXPECT_EQ(period("random_nearest", 2, 3), 3);
  EXPECT_EQ(period("spread", 30, 3), 3);
  EXPECT_EQ(period("spread", 6, 3), 2);
  EXPECT_EQ(period("random_spread", 4, 9), 1);
  EXPECT_EQ(period("trivial", 4, 3), 0);
}

TEST(Graph, UniformMeansThatAllPointsExistAtAllSteps) {
  for (const auto pattern : pattern_names()) {
    for_graphs(pattern, [](const Graph& graph) {
      if (!graph.uniform()) return;
      for (std::int64_t step = 0; step < graph.steps(); ++step)
        ASSERT_EQ(graph.points(step), (Interval{0, graph.width() - 1}));
    });
  }
  EXPECT_TRUE(Graph({.pattern = "fft"}).uniform());
  EXPECT_FALSE(Graph({.pattern = "dom"}).uniform());
}

TEST(Graph, CountsItsTasks) {
  for (const auto pattern : pattern_names()) {
    for_graphs(pattern, [](const Graph& graph) {
      std::int64_t tasks = 0;
      for_tasks(graph, [&](std::int64_t, std::int64_t) { ++tasks; });
      ASSERT_EQ(graph.tasks(), tasks);
    });
  }
}

/// A graph of 10^15 tasks where the pattern has all of them.
Graph large(std::string_view pattern, std::int64_t steps = 1'000'000'000) {
  return Graph({.pattern = std::string(pattern), .steps = steps, .width = 1'000'000'000'000'000 / steps});
}

class LargeGraphs : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, LargeGraphs, testing::ValuesIn([] {
                           auto names = pattern_names();
                           std::erase_if(names,
                                         [](std::string_view name) { return pattern_from_name(name).from_file; });
                           return names;
                         }()),
                         name_of_pattern);

/// If each of so many looked at all steps or all points, they would not end within the test's time.
TEST_P(LargeGraphs, AreReadyAtOnceAndTheirQueriesAreToo) {
  // Only `random` must look at all points of a step to find those that it keeps, and a random tree counts its calls.
  const bool looks = GetParam() == "random" || GetParam() == "random_fork_tree";
  for (const std::int64_t steps : {1'000'000'000, 1'000'000})
    for (int n = 0; n < (looks ? 1 : 10'000); ++n) {
      const Graph graph = large(GetParam(), looks ? 1'000'000'000 : steps);
      const std::int64_t last = graph.steps() - 1, middle = graph.points(last).first + graph.points(last).size() / 2;
      ASSERT_TRUE(graph.contains(last, middle));
      ASSERT_LE(graph.deps(last, middle).count(), graph.width());
      ASSERT_LE(graph.reverse_deps(last - 1, graph.points(last - 1).first).count(), graph.width());
      if (graph.uniform()) {
        ASSERT_EQ(graph.tasks(), 1'000'000'000'000'000);
      }
    }
}

TEST(LargeGraphs, KnownDependencesFarOut) {
  const std::int64_t t = 999'999'999, i = 500'000;
  const auto deps = [&](const char* pattern) { return points_of(large(pattern).deps(t, i)); };
  EXPECT_THAT(deps("stencil_1d"), testing::ElementsAre(i - 1, i, i + 1));
  // 20 sets of ⌈log2 10^6⌉; the set is (t + 19) mod 20 = 18
  EXPECT_THAT(deps("fft"), testing::ElementsAre(i - (1 << 18), i, i + (1 << 18)));
  // 333333 apart; the set is t mod 3 = 0
  EXPECT_THAT(deps("spread"), testing::ElementsAre(i + 666'666 - 1'000'000, i, i + 333'333));
  EXPECT_THAT(deps("stencil_2d"), testing::ElementsAre(i - 1000, i, i + 1, i + 1000))
      << "at the left edge of a 1000 x 1000 square";
}

TEST(LargeGraphs, EvenHigherAndWiderOnesAreLegal) {
  EXPECT_EQ(Graph({.pattern = "stencil_1d", .steps = largest, .width = 1}).tasks(), largest);
  EXPECT_EQ(Graph({.pattern = "stencil_1d", .steps = 9, .width = 1'000'000'000'000'000'000}).tasks(),
            9'000'000'000'000'000'000);
}

TEST(Graph, QueriesAllocateNothing) {
  for (const auto pattern : pattern_names()) {
    SCOPED_TRACE(pattern);
    const Graph graph(specs(pattern).back());
    std::int64_t sum = 0;
    const std::int64_t before = allocations();
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      sum += graph.contains(step, point) + graph.dependence_set(step) + graph.dependence_sets();
      for (const Interval deps : graph.deps(step, point)) sum += deps.first;
      for (const Interval deps : graph.reverse_deps(step, point)) sum += deps.first;
    });
    sum += graph.tasks();
    EXPECT_EQ(allocations(), before);
    EXPECT_GT(sum, 0);
  }
}

TEST(Graph, AllocationsAreCountedAtAll) {
  const std::int64_t before = allocations();
  delete new std::string(100, ' ');
  EXPECT_GE(allocations(), before + 2);
}

/// Something of everything that a graph answers.
std::int64_t checksum(const Graph& graph) {
  std::int64_t sum = 0;
  for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
    for (const Interval deps : graph.deps(step, point)) sum = sum * 31 + deps.first * 7 + deps.last;
    for (const Interval deps : graph.reverse_deps(step, point)) sum = sum * 31 + deps.first * 7 + deps.last;
    sum %= 1'000'000'007;
  });
  return sum;
}

TEST(Graph, AnswersManyThreadsAlike) {
  for (const auto pattern : pattern_names()) {
    SCOPED_TRACE(pattern);
    const Graph graph(specs(pattern).back());
    std::array<std::int64_t, 4> sums{};
    {
      std::vector<std::jthread> threads;
      for (auto& sum : sums) threads.emplace_back([&] { sum = checksum(graph); });
    }
    EXPECT_THAT(sums, testing::Each(checksum(graph)));
  }
}

}  // namespace
}  // namespace taskgrain
