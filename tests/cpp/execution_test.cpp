/// Validation by mutation: a small executor that runs any graph right, and every way of running it wrong. Each must be caught, as
/// what it is and where it is; and nothing that is right may be.

#include "taskgrain/execution.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "specs.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Task = std::array<std::int64_t, 2>;  // (step, point)

/// A task as the executor is about to run it.
struct Call {
  std::size_t graph;
  std::int64_t step, point;
  std::vector<Bytes> inputs;
  int times = 1;
};

/// Executes the graphs of a run step by step, every task with its own copies of its inputs. `change` may spoil a call.
class Executor {
 public:
  explicit Executor(Execution& run) : run_(run) {
    for (const Graph& graph : run.graphs()) {
      auto& outputs = outputs_.emplace_back();
      for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
        outputs[{step, point}] = Bytes(graph.output_bytes(), std::byte{0xff});
      });
    }
  }

  void execute(const std::function<void(Call&)>& change = [](Call&) {}) {
    for (std::int64_t step = 0; step < run_.most_steps(); ++step) {
      for (std::size_t g = 0; g < outputs_.size(); ++g) {
        const Interval points = run_.graphs()[g].points(step);
        for (std::int64_t point = points.first; point <= points.last; ++point) {
          Call call{g, step, point, inputs(g, step, point)};
          change(call);
          for (int n = 0; n < call.times; ++n) execute(run_.worker(0), call);
        }
      }
    }
  }

  void execute(Worker& worker, const Call& call) {
    Bytes output(run_.graphs()[call.graph].output_bytes());
    execute(worker, call, output);
    outputs_[call.graph][{call.step, call.point}] = output;
  }
  void execute(Worker& worker, const Call& call, Bytes& output) const {
    std::vector<const std::byte*> inputs;
    for (const Bytes& input : call.inputs) inputs.push_back(input.data());
    run_.execute_point(worker, call.graph, call.step, call.point, output.data(), inputs);
  }

  /// Copies of what the task depends on, as it is now.
  std::vector<Bytes> inputs(std::size_t g, std::int64_t step, std::int64_t point) const {
    std::vector<Bytes> copies;
    for (const std::int64_t dep : points_of(run_.graphs()[g].deps(step, point))) copies.push_back(outputs_[g].at({step - 1, dep}));
    return copies;
  }

 private:
  Execution& run_;
  std::vector<std::map<Task, Bytes>> outputs_;
};

/// What a task writes, by definition: (step, point) over and over, the graph, counted from 1, in the bytes above the fifth of the step.
Bytes output_of(std::int64_t graph, std::int64_t step, std::int64_t point, std::size_t bytes) {
  const std::int64_t cell[] = {step + (graph + 1) * 0x100'0000'0000, point};
  Bytes output(bytes);
  for (std::size_t k = 0; k < bytes; ++k) output[k] = reinterpret_cast<const std::byte*>(cell)[k % sizeof cell];
  return output;
}

constexpr std::size_t sizes[] = {16, 17, 40, 4096, 65536 + 8};

GraphSpec graph_of(std::string_view pattern, std::size_t output_bytes = 16) {
  if (pattern == "dag") return {.pattern = "dag", .dag = random_dag_file(5), .output_bytes = output_bytes};
  return {.pattern = std::string(pattern), .steps = 12, .width = 6, .fraction = 0.6, .output_bytes = output_bytes};
}

/// The first task from `first_step` on with at least that many dependences and readers.
std::optional<Task> task_with(const Graph& graph, std::int64_t deps, std::int64_t readers = 0, std::int64_t first_step = 4) {
  std::optional<Task> found;
  for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
    if (!found && step >= first_step && graph.deps(step, point).count() >= deps &&
        graph.reverse_deps(step, point).count() >= readers)
      found = {step, point};
  });
  return found;
}

// ---- what is right

class RightExecutions : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, RightExecutions, testing::ValuesIn(pattern_names()),
                         name_of_pattern);

TEST_P(RightExecutions, AreNeverFlagged) {
  for (const Validation validation : {Validation::off, Validation::sample, Validation::full}) {
    for (const std::size_t bytes : sizes) {
      Execution run({graph_of(GetParam(), bytes), graph_of("stencil_1d", 32), graph_of(GetParam(), 16)}, validation, Isa::automatic);
      Executor executor(run);
      for (int repeat = 0; repeat < 2; ++repeat) {
        run.clear();
        executor.execute();
        const auto violation = run.verify();
        ASSERT_FALSE(violation) << violation->text() << " at " << bytes << " bytes";
        ASSERT_EQ(run.accounts().executed, run.tasks());
      }
    }
  }
}

