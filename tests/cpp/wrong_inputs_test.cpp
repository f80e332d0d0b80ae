/// Validation by mutation: every way of giving a task wrong inputs must be caught, as what it is and where it is.

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <tuple>

#include "executor.hpp"

namespace taskgrain {
namespace {

/// What must be found; `input` -1: the kind has none.
struct Finding {
  ViolationKind kind;
  std::int64_t input = 0;
  std::optional<Task> got = std::nullopt;  ///< nothing: not the test's concern
};

/// One way to spoil the inputs of a task.
struct Mutation {
  const char* name;
  std::int64_t deps;  ///< that the task must have
  bool sample;        ///< whether sampling must find it
  /// Spoils the inputs of (step, point), which stem from `deps`; \returns what must be found
  Finding (*apply)(std::vector<Bytes>& inputs, const Graph& graph, Task task, const std::vector<std::int64_t>& deps);
};
void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

/// Turns a bit that makes a step or point of a cell one that no graph here has.
void corrupt(std::byte& byte) { byte ^= std::byte{0x80}; }

const Mutation mutations[] = {
    {"swapped", 2, true,
     [](auto& inputs, const Graph&, Task task, const auto& deps) -> Finding {
       std::swap(inputs[0], inputs[1]);
       return {ViolationKind::wrong_producer, 0, Task{task[0] - 1, deps[1]}};
     }},
    {"last_two_swapped", 3, true,
     [](auto& inputs, const Graph&, Task task, const auto& deps) -> Finding {
       const std::size_t n = inputs.size();
       std::swap(inputs[n - 1], inputs[n - 2]);
       return {ViolationKind::wrong_producer, static_cast<std::int64_t>(n) - 2, Task{task[0] - 1, deps[n - 1]}};
     }},
    {"wrong_producer", 1, true,
     [](auto& inputs, const Graph& graph, Task task, const auto& deps) -> Finding {
       const Interval points = graph.points(task[0] - 1);
       const std::int64_t other = deps[0] == points.first ? points.last : points.first;
       if (other == deps[0]) return {ViolationKind::skipped, -1};  // there is but one point
       inputs[0] = output_of(graph.index(), task[0] - 1, other, graph.output_bytes());
       return {ViolationKind::wrong_producer, 0, Task{task[0] - 1, other}};
     }},
    {"stale", 1, true,
     [](auto& inputs, const Graph& graph, Task task, const auto& deps) -> Finding {
       if (!graph.contains(task[0] - 3, deps[0])) return {ViolationKind::skipped, -1};
       inputs[0] = output_of(graph.index(), task[0] - 3, deps[0], graph.output_bytes());
       return {ViolationKind::early, 0, Task{task[0] - 3, deps[0]}};
     }},
    {"overwritten", 1, true,
     [](auto& inputs, const Graph& graph, Task task, const auto& deps) -> Finding {
       if (!graph.contains(task[0] + 1, deps[0])) return {ViolationKind::skipped, -1};
       inputs[0] = output_of(graph.index(), task[0] + 1, deps[0], graph.output_bytes());
       return {ViolationKind::overwritten, 0, Task{task[0] + 1, deps[0]}};
     }},
    {"never_written", 1, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       std::ranges::fill(inputs.back(), std::byte{0xff});
       return {ViolationKind::wrong_bytes, static_cast<std::int64_t>(inputs.size()) - 1, Task{-1, -1}};
     }},
    {"zeroed", 1, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       std::ranges::fill(inputs[0], std::byte{0});
       return {ViolationKind::wrong_bytes, 0, Task{0, 0}};
     }},
    {"of_another_graph", 1, true,
     [](auto& inputs, const Graph& graph, Task task, const auto& deps) -> Finding {
       if (!Graph(graph_of("stencil_1d")).contains(task[0] - 1, deps[0])) return {ViolationKind::skipped, -1};
       inputs[0] = output_of(1 - graph.index(), task[0] - 1, deps[0], graph.output_bytes());
       return {ViolationKind::wrong_graph, 0, Task{task[0] - 1, deps[0]}};
     }},
    {"first_byte", 1, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       corrupt(inputs[0].front());
       return {ViolationKind::wrong_bytes};
     }},
    {"last_byte_of_the_first_cell", 1, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       corrupt(inputs[0][15]);
       return {ViolationKind::wrong_bytes};
     }},
    {"last_byte", 1, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       corrupt(inputs[0].back());
       return {ViolationKind::wrong_bytes};
     }},
    {"last_byte_of_the_last_input", 2, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       corrupt(inputs.back().back());
       return {ViolationKind::wrong_bytes, static_cast<std::int64_t>(inputs.size()) - 1};
     }},
    {"a_byte_in_between", 1, false,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       corrupt(inputs[0][inputs[0].size() / 2]);
       return {ViolationKind::wrong_bytes};
     }},
    {"missing_input", 1, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       inputs.pop_back();
       return {ViolationKind::missing_input, std::ssize(inputs), Task{-1, -1}};
     }},
    {"no_inputs", 2, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       inputs.clear();
       return {ViolationKind::missing_input, 0, Task{-1, -1}};
     }},
    {"surplus_input", 0, true,
     [](auto& inputs, const Graph& graph, Task task, const auto&) -> Finding {
       const Interval points = graph.points(task[0]);
       inputs.push_back(output_of(graph.index(), task[0], points.last, graph.output_bytes()));
       return {ViolationKind::surplus_input, std::ssize(inputs) - 1, Task{task[0], points.last}};
     }},
    {"missing_in_front", 2, true,
     [](auto& inputs, const Graph&, Task task, const auto& deps) -> Finding {
       inputs.erase(inputs.begin());
       return {ViolationKind::wrong_producer, 0, Task{task[0] - 1, deps[1]}};
     }},
};

