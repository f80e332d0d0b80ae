/// The look-up table of tasks: what it says must let a system run the tasks in any order that it allows, in parallel.

#include "taskgrain/task_table.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "specs.hpp"

namespace taskgrain {
namespace {

class TaskTables : public EveryPattern {};

/// The tasks of a graph in an order of steps, and for each all those that have ended when it begins.
class History {
 public:
  explicit History(const TaskTable& table) : width_(static_cast<std::size_t>(table.graph().width())) {
    for_tasks(table.graph(), [&](std::int64_t step, std::int64_t point) {
      Bits& ended = ended_[number(step, point)];
      ended.resize(width_ * static_cast<std::size_t>(table.graph().steps()) / 64 + 1);
      const auto add = [&](std::int64_t back, std::int64_t other) {
        const std::size_t before = number(step - back, other);
        ended[before / 64] |= std::uint64_t{1} << before % 64;
        const Bits& earlier = ended_[before];
        for (std::size_t word = 0; word < earlier.size(); ++word) ended[word] |= earlier[word];
      };
      for (const std::int64_t other : table(step, point).before) add(1, other);
      for (const std::int64_t other : table(step, point).far_before) add(table.far(), other);
    });
  }

  std::size_t number(std::int64_t step, std::int64_t point) const {
    return static_cast<std::size_t>(step) * width_ + static_cast<std::size_t>(point);
  }
  bool ended(std::size_t task, std::size_t at) { return (ended_[at][task / 64] >> task % 64 & 1) != 0; }

 private:
  using Bits = std::vector<std::uint64_t>;

  std::size_t width_;
  std::map<std::size_t, Bits> ended_;
};

/// Tables of a pattern's graphs: those of two steps, deep ones, and less deep ones. With more steps than are kept.
template <typename Body>
void for_tables(std::string_view pattern, const Body& body) {
  struct {
    std::int64_t steps, cores, most_tasks;
    std::size_t output_bytes;
  } const cases[] = {{0, 0, 300, 16}, {40, 3, 400, 16}, {20, 2, 200, 700}, {13, 1, 150, 1500}};
  for (GraphSpec spec : specs(pattern)) {
    const bool is_first = spec.steps == 1 || !spec.dag.empty();  // of those that differ in their steps alone
    for (const auto& one : cases) {
      if (one.steps > 0 && !is_first) break;
      if (one.steps > 0 && spec.dag.empty()) spec.steps = one.steps;
      spec.output_bytes = one.output_bytes;
      const Graph graph(spec);
      if (graph.tasks() > one.most_tasks) continue;
      SCOPED_TRACE(described(spec));
      body(TaskTable(graph, one.cores));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(TaskTables, OrderAllUsesOfAnOutput) {
  for_tables(GetParam(), [](const TaskTable& table) {
    const Graph& graph = table.graph();
    History history(table);
    std::map<const std::byte*, std::size_t> writer;
    std::map<const std::byte*, std::set<std::size_t>> users;  // since it was written, the writer among them
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      const std::size_t task = history.number(step, point);
      const auto& [output, inputs, before, far_before] = table(step, point);
      std::size_t number = 0;
      for (const std::int64_t other : points_of(graph.deps(step, point))) {
        const std::byte* input = inputs[number++];
        ASSERT_TRUE(writer.contains(input)) << step << ", " << point << " reads what nobody writes";
        ASSERT_EQ(writer[input], history.number(step - 1, other))
            << step << ", " << point << " reads what another task writes";
        ASSERT_TRUE(history.ended(writer[input], task)) << step << ", " << point << " may read too early";
        users[input].insert(task);
      }
      ASSERT_EQ(number, inputs.size());
      for (const std::size_t user : std::exchange(users[output], {task}))
        ASSERT_TRUE(history.ended(user, task))
            << step << ", " << point << " may overwrite what task " << user << " uses";
      writer[output] = task;
    });
  });
}

TEST_P(TaskTables, SayWhatComesAfterATaskAsTheySayWhatComesBefore) {
  for_tables(GetParam(), [](const TaskTable& table) {
    const Graph& graph = table.graph();
    using Edge = std::array<std::int64_t, 4>;
    std::set<Edge> before, after;
    std::set<std::pair<std::int64_t, std::int64_t>> roots, said;
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      for (const std::int64_t other : table(step, point).before) before.insert({step, 1, other, point});
      for (const std::int64_t other : table.after(step, point)) after.insert({step + 1, 1, point, other});
      for (const std::int64_t other : table(step, point).far_before) before.insert({step, table.far(), other, point});
      for (const std::int64_t other : table.far_after(step, point))
        after.insert({step + table.far(), table.far(), point, other});
      if (table(step, point).before.empty() && table(step, point).far_before.empty()) roots.insert({step, point});
    });
    for (const auto& [step, point] : table.roots()) said.insert({step, point});
    EXPECT_EQ(before, after);
    EXPECT_EQ(roots, said);
  });
}

TEST_P(TaskTables, SayWhichCoresOwnWhatComesAfterATask) {
  for (const GraphSpec& spec : specs(GetParam())) {
    const Graph graph(spec);
    if (graph.tasks() > 300) continue;
    SCOPED_TRACE(described(spec));
    const TaskTable table(graph, 3);
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      std::vector<std::int64_t> next, far;
      std::pair<std::int64_t, int> last{0, -1};
      table.each_after_by_core(step, point, [&](int core, std::int64_t at, std::span<const std::int64_t> points) {
        EXPECT_LT(last, std::pair(at, core));
        EXPECT_FALSE(points.empty());
        last = {at, core};
        for (const std::int64_t other : points) {
          EXPECT_EQ(table.owner(other), core);
          (at == step + 1 ? next : far).push_back(other);
        }
        EXPECT_TRUE(at == step + 1 || at == step + table.far());
      });
      EXPECT_THAT(next, testing::ElementsAreArray(table.after(step, point)));
      EXPECT_THAT(far, testing::ElementsAreArray(table.far_after(step, point)));
    });
  }
}