TEST_P(RightExecutions, AreNeverFlaggedHoweverManyTheRepeats) {
  Execution run({graph_of(GetParam())}, Validation::full, Isa::automatic);
  Executor executor(run);
  for (int repeat = 0; repeat < 300; ++repeat) {  // marks are bytes, which run over at 255
    run.clear();
    executor.execute();
    ASSERT_FALSE(run.verify()) << "repeat " << repeat;
  }
}

// ---- what is wrong with one input of one task

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
       return {ViolationKind::missing_input, -1};
     }},
    {"no_inputs", 2, true,
     [](auto& inputs, const Graph&, Task, const auto&) -> Finding {
       inputs.clear();
       return {ViolationKind::missing_input, -1};
     }},
    {"surplus_input", 0, true,
     [](auto& inputs, const Graph& graph, Task task, const auto&) -> Finding {
       inputs.push_back(output_of(graph.index(), task[0] - 1, 0, graph.output_bytes()));
       return {ViolationKind::surplus_input, -1};
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
      if (mutation.apply(inputs, graph, *task, deps).kind != ViolationKind::skipped) found.emplace_back(mutation, pattern);
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
  const Task producer = finding.input < 0 ? Task{-1, -1} : Task{victim[0] - 1, deps[static_cast<std::size_t>(finding.input)]};
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
    Execution run({{.pattern = "no_comm", .steps = 101, .width = 6, .output_bytes = 1024}}, Validation::sample, Isa::automatic);
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

TEST(WrongInput, OverwrittenByTheTaskItselfIsCaughtInFull) {
  Execution run({{.pattern = "no_comm", .steps = 2, .width = 1}}, Validation::full, Isa::automatic);
  Bytes only(16);
  run.execute_point(run.worker(0), 0, 0, 0, only.data(), {});
  const std::byte* const inputs[] = {only.data()};
  run.execute_point(run.worker(0), 0, 1, 0, only.data(), inputs);
  EXPECT_EQ(run.verify().value().text(), "overwritten: graph 0, step 1, point 0, input 0: expected (0, 0), got (1, 0)");
}

// ---- what is wrong with the tasks

class WrongTasks : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, WrongTasks, testing::ValuesIn(pattern_names()),
                         name_of_pattern);

constexpr Validation checking[] = {Validation::sample, Validation::full};

void expect_violation(const Execution& run, ViolationKind kind, std::int64_t graph, Task task) {
  const auto violation = run.verify();
  ASSERT_TRUE(violation) << "not caught";
  EXPECT_EQ(name(violation->kind), name(kind)) << violation->text();
  EXPECT_EQ(violation->graph, graph);
  EXPECT_EQ((Task{violation->step, violation->point}), task);
}

TEST_P(WrongTasks, SkippedIsCaughtByTheTaskThatNeedsIt) {
  for (const Validation validation : checking) {
    Execution run({graph_of(GetParam())}, validation, Isa::automatic);
    const auto skipped = task_with(run.graphs()[0], 0, 1);
    if (!skipped) GTEST_SKIP() << "no task is needed by another";
    Executor executor(run);
    for (int repeat = 0; repeat < 2; ++repeat) {  // in the second its output is that of the repeat before
      run.clear();
      executor.execute([&](Call& call) {
        if (repeat == 1 && Task{call.step, call.point} == *skipped) call.times = 0;
      });
      if (repeat == 0) {
        ASSERT_FALSE(run.verify());
      }
    }
    const auto violation = run.verify();
    ASSERT_TRUE(violation) << "not caught";
    if (validation == Validation::sample) {  // right bytes: only the account can tell
      expect_violation(run, ViolationKind::skipped, 0, *skipped);
    } else {
      EXPECT_EQ(violation->kind, ViolationKind::early);
      EXPECT_EQ(violation->step, (*skipped)[0] + 1);
      EXPECT_EQ(violation->expected, *skipped);
    }
  }
}

TEST_P(WrongTasks, SkippedIsCaughtThoughNobodyNeedsIt) {
  for (const Validation validation : checking) {
    Execution run({graph_of("stencil_1d"), graph_of(GetParam()), graph_of(GetParam())}, validation, Isa::automatic);
    const Graph& graph = run.graphs()[1];
    const Task last{graph.steps() - 1, graph.points(graph.steps() - 1).last};
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.graph == 1 && Task{call.step, call.point} == last) call.times = 0;
    });
    expect_violation(run, ViolationKind::skipped, 1, last);
  }
}

