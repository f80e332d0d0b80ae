/// Every entry of the pattern table against its definition and against itself.

#include "taskgrain/pattern.hpp"

#include <gmock/gmock.h>

#include <map>

#include "definition.hpp"
#include "specs.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

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

TEST(PatternTable, FindsEachByItsName) {
  for (const Pattern& pattern : patterns()) EXPECT_EQ(&pattern_from_name(pattern.name), &pattern);
}

TEST(PatternTable, UnknownNameSaysAllNames) {
  try {
    pattern_from_name("stencil");
    FAIL();
  } catch (const InvalidSpec& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("pattern: 'stencil'"));
    for (const Pattern& pattern : patterns()) EXPECT_THAT(error.what(), testing::HasSubstr(std::string(pattern.name)));
  }
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
