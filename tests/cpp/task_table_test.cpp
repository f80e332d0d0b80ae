/// The look-up table of tasks: what it says must let a system run the tasks in any order that it allows, in parallel.

#include "taskgrain/task_table.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "specs.hpp"

namespace taskgrain {
namespace {

constexpr std::int64_t most_tasks = 300;

class TaskTables : public EveryPattern {};

/// The tasks of a graph in an order of steps, and for each all those that have ended when it begins.
class History {
 public:
  explicit History(const TaskTable& table) : width_(static_cast<std::size_t>(table.graph().width())) {
    for_tasks(table.graph(), [&](std::int64_t step, std::int64_t point) {
      std::vector<bool>& ended = ended_[number(step, point)];
      ended.resize(width_ * static_cast<std::size_t>(table.graph().steps()));
      for (const std::int64_t other : table(step, point).before) {
        const std::size_t before = number(step - 1, other);
        ended[before] = true;
        for (std::size_t n = 0; n < before; ++n) ended[n] = ended[n] || ended_[before][n];
      }
    });
  }

  std::size_t number(std::int64_t step, std::int64_t point) const {
    return static_cast<std::size_t>(step) * width_ + static_cast<std::size_t>(point);
  }
  bool ended(std::size_t task, std::size_t at) { return ended_[at][task]; }

 private:
  std::size_t width_;
  std::map<std::size_t, std::vector<bool>> ended_;
};

TEST_P(TaskTables, OrderAllUsesOfAnOutput) {
  for_graphs(GetParam(), [](const Graph& graph) {
    if (graph.tasks() > most_tasks) return;
    const TaskTable table(graph);
    History history(table);
    std::map<const std::byte*, std::size_t> writer;
    std::map<const std::byte*, std::set<std::size_t>> users;  // since it was written, the writer among them
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      const std::size_t task = history.number(step, point);
      const auto& [output, inputs, before] = table(step, point);
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
  for_graphs(GetParam(), [](const Graph& graph) {
    if (graph.tasks() > most_tasks) return;
    const TaskTable table(graph);
    using Edge = std::array<std::int64_t, 3>;
    std::set<Edge> before, after;
    std::set<std::pair<std::int64_t, std::int64_t>> roots, said;
    for_tasks(graph, [&](std::int64_t step, std::int64_t point) {
      for (const std::int64_t other : table(step, point).before) before.insert({step, other, point});
      for (const std::int64_t other : table.after(step, point)) after.insert({step + 1, point, other});
      if (table(step, point).before.empty()) roots.insert({step, point});
    });
    for (const auto& [step, point] : table.roots()) said.insert({step, point});
    EXPECT_EQ(before, after);
    EXPECT_EQ(roots, said);
  });
}

INSTANTIATE_TEST_SUITE_P(All, TaskTables, testing::ValuesIn(pattern_names()), name_of_pattern);

}  // namespace
}  // namespace taskgrain