TEST_P(WrongTasks, RunTwiceIsCaught) {
  for (const Validation validation : checking) {
    Execution run({graph_of(GetParam()), graph_of(GetParam())}, validation, Isa::automatic);
    const auto twice = task_with(run.graphs()[1], 0);
    ASSERT_TRUE(twice);
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.graph == 1 && Task{call.step, call.point} == *twice) call.times = 2;
    });
    expect_violation(run, ViolationKind::repeated, 1, *twice);
  }
}

TEST_P(WrongTasks, TwiceForOneThatIsSkippedIsCaught) {
  Execution run({graph_of(GetParam())}, Validation::sample, Isa::automatic);
  const Graph& graph = run.graphs()[0];
  const Task last{graph.steps() - 1, graph.points(graph.steps() - 1).first};
  Executor executor(run);
  executor.execute([&](Call& call) {
    if (Task{call.step, call.point} == last) call.times = 0;
    if (Task{call.step, call.point} == Task{0, graph.points(0).first}) call.times = 2;
  });
  EXPECT_EQ(run.accounts().executed, run.tasks());
  expect_violation(run, ViolationKind::repeated, 0, {0, graph.points(0).first});
}

TEST_P(WrongTasks, OutsideTheGraphIsCaughtInEveryMode) {
  for (const Validation validation : {Validation::off, Validation::sample, Validation::full}) {
    Execution run({graph_of(GetParam())}, validation, Isa::automatic);
    const Graph& graph = run.graphs()[0];
    const std::int64_t steps = graph.steps(), after = graph.points(0).last + 1, before = graph.points(0).first - 1;
    for (const Task task : {Task{steps, 0}, Task{-1, 0}, Task{0, after}, Task{0, before}, Task{0, -1}}) {
      run.clear();
      Executor(run).execute();
      Bytes output(16);
      run.execute_point(run.worker(0), 0, task[0], task[1], output.data(), {});
      expect_violation(run, ViolationKind::no_such_task, 0, task);
    }
  }
}

TEST_P(WrongTasks, EarlyIsCaughtInFullThoughTheBytesAreRight) {
  Execution run({graph_of(GetParam())}, Validation::full, Isa::automatic);
  const auto early = task_with(run.graphs()[0], 1);
  if (!early) GTEST_SKIP() << "nothing depends on anything";
  Executor executor(run);
  executor.execute();
  ASSERT_FALSE(run.verify());
  run.clear();
  // The second repeat begins with the victim, whose inputs still hold what the first has written.
  const auto [step, point] = *early;
  executor.execute(run.worker(0), Call{0, step, point, executor.inputs(0, step, point)});
  executor.execute([&](Call& call) {
    if (Task{call.step, call.point} == *early) call.times = 0;
  });
  expect_violation(run, ViolationKind::early, 0, *early);
  EXPECT_EQ(run.violation()->input, 0);
  EXPECT_EQ(run.violation()->expected, run.violation()->got);
}

TEST_P(WrongTasks, EarlyIsCaughtByItsBytesInTheFirstRepeat) {
  for (const Validation validation : checking) {
    Execution run({graph_of(GetParam())}, validation, Isa::automatic);
    const auto early = task_with(run.graphs()[0], 1);
    if (!early) GTEST_SKIP() << "nothing depends on anything";
    Executor executor(run);
    const auto [step, point] = *early;
    executor.execute(run.worker(0), Call{0, step, point, executor.inputs(0, step, point)});
    expect_violation(run, ViolationKind::wrong_bytes, 0, *early);
  }
}

TEST_P(WrongTasks, AWholeGraphThatIsSkippedIsCaught) {
  for (const Validation validation : checking) {
    Execution run({graph_of("stencil_1d"), graph_of(GetParam()), graph_of("fft")}, validation, Isa::automatic);
    Executor executor(run);
    executor.execute([&](Call& call) {
      if (call.graph == 1) call.times = 0;
    });
    expect_violation(run, ViolationKind::skipped, 1, {0, run.graphs()[1].points(0).first});
  }
}