TEST(TaskTable, KeepsMoreStepsWhileOutputsAreSmall) {
  const auto far = [](std::string pattern, std::size_t bytes, std::int64_t cores) {
    return TaskTable(Graph({.pattern = std::move(pattern), .steps = 100, .width = 16, .output_bytes = bytes}), cores)
        .far();
  };
  EXPECT_EQ(far("stencil_1d", 16, 2), 8);
  EXPECT_EQ(far("tree", 16, 2), 8);
  EXPECT_EQ(far("tree", 256, 2), 8);
  EXPECT_EQ(far("tree", 512, 2), 4);
  EXPECT_EQ(far("tree", 1024, 2), 2);
  EXPECT_EQ(far("tree", 2048, 2), 0);
  EXPECT_EQ(far("tree", 2048, 16), 8);
  EXPECT_EQ(far("tree", 16, 0), 0);
  EXPECT_EQ(far("dom", 16, 2), 0) << "points that are missing later";
}

TEST(TaskTable, LeavesOutWhatTheStepsBetweenImply) {
  const auto far_before = [](std::string pattern, std::int64_t step, std::int64_t point) {
    const TaskTable table(Graph({.pattern = std::move(pattern), .steps = 40, .width = 16}), 2);
    EXPECT_EQ(table.far(), 8);
    return table(step, point).far_before.size();
  };
  EXPECT_EQ(far_before("stencil_1d", 16, 5), 0U);
  EXPECT_EQ(far_before("all_to_all", 16, 5), 0U);
  EXPECT_EQ(far_before("tree", 16, 5), 2U) << "a task comes before those that read it, and these never before it";
}

TEST(Outputs, OfTwoCoresLieApart) {
  for (const std::int64_t width : {1, 2, 3, 7, 16})
    for (const std::int64_t cores : {1, 2, 3, 5}) {
      const Graph graph({.steps = 20, .width = width, .output_bytes = 20});
      const Outputs outputs(graph, 4, cores);
      std::map<const std::byte*, std::int64_t> owners;
      for (std::int64_t step = 0; step < 4; ++step)
        for (std::int64_t point = 0; point < width; ++point)
          owners[outputs.at(step, point)] = Outputs::owner(graph, point, cores);
      ASSERT_EQ(owners.size(), static_cast<std::size_t>(4 * width));
      const std::byte* end = outputs.memory().data();
      for (auto last = owners.begin(), it = owners.begin(); it != owners.end(); last = it++) {
        ASSERT_GE(it->first - end, last->second == it->second ? 0 : 2048);
        end = it->first + 20;
      }
      EXPECT_LE(end, outputs.memory().data() + outputs.memory().size());
    }
}

INSTANTIATE_TEST_SUITE_P(All, TaskTables, testing::ValuesIn(pattern_names()), name_of_pattern);

}  // namespace
}  // namespace taskgrain
