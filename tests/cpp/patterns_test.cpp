/// Every entry of the pattern table against its definition and against itself.

#include "taskgrain/pattern.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "dag.hpp"
#include "definition.hpp"
#include "specs.hpp"
#include "taskgrain/bound.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

class Patterns : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, Patterns, testing::ValuesIn(pattern_names()), name_of_pattern);

/// A graph from a file is what the file says: dag_test.cpp compares the two.
bool has_formula(std::string_view pattern) { return !pattern_from_name(pattern).from_file; }

TEST_P(Patterns, PointsAreTheDefinition) {
  if (!has_formula(GetParam())) GTEST_SKIP() << "dag_test.cpp";
  for_graphs(GetParam(), [](const Graph& graph) {
    const definition::Graph defined(graph.spec(), graph.index());
    for (std::int64_t step = -1; step <= graph.steps(); ++step) {
      const definition::Set expected = defined.points(step);
      const Interval points = graph.points(step);
      ASSERT_EQ(points.size(), static_cast<std::int64_t>(expected.size())) << "step " << step;
      for (std::int64_t point = -1; point <= graph.width(); ++point)
        ASSERT_EQ(graph.contains(step, point), expected.contains(point)) << "step " << step << ", point " << point;
    }
  });
}

TEST_P(Patterns, DependencesAreTheDefinition) {
  if (!has_formula(GetParam())) GTEST_SKIP() << "dag_test.cpp";
  for_graphs(GetParam(), [](const Graph& graph) {
    const definition::Graph defined(graph.spec(), graph.index());
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      ASSERT_THAT(points_of(graph.deps(step, point)), ElementsAreArray(defined.deps(step, point)))
          << "step " << step << ", point " << point;
    });
  });
}

TEST_P(Patterns, DependenceSetsAreTheDefinition) {
  if (!has_formula(GetParam())) GTEST_SKIP() << "dag_test.cpp";
  for_graphs(GetParam(), [](const Graph& graph) {
    const definition::Graph defined(graph.spec(), graph.index());
    ASSERT_EQ(graph.dependence_sets(), defined.sets());
    for (std::int64_t step = 0; step < graph.steps(); ++step)
      ASSERT_EQ(graph.dependence_set(step), defined.set(step)) << step;
  });
}

TEST_P(Patterns, ReverseIsExactlyTheReverse) {
  for_graphs(GetParam(), [](const Graph& graph) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> readers;
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      for (const std::int64_t dep : points_of(graph.deps(step, point))) readers[{step - 1, dep}].push_back(point);
    });
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      ASSERT_EQ(points_of(graph.reverse_deps(step, point)), (readers[{step, point}]))
          << "step " << step << ", point " << point;
    });
  });
}

void check_intervals(const Points& points, Interval existing) {
  std::int64_t end = existing.first, count = 0;
  for (const Interval interval : points) {
    ASSERT_GE(interval.first, end) << "before the one before it, or outside";
    ASSERT_GE(interval.last, interval.first) << "empty";
    ASSERT_LE(interval.last, existing.last) << "outside";
    end = interval.last + 1;
    count += interval.size();
  }
  ASSERT_EQ(points.count(), count);
}

TEST_P(Patterns, IntervalsIncreaseWithinThePointsThatExist) {
  for_graphs(GetParam(), [](const Graph& graph) {
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      ASSERT_NO_FATAL_FAILURE(check_intervals(graph.deps(step, point), graph.points(step - 1)))
          << step << ", " << point;
      ASSERT_NO_FATAL_FAILURE(check_intervals(graph.reverse_deps(step, point), graph.points(step + 1)))
          << step << ", " << point;
    });
  });
}

TEST_P(Patterns, StepsOfOneSetHaveEqualDependencesWherePointsExist) {
  for_graphs(GetParam(), [](const Graph& graph) {
    for (std::int64_t a = 1; a < graph.steps(); ++a) {
      ASSERT_GE(graph.dependence_set(a), 0);
      ASSERT_LT(graph.dependence_set(a), graph.dependence_sets());
      for (std::int64_t b = a + 1; b < graph.steps(); ++b) {
        if (graph.dependence_set(a) != graph.dependence_set(b)) continue;
        for (std::int64_t point = 0; point < graph.width(); ++point) {
          if (!graph.contains(a, point) || !graph.contains(b, point)) continue;
          auto of_a = points_of(graph.deps(a, point)), of_b = points_of(graph.deps(b, point));
          std::erase_if(of_a, [&](std::int64_t dep) { return !graph.contains(b - 1, dep); });
          std::erase_if(of_b, [&](std::int64_t dep) { return !graph.contains(a - 1, dep); });
          ASSERT_EQ(of_a, of_b) << "steps " << a << " and " << b << ", point " << point;
        }
      }
    }
  });
}

/// Whether step a and the one after a period have the same points, with the same dependences.
bool repeats(const Graph& graph, std::int64_t a) {
  const std::int64_t b = a + graph.dependence_sets();
  const Interval points = graph.points(a);
  if (!(points == graph.points(b))) return false;
  for (std::int64_t i = points.first; i <= points.last; ++i)
    if (points_of(graph.deps(a, i)) != points_of(graph.deps(b, i))) return false;
  return true;
}