TEST(Threads, OneTaskByTwoIsCaughtWheneverTheyMeet) {
  Execution run({{.pattern = "trivial", .steps = 50, .width = 2}}, Validation::sample, Isa::automatic);
  for (int repeat = 0; repeat < 50; ++repeat) {
    run.clear();
    const auto execute_all = [&](std::size_t worker) {
      Bytes output(16);
      for (std::int64_t step = 0; step < 50; ++step)
        for (const std::int64_t point : {0, 1})
          if (point == static_cast<std::int64_t>(worker) || step == 25)  // both run the tasks of step 25
            run.execute_point(run.worker(worker), 0, step, point, output.data(), {});
    };
    std::jthread(execute_all, 0), std::jthread(execute_all, 1);
    const auto violation = run.verify();
    ASSERT_TRUE(violation);
    ASSERT_EQ(violation->kind, ViolationKind::repeated);
  }
}

/// The number of executions is right then, and the marks cannot tell: both threads may find the task unmarked.
TEST(Threads, OneTaskByTwoForOneThatIsSkippedIsCaughtWheneverTheyMeet) {
  constexpr std::int64_t repeats = 50'000;
  Execution run({{.pattern = "trivial", .steps = 1, .width = 2}}, Validation::sample, Isa::automatic);
  Worker* const workers[] = {&run.worker(0), &run.worker(1)};
  std::atomic<std::int64_t> begun{0}, ended{0};
  const auto wait = [](const std::atomic<std::int64_t>& number, std::int64_t wanted) {
    for (int looks = 0; number < wanted; ++looks)
      if (looks > 1000) std::this_thread::yield();
  };
  const std::jthread other([&] {
    Bytes output(16);
    for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
      wait(begun, repeat);
      run.execute_point(*workers[1], 0, 0, 0, output.data(), {});
      ended = repeat;
    }
  });
  Bytes output(16);
  std::int64_t missed = 0;
  for (std::int64_t repeat = 1; repeat <= repeats; ++repeat) {
    run.clear();
    begun = repeat;
    for (std::int64_t delay = repeat % 64; delay > 0; --delay) asm volatile("");  // they meet at one of these
    run.execute_point(*workers[0], 0, 0, 0, output.data(), {});
    wait(ended, repeat);
    if (!run.verify()) ++missed;
  }
  EXPECT_EQ(missed, 0) << "of " << repeats;
}

TEST(Threads, TheirAccountsAddUp) {
  Execution run({{.pattern = "trivial", .steps = 1000, .width = 4, .kernel = {.kind = KernelKind::compute_bound, .iterations = 3}}},
                Validation::full, Isa::automatic);
  {
    std::vector<std::jthread> threads;
    for (std::int64_t point = 0; point < 4; ++point) {
      threads.emplace_back([&run, point] {
        Worker& worker = run.worker(static_cast<std::size_t>(point));
        Bytes output(16);
        for (std::int64_t step = 0; step < 1000; ++step) run.execute_point(worker, 0, step, point, output.data(), {});
      });
    }
  }
  EXPECT_FALSE(run.verify());
  EXPECT_EQ(run.accounts().executed, 4000);
  EXPECT_EQ(run.accounts().flops, 4000.0 * 3 * 128);
}

// ---- what is counted

TEST(Accounts, AreThoseOfTheLastRepeat) {
  Execution run({{.pattern = "stencil_1d", .steps = 10, .width = 4, .kernel = {.kind = KernelKind::busy_wait, .iterations = 7}},
                 {.pattern = "all_to_all", .steps = 5, .width = 3}},
                Validation::sample, Isa::automatic);
  Executor executor(run);
  for (int repeat = 0; repeat < 3; ++repeat) {
    run.clear();
    executor.execute();
  }
  const Accounts accounts = run.accounts();
  EXPECT_EQ(accounts.executed, 55);
  EXPECT_EQ(accounts.dependencies, 9 * 10 + 4 * 9);
  EXPECT_EQ(accounts.work, 40.0 * 7);
  EXPECT_EQ(accounts.flops, 0);
  EXPECT_EQ(accounts.bytes, 0);
}

TEST(Accounts, WorkIsBytesForMemoryKernels) {
  const KernelSpec kernel{.kind = KernelKind::memory_bound, .iterations = 2, .scratch_bytes = 16 << 10};
  Execution run({{.pattern = "trivial", .steps = 3, .width = 2, .kernel = kernel}}, Validation::off, Isa::automatic);
  Executor(run).execute();
  EXPECT_EQ(run.accounts().bytes, 6 * 2 * 1024.0);
  EXPECT_EQ(run.accounts().work, run.accounts().bytes);
}

