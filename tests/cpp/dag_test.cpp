/// The dag pattern: what is in the file is what the graph is, and what is wrong with a file is said.

#include "dag.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "specs.hpp"
#include "taskgrain/bound.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string file_of(const std::string& text) {
  const std::filesystem::path path = test_folder() / "graph.json";
  std::ofstream(path) << text;
  return path;
}

Graph graph_in(const std::string& text) { return Graph({.pattern = "dag", .dag = file_of(text)}); }

TEST(Dag, ReadsOneObjectOfSteps) {
  const Graph graph = graph_in(R"({"steps":[{"width":2,"dependences":[[],[]]},{"width":1,"dependences":[[0,1]]}]})");
  EXPECT_EQ(graph.steps(), 2);
  EXPECT_EQ(graph.width(), 2);
  EXPECT_EQ(graph.points(1), (Interval{0, 0}));
  EXPECT_THAT(points_of(graph.deps(1, 0)), ElementsAre(0, 1));
  EXPECT_THAT(points_of(graph.reverse_deps(0, 1)), ElementsAre(0));
}

TEST(Dag, ReadsALineForEachStep) {
  const Graph graph = graph_in("{\"width\":2}\n\n{\"width\":2,\"dependences\":[[1],[]],\"dependence_set\":0}\n  \r\n");
  EXPECT_EQ(graph.steps(), 2);
  EXPECT_THAT(points_of(graph.deps(1, 0)), ElementsAre(1));
  EXPECT_THAT(points_of(graph.deps(1, 1)), IsEmpty());
}

TEST(Dag, ASingleLineIsAStep) { EXPECT_EQ(graph_in(R"({"width":3,"dependences":[[],[],[]]})").tasks(), 3); }

TEST(Dag, LayersMayStartAtAnyPointAndHaveAnyWidth) {
  const Graph graph = graph_in(R"({"width":1,"first_point":5}
    {"width":3,"first_point":2,"dependences":[[5],[],[5]]}
    {"width":2,"first_point":7,"dependences":[[2,4],[3]]})");
  EXPECT_EQ(graph.width(), 9);
  EXPECT_EQ(graph.tasks(), 6);
  EXPECT_EQ(graph.points(1), (Interval{2, 4}));
  EXPECT_FALSE(graph.contains(1, 5));
  EXPECT_THAT(points_of(graph.deps(2, 7)), ElementsAre(2, 4));
  EXPECT_THAT(points_of(graph.reverse_deps(0, 5)), ElementsAre(2, 4));
  EXPECT_THAT(points_of(graph.reverse_deps(1, 3)), ElementsAre(8));
}

TEST(Dag, DependencesMayComeInAnyOrder) {
  const Graph graph = graph_in(R"({"width":4}
    {"width":1,"dependences":[[3,0,2]]})");
  std::vector<Interval> intervals;
  for (const Interval interval : graph.deps(1, 0)) intervals.push_back(interval);
  EXPECT_THAT(intervals, ElementsAre(Interval{0, 0}, Interval{2, 3}));
}

TEST(Dag, HasASetForEachStep) {
  const Graph graph =
      graph_in("{\"width\":1}\n{\"width\":1,\"dependences\":[[0]]}\n{\"width\":1,\"dependences\":[[]]}");
  EXPECT_EQ(graph.dependence_sets(), 3);
  EXPECT_EQ(graph.dependence_set(2), 2);
}

/// A graph in the form that the file has.
std::string json_of(const Graph& graph) {
  std::string text;
  for (std::int64_t step = 0; step < graph.steps(); ++step) {
    const Interval points = graph.points(step);
    nlohmann::json layer = {{"step", step}, {"first_point", points.first}, {"width", points.size()}};
    layer["dependences"] = nlohmann::json::array();
    for (std::int64_t point = points.first; point <= points.last; ++point)
      layer["dependences"].push_back(points_of(graph.deps(step, point)));
    text += layer.dump() + "\n";
  }
  return text;
}

class EveryPatternAsDag : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, EveryPatternAsDag, testing::ValuesIn(pattern_names()), name_of_pattern);

TEST_P(EveryPatternAsDag, IsTheSameGraph) {
  const auto all = specs(GetParam());
  for (std::size_t k = 0; k < all.size(); k += 1 + all.size() / 20) {
    SCOPED_TRACE(described(all[k]));
    const Graph graph(all[k]);
    const Graph again = graph_in(json_of(graph));
    ASSERT_EQ(again.steps(), graph.steps());
    for (std::int64_t step = 0; step < graph.steps(); ++step) ASSERT_EQ(again.points(step), graph.points(step)) << step;
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      ASSERT_EQ(points_of(again.deps(step, point)), points_of(graph.deps(step, point))) << step << ", " << point;
      ASSERT_EQ(points_of(again.reverse_deps(step, point)), points_of(graph.reverse_deps(step, point)))
          << step << ", " << point;
    });
  }
}

