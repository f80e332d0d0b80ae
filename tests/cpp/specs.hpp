#pragma once

/// Graphs to try a property on: for every pattern, each parameter that it has at its edges and in between.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "taskgrain/graph.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {

inline std::vector<std::int64_t> points_of(const Points& points) {
  std::vector<std::int64_t> all;
  for (const Interval interval : points)
    for (std::int64_t point = interval.first; point <= interval.last; ++point) all.push_back(point);
  return all;
}

inline void PrintTo(const Interval& interval, std::ostream* out) {
  *out << '[' << interval.first << ", " << interval.last << ']';
}

inline std::string described(const GraphSpec& spec) {
  return spec.pattern + " steps " + std::to_string(spec.steps) + " width " + std::to_string(spec.width) + " radix " +
         std::to_string(spec.radix) + " period " + std::to_string(spec.period) + " fraction " +
         std::to_string(spec.fraction) + " seed " + std::to_string(spec.seed) + " dag '" + spec.dag + "'";
}

/// A folder of this process's own, which goes with it.
inline const std::filesystem::path& test_folder() {
  struct Folder {
    std::filesystem::path path = testing::TempDir() + "/taskgrain-tests-" + std::to_string(getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path;
}

/// Writes a file of random layers, ragged, that start at random points; of an odd seed with weights. \returns its path
inline std::string random_dag_file(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::filesystem::path path = test_folder() / ("random_" + std::to_string(seed) + ".json");
  if (std::filesystem::exists(path)) return path;
  std::ofstream file(path);
  std::uint32_t before_first = 0, before_width = 0;
  for (int step = 0; step < 8; ++step) {
    const std::uint32_t first = below(4), width = 1 + below(9);
    file << R"({"first_point":)" << first << R"(,"width":)" << width << R"(,"dependences":[)";
    for (std::uint32_t i = 0; i < width; ++i) {
      file << (i > 0 ? ",[" : "[");
      const char* comma = "";
      for (std::uint32_t j = 0; j < before_width; ++j)
        if (below(2) == 0) file << std::exchange(comma, ",") << before_first + j;
      file << ']';
    }
    file << ']';
    if (seed % 2 == 1) {
      file << R"(,"weights":[)";
      for (std::uint32_t i = 0; i < width; ++i) file << (i > 0 ? "," : "") << below(5) << ".5";
      file << ']';
    }
    file << "}\n";
    before_first = first, before_width = width;
  }
  return path;
}

/// All specifications of a pattern that the property tests try.
inline std::vector<GraphSpec> specs(std::string_view pattern) {
  using List = std::vector<std::int64_t>;
  std::vector<GraphSpec> all;
  if (pattern_from_name(pattern).from_file) {
    for (std::uint32_t seed = 0; seed < 20; ++seed)
      all.push_back({.pattern = std::string(pattern), .dag = random_dag_file(seed)});
    return all;
  }
  const bool tree = pattern_from_name(pattern).tree != Pattern::Tree::none;
  const bool random = pattern.starts_with("random");
  const bool radix = random || tree || pattern == "nearest" || pattern == "spread";
  const bool period = (random && !tree) || pattern == "spread";
  // Random patterns cost a hash for each candidate.
  const List widths = random   ? List{1, 2, 3, 7, 8, 16, 17}
                      : period ? List{1, 2, 3, 5, 8, 13, 16, 17, 30}
                               : List{1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 24, 30, 31, 32, 33, 60, 68};
  for (const std::int64_t width : widths) {
    for (const std::int64_t steps : random ? List{1, 9} : period ? List{1, 2, 16} : List{1, 2, 3, 8, 21}) {
      for (const std::int64_t r :
           radix ? List{0, 1, 2, 3, 4, 7, width - 1, width, width + 1, 2 * width + 3} : List{3}) {
        for (const std::int64_t p : period ? List{0, 1, 2, 3, 5} : List{0}) {
          if (pattern.ends_with("spread") && p > longest_spread_period(width, r)) continue;
          if (tree && r < 2) continue;
          GraphSpec spec{.pattern = std::string(pattern), .steps = steps, .width = width, .radix = r, .period = p};
          all.push_back(spec);
          if (!random) continue;
          for (const double fraction : {0.0, 0.6, 1.0}) {
            spec.fraction = fraction;
            spec.seed = 12345;
            all.push_back(spec);
          }
        }
      }
    }
  }
  return all;
}

/// Calls `body(graph)` for each of them; with a failure, says for which it was.
template <typename Body>
void for_graphs(std::string_view pattern, Body body) {
  std::int64_t index = 0;
  for (const GraphSpec& spec : specs(pattern)) {
    SCOPED_TRACE(described(spec));
    body(Graph(spec, index++ % 3));
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Calls `body(step, point)` for each task.
template <typename Body>
void for_tasks(const Graph& graph, Body body) {
  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    for (std::int64_t point = points.first; point <= points.last; ++point) body(step, point);
  }
}

/// One test for every pattern of the table.
class EveryPattern : public testing::TestWithParam<std::string_view> {};

inline std::string name_of_pattern(const testing::TestParamInfo<std::string_view>& test) {
  return std::string(test.param);
}

inline std::vector<std::string_view> pattern_names() {
  std::vector<std::string_view> names;
  for (const Pattern& pattern : patterns()) names.push_back(pattern.name);
  return names;
}

}  // namespace taskgrain