TEST(ValidationOff, ChecksNoInputs) {
  Execution run({graph_of("stencil_1d")}, Validation::off, Isa::automatic);
  Executor(run).execute([](Call& call) { call.inputs.assign(call.inputs.size(), Bytes(16)); });
  EXPECT_FALSE(run.verify());
}

TEST(ValidationOff, StillCounts) {
  Execution run({graph_of("stencil_1d")}, Validation::off, Isa::automatic);
  const auto with_times = [&](int times) {
    run.clear();
    Executor(run).execute([&](Call& call) {
      if (call.step == 7 && call.point == 3) call.times = times;
    });
    return run.verify();
  };
  EXPECT_FALSE(with_times(1));
  EXPECT_EQ(with_times(0).value().kind, ViolationKind::skipped);
  EXPECT_EQ(with_times(2).value().kind, ViolationKind::repeated);
}

// ---- several processes

TEST(Distributed, ProducersElsewhereHaveNoMarkHere) {
  for (const bool distributed : {false, true}) {
    Execution run({{.pattern = "no_comm", .steps = 2, .width = 2}}, Validation::full, Isa::automatic);
    if (distributed) run.distribute();
    Executor executor(run);
    executor.execute(run.worker(0), Call{0, 1, 0, {output_of(0, 0, 0, 16)}});
    EXPECT_EQ(run.violation().has_value(), !distributed);
  }
}

// ---- specifications and names

TEST(Execution, FillsAnOutputToItsLastByteAndNotBeyond) {
  for (const std::size_t bytes : sizes) {
    Execution run({{.pattern = "trivial", .output_bytes = bytes}}, Validation::off, Isa::automatic);
    Bytes output(bytes + 16, std::byte{0x55});
    run.execute_point(run.worker(0), 0, 3, 2, output.data(), {});
    Bytes expected = output_of(0, 3, 2, bytes);
    expected.resize(bytes + 16, std::byte{0x55});
    EXPECT_EQ(output, expected) << bytes;
  }
}

TEST(Execution, OfNoGraphsIsRefused) { EXPECT_THROW(Execution({}, Validation::off, Isa::automatic), InvalidSpec); }

TEST(Execution, OfKernelsWithoutACommonUnitIsRefused) {
  const GraphSpec flops{.kernel = {.kind = KernelKind::compute_bound}}, bytes{.kernel = {.kind = KernelKind::memory_bound}};
  EXPECT_THROW(Execution({flops, bytes}, Validation::off, Isa::automatic), InvalidSpec);
  EXPECT_NO_THROW(Execution({flops, {.kernel = {.kind = KernelKind::load_imbalance}}}, Validation::off, Isa::automatic));
}

TEST(Execution, KnowsItsLongestGraphAndAllItsTasks) {
  const Execution run({{.steps = 3, .width = 2}, {.pattern = "tree", .steps = 5, .width = 4}}, Validation::off, Isa::automatic);
  EXPECT_EQ(run.most_steps(), 5);
  EXPECT_EQ(run.tasks(), 6 + 1 + 2 + 4 + 4 + 4);
}

TEST(Execution, MoreTasksThan2To63InAllAreRefused) {
  const GraphSpec half{.pattern = "trivial", .steps = std::int64_t{1} << 62, .width = 1};
  EXPECT_THROW(Execution({half, half, half}, Validation::off, Isa::automatic), std::exception);
}

TEST(ValidationNames, AreKnownAndNoOthers) {
  EXPECT_EQ(validation_from_name("off"), Validation::off);
  EXPECT_EQ(validation_from_name("sample"), Validation::sample);
  EXPECT_EQ(validation_from_name("full"), Validation::full);
  EXPECT_THROW(validation_from_name("Full"), InvalidSpec);
}

TEST(ViolationText, SaysEverythingInOneSentence) {
  const Violation violation{ViolationKind::wrong_producer, 2, 12, 3, 1, {11, 4}, {11, 5}};
  EXPECT_EQ(violation.text(), "wrong_producer: graph 2, step 12, point 3, input 1: expected (11, 4), got (11, 5)");
}

}  // namespace
}  // namespace taskgrain