struct Malformed {
  const char* what;
  const char* text;
  const char* message;
};
void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.what; }

class MalformedDags : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedDags, AreRefusedNamingTheFileAndThePlace) {
  const std::string path = file_of(GetParam().text);
  try {
    const Graph graph({.pattern = "dag", .dag = path});
    FAIL() << "not refused; width " << graph.width();
  } catch (const InvalidSpec& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("dag: '" + path), HasSubstr(GetParam().message)));
  } catch (const std::exception& error) {
    FAIL() << "another kind of error: " << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedDags,
    testing::Values(
        Malformed{"empty", "", "at least one step"}, Malformed{"no_steps", R"({"steps":[]})", "at least one step"},
        Malformed{"not_json", "width 3", "line 1, column 1"}, Malformed{"list", "[]", "line 1' is not allowed"},
        Malformed{"number_after_a_line", "{\"width\":1}\n7", "line 2' is not allowed"},
        Malformed{"torn_line", "{\"width\":1}\n{\"width\":", "line 2, column 10"},
        Malformed{"pretty_and_wrong", "{\n \"steps\": [\n  {width: 1}\n ]\n}\n", "line 3, column 4"},
        Malformed{"dot", "digraph {\n a -> b;\n}\n", "line 1, column 1"},
        Malformed{"utf_16", "\xff\xfe{", "line 1, column 1"},
        Malformed{"not_a_number", R"({"width":NaN})", "line 1, column 1"},
        Malformed{"number_too_large", R"({"width":1e999})", "too large"},
        Malformed{"two_documents", "{\"steps\":[{\"width\":1}]}\n{\"width\":1}", "nothing may follow"},
        Malformed{"workflow", "{\n\"name\": \"x\",\n\"workflow\": {}}", "a WfCommons workflow"},
        Malformed{"unknown_key", R"({"width":1,"runtime\u001b":3})", "step 0, key \"runtime\\u001b\"' is not allowed"},
        Malformed{"steps_of_wrong_type", R"({"steps":3})", "'steps' is not a list"},
        Malformed{"step_of_wrong_type", R"({"steps":[3]})", "step 0"},
        Malformed{"no_width", R"({"dependences":[]})", "found the keys: \"dependences\""},
        Malformed{"empty_step", "{\"width\":1}\n{}", "step 1"},
        Malformed{"width_beyond_memory", R"({"steps":[{"width":3000000000}]})", "'width' of 1 to 16777216"},
        Malformed{"last_point_beyond_memory", R"({"width":2,"first_point":16777215})", "0 to 16777214 at this width"},
        Malformed{"width_of_wrong_type", R"({"width":"2"})", "'width' of 1 to 16777216"},
        Malformed{"width_no_integer", R"({"width":1.5})", "'width' of 1 to 16777216"},
        Malformed{"width_zero", R"({"width":0})", "'width' of 1 to 16777216"},
        Malformed{"width_negative", R"({"width":-2})", "'width' of 1 to 16777216"},
        Malformed{"width_too_large", R"({"width":18446744073709551615})", "step 0"},
        Malformed{"weights_twice", R"({"width":1,"weights":[1],"weights":[2]})", "key \"weights\"' is not allowed"},
        Malformed{"width_twice_in_a_step", R"({"steps":[{"width":1},{"width":1,"width":2}]})",
                  "each key once in an object"},
        Malformed{"first_point_negative", R"({"width":1,"first_point":-1})", "'first_point' of 0 to"},
        Malformed{"first_point_of_wrong_type", R"({"width":1,"first_point":"0"})", "step 0"},
        Malformed{"first_point_no_integer", R"({"width":1,"first_point":1.5})", "step 0"},
        Malformed{"first_point_too_large", R"({"width":2,"first_point":9223372036854775807})", "step 0"},
        Malformed{"dependences_of_wrong_type", R"({"width":1,"dependences":{}})", "step 0"},
        Malformed{"a_list_too_few", "{\"width\":2}\n{\"width\":2,\"dependences\":[[0]]}",
                  "one list for each of its 2 points"},
        Malformed{"a_list_too_many", "{\"width\":2}\n{\"width\":2,\"dependences\":[[0],[],[]]}", "step 1"},
        Malformed{"no_dependences", "{\"width\":1}\n{\"width\":1}", "step 1"},
        Malformed{"dependences_no_list", "{\"width\":1}\n{\"width\":1,\"dependences\":[0]}",
                  "a list of points for each point"},
        Malformed{"dependence_of_wrong_type", "{\"width\":1}\n{\"width\":1,\"dependences\":[[\"0\"]]}",
                  "step 1, point 0"},
        Malformed{"dependence_no_integer", "{\"width\":2}\n{\"width\":1,\"dependences\":[[0.5]]}", "step 1, point 0"},
        Malformed{"dependence_outside", "{\"width\":2}\n{\"width\":1,\"first_point\":4,\"dependences\":[[2]]}",
                  "step 1, point 4"},
        Malformed{"dependence_before_the_first", "{\"width\":1,\"first_point\":1}\n{\"width\":1,\"dependences\":[[0]]}",
                  "step 1"},
        Malformed{"dependence_in_the_first_step", R"({"width":2,"dependences":[[],[0]]})", "step 0"},
        Malformed{"dependence_twice", "{\"width\":2}\n{\"width\":1,\"dependences\":[[1,1]]}", "each dependence once"},
        Malformed{"weights_of_wrong_type", R"({"width":2,"weights":3})", "one number for each of its 2 points"},
        Malformed{"a_weight_too_few", R"({"width":2,"weights":[3]})", "one number for each of its 2 points"},
        Malformed{"weight_of_wrong_type", R"({"width":2,"weights":[1,"2"]})", "step 0, point 1"},
        Malformed{"weight_negative", R"({"width":1,"first_point":7,"weights":[-1]})", "point 7' is not allowed"},
        Malformed{"weights_without_a_sum", R"({"width":2,"weights":[1e300,1e300]})", "a weight from 0 to 1e18"},
        Malformed{"weights_of_nothing", R"({"width":2,"weights":[0,0]})", "a weight above 0"}),
    [](const auto& test) { return std::string(test.param.what); });