TEST_P(Patterns, TheShapeRepeatsAfterTheRampAndNotBefore) {
  for_graphs(GetParam(), [](const Graph& graph) {
    const std::int64_t end = graph.steps() - graph.dependence_sets();
    if (graph.whole()) return;  // it need never repeat
    ASSERT_GE(graph.ramp(), 1);
    for (std::int64_t step = graph.ramp(); step < end; ++step) ASSERT_TRUE(repeats(graph, step)) << "step " << step;
    const std::int64_t last = graph.ramp() - 1;
    if (graph.ramp() > graph.dependence_sets() && last < end) {
      ASSERT_FALSE(repeats(graph, last));
    }
  });
}

TEST_P(Patterns, OnlyAWholeGraphChangesWithItsSteps) {
  for_graphs(GetParam(), [](const Graph& graph) {
    if (!has_formula(GetParam())) return;
    GraphSpec spec = graph.spec();
    ++spec.steps;
    const Graph longer(spec, graph.index());
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      const bool same =
          longer.contains(step, point) && points_of(longer.deps(step, point)) == points_of(graph.deps(step, point));
      ASSERT_TRUE(same || graph.whole()) << "step " << step << ", point " << point;
    });
  });
}

/// A call and its end are one point of the steps that mirror each other in a period, and what it calls has no other
/// caller.
TEST_P(Patterns, NestedForksAreJoinedByWhoForkedThem) {
  for_graphs(GetParam(), [](const Graph& graph) {
    const std::int64_t depth = graph.fork_depth();
    if (depth < 0) return;
    ASSERT_EQ(graph.dependence_sets(), 2 * depth);
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      const std::int64_t phase = step % (2 * depth);
      if (phase >= depth || step + 1 >= graph.steps()) return;
      const std::vector<std::int64_t> children = points_of(graph.reverse_deps(step, point));
      ASSERT_FALSE(children.empty());
      for (const std::int64_t child : children) ASSERT_THAT(points_of(graph.deps(step + 1, child)), ElementsAre(point));
      const std::int64_t join = step + 2 * (depth - phase);
      if (join >= graph.steps()) return;
      ASSERT_EQ(points_of(graph.deps(join, point)), children);
    });
  });
}

/// The time of a schedule in which no core idles while a task can begin; of those that can, the `first` begin.
template <typename First>
double scheduled(const Graph& graph, std::int64_t cores, const First& first) {
  using Task = std::pair<std::int64_t, std::int64_t>;
  std::map<Task, std::int64_t> missing;
  std::vector<Task> ready;
  for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
    const std::int64_t deps = graph.deps(step, point).count();
    if (deps == 0) ready.emplace_back(step, point);
    missing[{step, point}] = deps;
  });
  double time = 0;
  std::vector<std::pair<double, Task>> running;
  while (!ready.empty() || !running.empty()) {
    std::ranges::stable_sort(ready, first);
    for (; !ready.empty() && std::ssize(running) < cores; ready.erase(ready.begin())) {
      const auto [step, point] = ready.front();
      running.emplace_back(time + (graph.weights() ? graph.weights()->weight(step, point) : 1), ready.front());
    }
    const auto ended = std::ranges::min_element(running);
    const auto [step, point] = ended->second;
    time = ended->first;
    running.erase(ended);
    for (const std::int64_t after : points_of(graph.reverse_deps(step, point)))
      if (--missing[{step + 1, after}] == 0) ready.emplace_back(step + 1, after);
  }
  return time;
}

TEST_P(Patterns, NoScheduleIsQuickerThanTheBoundWhichThoseOfBarriersReach) {
  for_graphs(GetParam(), [](const Graph& graph) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> depth;
    std::int64_t chain = 0, tasks_of_barriers = 0;
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      std::int64_t& own = depth[{step, point}];
      const std::vector<std::int64_t> deps = points_of(graph.deps(step, point));
      for (const std::int64_t dep : deps) own = std::max(own, depth[{step - 1, dep}] + 1);
      chain = std::max(chain, own + 1);
      tasks_of_barriers += std::ssize(deps) == graph.points(step - 1).size() ? 1 : 0;
    });
    for (const std::int64_t cores : {1, 2, 3, 7}) {
      std::int64_t narrow = 0, apart = 0;
      for (std::int64_t step = 0; step < graph.steps(); ++step) {
        narrow += graph.points(step).size() < cores ? 1 : 0;
        apart += (graph.points(step).size() + cores - 1) / cores;
      }
      const Bound bound = bound_of({&graph, 1}, cores);
      ASSERT_EQ(bound.tasks, graph.tasks());
      ASSERT_EQ(bound.critical_path, chain);
      ASSERT_EQ(bound.narrow_steps, narrow);
      const bool weighted = graph.weights() != nullptr;
      const double rounding = weighted ? 1e-9 : 0;  // of sums of weights
      ASSERT_GE(bound.time * static_cast<double>(cores), static_cast<double>(graph.tasks()) * (1 - rounding));
      ASSERT_LE(bound.time, scheduled(graph, cores, std::less()) + rounding) << "step by step on " << cores;
      ASSERT_LE(bound.time, scheduled(graph, cores, std::greater()) + rounding) << "the last step first on " << cores;
      if (weighted) continue;
      ASSERT_GE(bound.time, chain);
      if (tasks_of_barriers == graph.tasks()) {
        ASSERT_EQ(bound.time, apart);
      }
    }
  });
}