/// The task whose inputs are spoilt.
Task victim_of(const Graph& graph, const Mutation& mutation) { return task_with(graph, mutation.deps).value(); }

using Case = std::tuple<Mutation, std::string_view>;

/// All mutations with all patterns that have such a task and such an input.
std::vector<Case> cases(Validation validation) {
  std::vector<Case> found;
  for (const Mutation& mutation : mutations) {
    if (validation == Validation::sample && !mutation.sample) continue;
    for (const auto pattern : pattern_names()) {
      const Graph graph(graph_of(pattern));
      const auto task = task_with(graph, mutation.deps);
      if (!task) continue;
      const auto deps = points_of(graph.deps((*task)[0], (*task)[1]));
      std::vector<Bytes> inputs(deps.size(), Bytes(64));
      if (mutation.apply(inputs, graph, *task, deps).kind != ViolationKind::skipped)
        found.emplace_back(mutation, pattern);
    }
  }
  return found;
}

std::string name_of_case(const testing::TestParamInfo<Case>& test) {
  return std::string(std::get<0>(test.param).name) + "_of_" + std::string(std::get<1>(test.param));
}

void expect_finding(const std::optional<Violation>& violation, Task victim, const std::vector<std::int64_t>& deps,
                    const Finding& finding) {
  if (!violation) {
    ADD_FAILURE() << "not caught";
    return;
  }
  EXPECT_EQ(name(violation->kind), name(finding.kind));
  EXPECT_EQ(violation->graph, 1);
  EXPECT_EQ((Task{violation->step, violation->point}), victim);
  EXPECT_EQ(violation->input, finding.input);
  const bool of_a_dependence = finding.input >= 0 && finding.input < std::ssize(deps);
  const Task producer =
      of_a_dependence ? Task{victim[0] - 1, deps[static_cast<std::size_t>(finding.input)]} : Task{-1, -1};
  EXPECT_EQ(violation->expected, producer);
  if (finding.got) {
    EXPECT_EQ(violation->got, *finding.got);
  }
}

/// Spoils one task of one graph of two, with every size of output.
void expect_caught(const Case& spoilt, Validation validation) {
  const auto& [mutation, pattern] = spoilt;
  for (const std::size_t bytes : sizes) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    Execution run({graph_of("stencil_1d", 64), graph_of(pattern, bytes)}, validation, Isa::automatic);
    const Graph& graph = run.graphs()[1];
    const Task victim = victim_of(graph, mutation);
    const auto deps = points_of(graph.deps(victim[0], victim[1]));
    Finding finding{};
    Executor executor(run);
    executor.execute([&, &mutate = mutation.apply](Call& call) {
      if (call.graph == 1 && Task{call.step, call.point} == victim) finding = mutate(call.inputs, graph, victim, deps);
    });
    expect_finding(run.verify(), victim, deps, finding);
  }
}