/// Minutes, if each dependence were looked for among those before it.
TEST(Dag, AMillionDependencesOfOnePointAreRead) {
  std::string text = "{\"width\":1000000}\n{\"width\":1,\"dependences\":[[999999";
  for (int point = 999'998; point >= 0; --point) text += "," + std::to_string(point);
  EXPECT_EQ(graph_in(text + "]]}").deps(1, 0).count(), 1'000'000);
}

TEST(Dag, TheWorkOfATaskIsItsWeightOfTheMean) {
  const Graph graph = graph_in(R"({"width":2,"weights":[3,0]}
    {"width":1,"first_point":1,"dependences":[[0,1]],"weights":[0.5]}
    {"width":1,"dependences":[[1]]})");
  const Kernel kernel({.iterations = 900}, Isa::automatic, 0, 16, graph.weights());
  EXPECT_EQ(kernel.iterations_of({0, 0, 0}), 2400);  // 3 of a mean of 4.5 / 4
  EXPECT_EQ(kernel.iterations_of({0, 0, 1}), 0);
  EXPECT_EQ(kernel.iterations_of({0, 1, 1}), 400);
  EXPECT_EQ(kernel.iterations_of({0, 2, 0}), 800);  // 1, as its step has no weights
  EXPECT_DOUBLE_EQ(bound_of({&graph, 1}, 4).time, 4.0);
  EXPECT_DOUBLE_EQ(bound_of({&graph, 1}, 1).time, 4.0);
  EXPECT_EQ(graph_in(R"({"width":2})").weights(), nullptr);
  EXPECT_EQ(graph_in(R"({"width":2,"weights":[1e-310,0]})").weights()->weight(0, 1), 0);
}

TEST(Dag, AnotherContentThanTheOneOfTheHashIsRefused) {
  const Graph graph = graph_in(R"({"width":1})");
  EXPECT_NE(graph.spec().dag_hash, 0);
  EXPECT_EQ(Graph(graph.spec()).spec(), graph.spec());
  file_of(R"({"width":2})");
  EXPECT_THROW(Graph{graph.spec()}, InvalidSpec);
}

TEST(Dag, OnlyARegularFileIsOpened) {
  const std::filesystem::path pipe = test_folder() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe.string(), pipe.parent_path().string(), std::string("/dev/stdin")})
    EXPECT_THROW(Graph({.pattern = "dag", .dag = path}), InvalidSpec) << path;
}

TEST(Dag, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT([&] { const Graph graph({.pattern = "dag", .dag = "/nowhere/graph.json"}); },
              testing::ThrowsMessage<InvalidSpec>(
                  AllOf(HasSubstr("dag: '/nowhere/graph.json'"), HasSubstr("a readable file"))));
}

}  // namespace
}  // namespace taskgrain