/// Each step is a file's, whose tasks depend on all of the step before where `all` says so, else on their own point.
Graph layered(const std::vector<std::pair<int, bool>>& steps) {
  std::string name;
  for (const auto& [width, all] : steps) name += std::to_string(width) + (all ? "a" : "o");
  const std::filesystem::path path = test_folder() / (name + ".json");
  std::ofstream file(path);
  int before = 0;
  for (const auto& [width, all] : steps) {
    file << R"({"width":)" << width << R"(,"dependences":[)";
    for (int i = 0; i < width; ++i) {
      file << (i > 0 ? ",[" : "[");
      const char* comma = "";
      for (int j = all ? 0 : i; j < (all ? before : std::min(before, i + 1)); ++j)
        file << std::exchange(comma, ",") << j;
      file << ']';
    }
    file << "]}\n";
    before = width;
  }
  file.close();
  return Graph({.pattern = "dag", .steps = std::ssize(steps), .dag = path});
}

TEST(Bounds, StepsAfterABarrierWaitForAllThatLeadsToIt) {
  const auto time = [](const Graph& graph, std::int64_t cores) { return bound_of({&graph, 1}, cores).time; };
  const Graph fork_join({.pattern = "fork_join", .steps = 200, .width = 3});
  EXPECT_EQ(time(fork_join, 2), 300);  // of 400 tasks on two cores
  const Graph all({.pattern = "all_to_all", .steps = 100, .width = 5});
  EXPECT_EQ(time(all, 4), 200);
  // Two steps without a barrier share their last slot; a task that nobody waits for fills what a barrier leaves.
  EXPECT_EQ(time(layered({{3, false}, {3, false}, {1, true}, {3, true}}), 2), 3 + 1 + 2);
  EXPECT_EQ(time(layered({{3, false}, {1, false}, {2, true}, {2, true}}), 2), 4);
  // What waits for nothing fills it, too.
  EXPECT_EQ(time(layered({{1, false}, {3, true}, {4, false}, {1, true}}), 2), 5);
}

TEST(Bounds, GraphsWithBarriersFillEachOthersCores) {
  const std::vector<Graph> two(2, Graph({.pattern = "fork_join", .steps = 200, .width = 3}));
  EXPECT_EQ(bound_of(two, 2).time, 400);
  EXPECT_EQ(bound_of(two, 8).time, 200);
}

TEST(Bounds, GraphsThatRunAtOnceFillEachOthersCores) {
  const std::vector<Graph> two{Graph({.pattern = "dom", .steps = 16, .width = 64}),
                               Graph({.pattern = "dom", .steps = 16, .width = 64})};
  const Bound one = bound_of({two.data(), 1}, 64), both = bound_of(two, 64);
  EXPECT_EQ(one.tasks, 72);
  EXPECT_EQ(one.critical_path, 16);
  EXPECT_EQ(one.widest, 8);
  EXPECT_EQ(one.time, 16);
  EXPECT_EQ(both.time, 16);
  EXPECT_EQ(both.tasks, 144);
  EXPECT_EQ(both.widest, 16);
}

TEST(PatternTable, FindsEachByItsName) {
  for (const Pattern& pattern : patterns()) EXPECT_EQ(&pattern_from_name(pattern.name), &pattern);
}

TEST(PatternTable, UnknownNameSaysAllNames) {
  for (const Pattern& pattern : patterns())
    EXPECT_THAT([] { pattern_from_name("stencil"); },
                testing::ThrowsMessage<InvalidSpec>(testing::AllOf(testing::HasSubstr("pattern: 'stencil'"),
                                                                   testing::HasSubstr(std::string(pattern.name)))));
}

TEST(PatternTable, LongestSpreadPeriodIsTheWidthOverTheRadixRoundedUp) {
  EXPECT_EQ(longest_spread_period(10, 3), 4);
  EXPECT_EQ(longest_spread_period(9, 3), 3);
  EXPECT_EQ(longest_spread_period(3, 10), 1);
}

TEST(Folding, ThreeDimensionsMultiplyToTheWidthWithTheLongestFirst) {
  for (std::int64_t width = 1; width <= 500; ++width) {
    const auto [x, y, z] = Graph({.pattern = "stencil_3d", .width = width}).fold();
    ASSERT_EQ(x * y * z, width);
    ASSERT_GE(x, y) << width;
    ASSERT_GE(x, z) << width;
  }
}

}  // namespace
}  // namespace taskgrain