class WrongInputs : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, WrongInputs, testing::ValuesIn(cases(Validation::full)), name_of_case);
TEST_P(WrongInputs, AreCaughtInFull) { expect_caught(GetParam(), Validation::full); }

class WrongInputsThatSamplingFinds : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, WrongInputsThatSamplingFinds, testing::ValuesIn(cases(Validation::sample)), name_of_case);
TEST_P(WrongInputsThatSamplingFinds, AreCaughtBySampling) { expect_caught(GetParam(), Validation::sample); }

TEST(WrongInput, EveryMutationHasPatternsToTryItOn) {
  std::map<std::string_view, int> patterns;
  for (const auto& [mutation, pattern] : cases(Validation::full)) ++patterns[mutation.name];
  EXPECT_EQ(patterns.size(), std::size(mutations));
  for (const auto& [mutation, number] : patterns) EXPECT_GE(number, 10) << mutation;
}

TEST(WrongInput, AnyByteIsCaughtInFull) {
  for (const std::size_t bytes : {16U, 17U, 40U, 100U}) {
    for (std::size_t wrong = 0; wrong < bytes; ++wrong) {
      Execution run({graph_of("no_comm", bytes)}, Validation::full, Isa::automatic);
      Executor executor(run);
      executor.execute([&](Call& call) {
        if (call.step == 7 && call.point == 3) corrupt(call.inputs[0][wrong]);
      });
      const auto violation = run.verify();
      ASSERT_TRUE(violation) << "byte " << wrong << " of " << bytes;
      ASSERT_EQ(violation->kind, ViolationKind::wrong_bytes);
      ASSERT_EQ((Task{violation->step, violation->point}), (Task{7, 3}));
    }
  }
}

TEST(WrongInput, ACellThatIsAlwaysWrongIsCaughtBySamplingSoonerOrLater) {
  // One of 64 cells, wrong in every input of 600 tasks.
  for (const std::size_t cell : {1U, 17U, 40U, 62U}) {
    Execution run({{.pattern = "no_comm", .steps = 101, .width = 6, .output_bytes = 1024}}, Validation::sample,
                  Isa::automatic);
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.step > 0) corrupt(call.inputs[0][16 * cell]);
    });
    ASSERT_TRUE(run.verify()) << "cell " << cell;
  }
}

TEST(WrongInput, TheFirstOfATaskIsTheOneReported) {
  Execution run({graph_of("all_to_all")}, Validation::sample, Isa::automatic);
  Executor executor(run);
  executor.execute([&](Call& call) {
    if (call.step >= 5)
      for (std::size_t k = 2; k < 5; ++k) corrupt(call.inputs[k][0]);
  });
  const auto violation = run.verify();
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->step, 5);
  EXPECT_EQ(violation->point, 0);
  EXPECT_EQ(violation->input, 2);
}

TEST(WrongInput, OfTheEarliestStepIsTheOneReportedWhateverRanFirst) {
  Execution run({graph_of("no_comm")}, Validation::sample, Isa::automatic);
  std::vector<std::byte> output(16);
  for (const auto& [worker, step] : {std::pair{0U, 9}, {1U, 5}, {1U, 2}, {2U, 3}})
    run.execute_point(run.context(worker), 0, step, 4, output.data(), {});
  EXPECT_EQ(run.verify().value().text(), "missing_input: graph 0, step 2, point 4, input 0: expected (1, 4), got none");
}

TEST(WrongInput, OverwrittenByTheTaskItselfIsCaughtInFull) {
  Execution run({{.pattern = "no_comm", .steps = 2, .width = 1}}, Validation::full, Isa::automatic);
  Bytes only(16);
  run.execute_point(run.context(0), 0, 0, 0, only.data(), {});
  const std::byte* const inputs[] = {only.data()};
  run.execute_point(run.context(0), 0, 1, 0, only.data(), inputs);
  EXPECT_EQ(run.verify().value().text(), "overwritten: graph 0, step 1, point 0, input 0: expected (0, 0), got (1, 0)");
}

}  // namespace
}  // namespace taskgrain
