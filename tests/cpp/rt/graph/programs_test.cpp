/// What compilers write, as data: the least that keeps all edges.

#include <gmock/gmock.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "graph/graph_compiler.hpp"
#include "graph/program.hpp"

namespace taskgrain::rt::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The waits of a record, and its signals.
template <typename One, typename End>
std::vector<One> part(const InOrderProgram& program, const std::vector<One>& all, std::size_t record, End end) {
  const std::uint32_t begin = record == 0 ? 0 : program.records[record - 1].*end;
  return {all.begin() + begin, all.begin() + program.records[record].*end};
}
std::vector<Wait> waits(const InOrderProgram& program, std::size_t record) {
  return part(program, program.waits, record, &InOrderRecord::waits_end);
}
std::vector<Signal> signals(const InOrderProgram& program, std::size_t record) {
  return part(program, program.signals, record, &InOrderRecord::signals_end);
}
template <typename Program>
std::vector<std::uint32_t> nodes(const Program& program) {
  std::vector<std::uint32_t> nodes;
  for (const auto& record : program.records) nodes.push_back(record.node);
  return nodes;
}

class Programs : public testing::Test {
 protected:
  TaskGraph::Node task(int worker) {
    return tasks_.task(worker, [] {});
  }
  TaskGraph::Node device_task(int worker) {
    return tasks_.async_task<int>(worker, [](const Turn&, const Issue<int>&) -> int { return {}; });
  }
  void edges(std::initializer_list<std::pair<TaskGraph::Node, TaskGraph::Node>> all) {
    for (const auto& [from, to] : all) tasks_.edge(from, to);
  }
  InOrderPrograms in_order() {
    Compiler graph(std::move(tasks_), 3, statistics_);
    return compile_in_order(graph, statistics_);
  }
  QueuedPrograms queued() {
    Compiler graph(std::move(tasks_), 3, statistics_);
    return compile_queued(graph, statistics_);
  }

  TaskGraph tasks_{"graph"};
  CompileStatistics statistics_;
};

using ProgramsInOrder = Programs;
using ProgramsQueued = Programs;

TEST_F(ProgramsInOrder, OfOneWorkerHaveNeitherWaitsNorSignals) {
  const auto a = task(0), b = task(0);
  tasks_.edge(b, a);
  tasks_.carried_edge(a, b);
  const auto programs = in_order();
  EXPECT_THAT(nodes(programs.workers[0]), ElementsAre(b.index, a.index));
  EXPECT_THAT(programs.workers[0].waits, IsEmpty());
  EXPECT_THAT(programs.workers[0].signals, IsEmpty());
  EXPECT_THAT(programs.channels, IsEmpty());
}

TEST_F(ProgramsInOrder, HaveAWaitAndASignalForAnEdge) {
  const auto a = task(0), b = task(1);
  tasks_.edge(a, b);
  const auto programs = in_order();
  EXPECT_THAT(programs.channels, ElementsAre(ChannelEnds{0, {1}}));
  EXPECT_THAT(signals(programs.workers[0], 0), ElementsAre(Signal{1, 1, 0}));
  EXPECT_THAT(waits(programs.workers[1], 0), ElementsAre(Wait{1, 1, 0, false}));
}

/// a1 a2 a3 of worker 0, b1 b2 b3 of worker 1: a3 → b1 says all that a1 → b2 and a2 → b3 say.
TEST_F(ProgramsInOrder, LeaveOutWhatEarlierWaitsImply) {
  const auto a1 = task(0), a2 = task(0), a3 = task(0), b1 = task(1), b2 = task(1), b3 = task(1);
  edges({{a1, a2}, {a2, a3}, {b1, b2}, {b2, b3}, {a3, b1}, {a1, b2}, {a2, b3}});
  const auto programs = in_order();
  EXPECT_THAT(programs.workers[0].signals, ElementsAre(Signal{1, 1, 0}));
  EXPECT_THAT(signals(programs.workers[0], 2), ElementsAre(Signal{1, 1, 0}));
  EXPECT_THAT(programs.workers[1].waits, ElementsAre(Wait{1, 1, 0, false}));
  EXPECT_EQ(statistics_.messages, 1U);
}

/// Of several at once, the latest.
TEST_F(ProgramsInOrder, WaitForTheLatestAlone) {
  const auto a1 = task(0), a2 = task(0), a3 = task(0), b1 = task(1), b2 = task(1);
  edges({{a1, a2}, {a2, a3}, {b1, b2}, {a2, b1}, {a1, b1}, {a3, b2}});
  const auto programs = in_order();
  EXPECT_THAT(signals(programs.workers[0], 0), IsEmpty());
  EXPECT_THAT(signals(programs.workers[0], 1), ElementsAre(Signal{1, 2, 0}));
  EXPECT_THAT(signals(programs.workers[0], 2), ElementsAre(Signal{2, 2, 0}));
  EXPECT_THAT(waits(programs.workers[1], 0), ElementsAre(Wait{1, 2, 0, false}));
  EXPECT_THAT(waits(programs.workers[1], 1), ElementsAre(Wait{2, 2, 0, false}));
}

/// b waits for the second of two values; carried, for that of the iteration before.
TEST_F(ProgramsInOrder, WaitForTheIterationBeforeWhereAnEdgeIsCarried) {
  const auto a1 = task(0), a2 = task(0), b1 = task(1), b2 = task(1);
  edges({{a1, a2}, {b1, b2}});
  tasks_.carried_edge(a2, b1);
  tasks_.edge(a1, b2);
  const auto programs = in_order();
  EXPECT_THAT(waits(programs.workers[1], 0), ElementsAre(Wait{0, 2, 0, false}));  // 2 of 2, one iteration ago
  EXPECT_THAT(waits(programs.workers[1], 1), ElementsAre(Wait{1, 2, 0, false}));
  EXPECT_EQ(statistics_.messages, 2U);
}

/// Whoever has waited for this iteration has waited for all of the one before.
TEST_F(ProgramsInOrder, LeaveOutCarriedWaitsThatOthersImply) {
  const auto a1 = task(0), a2 = task(0), b = task(1);
  edges({{a1, a2}, {a1, b}});
  tasks_.carried_edge(a2, b);
  const auto programs = in_order();
  EXPECT_THAT(programs.workers[1].waits, ElementsAre(Wait{1, 1, 0, false}));
  EXPECT_THAT(programs.workers[0].signals, ElementsAre(Signal{1, 1, 0}));
}

TEST_F(ProgramsInOrder, HaveAChannelForEachPairOfWorkers) {
  const auto a = task(0), b = task(1), c = task(2);
  edges({{a, b}, {a, c}, {b, c}});
  tasks_.carried_edge(c, a);
  const auto programs = in_order();
  // a → b → c says nothing of a → c between workers, but compiling has left out that edge.
  EXPECT_THAT(programs.channels, ElementsAre(ChannelEnds{0, {1}}, ChannelEnds{1, {2}}, ChannelEnds{2, {0}}));
  EXPECT_THAT(programs.workers[2].waits, ElementsAre(Wait{1, 1, 1, false}));
  EXPECT_THAT(programs.workers[0].waits, ElementsAre(Wait{0, 1, 2, false}));
}

/// An event and a device are waited for once in a program, whatever comes after them.
TEST_F(ProgramsInOrder, HaveChannelsForEventsAndDevices) {
  const auto event = tasks_.precondition();
  const auto kernel = device_task(0), a = task(1), b = task(1);
  const auto out = tasks_.postcondition();
  edges({{event, a}, {event, b}, {a, b}, {kernel, b}});
  tasks_.carried_edge(kernel, a);
  tasks_.edge(b, out);
  const auto programs = in_order();
  EXPECT_THAT(programs.channels, ElementsAre(ChannelEnds{-1, {0, 1}}, ChannelEnds{-1, {1}}));
  EXPECT_THAT(waits(programs.workers[1], 0), testing::UnorderedElementsAre(Wait{0, 1, 0, true}, Wait{1, 1, 1, true}));
  EXPECT_THAT(waits(programs.workers[1], 1), ElementsAre(Wait{1, 1, 0, true}));
  EXPECT_EQ(programs.workers[0].records[0].instruction, Instruction::issue);
  EXPECT_EQ(programs.workers[1].records[0].instruction, Instruction::run);
  EXPECT_EQ(programs.workers[1].records[2].instruction, Instruction::post);
}

/// A device task is issued after those before it have been: the device does the rest.
TEST_F(ProgramsInOrder, LeaveEdgesBetweenDeviceTasksToTheDevice) {
  const auto a = device_task(0), b = device_task(1), c = device_task(1);
  edges({{a, b}, {b, c}});
  tasks_.carried_edge(c, b);
  const auto programs = in_order();
  EXPECT_THAT(programs.devices.edges,
              ElementsAre(DeviceEdge{0, 1, false}, DeviceEdge{1, 2, false}, DeviceEdge{2, 1, true}));
  EXPECT_THAT(programs.devices.tasks[1].before, ElementsAre(0, 2));
  EXPECT_THAT(programs.devices.tasks[1].after, ElementsAre(1));
  EXPECT_THAT(programs.workers[1].waits, ElementsAre(Wait{1, 1, 3, false}));  // for the issue of a
}

TEST_F(ProgramsQueued, HaveAnArrivalForAnEdge) {
  const auto a = task(0), b = task(0), c = task(1);
  tasks_.edge(a, b);
  tasks_.edge(a, b);  // again
  tasks_.edge(b, c);
  tasks_.carried_edge(c, a);
  const auto programs = queued();
  EXPECT_THAT(nodes(programs.workers[0]), ElementsAre(a.index, b.index));
  EXPECT_THAT(programs.workers[0].indegree, ElementsAre(1, 1));
  EXPECT_THAT(programs.workers[1].indegree, ElementsAre(1));
  EXPECT_THAT(programs.workers[0].local, ElementsAre(1));
  EXPECT_THAT(programs.workers[0].remote, ElementsAre(Remote{0, 1}));
  EXPECT_THAT(programs.workers[1].remote, ElementsAre(Remote{0 | next_iteration, 0}));
  EXPECT_THAT(programs.workers[0].first,
              ElementsAre(Correction{0, -1}));  // nothing is carried into the first iteration
  EXPECT_THAT(programs.workers[0].second, IsEmpty());
  EXPECT_EQ(statistics_.messages, 2U);
}

TEST_F(ProgramsQueued, HaveRootsThatWaitForNothing) {
  const auto a = task(0), b = task(0);
  tasks_.edge(b, a);
  EXPECT_THAT(queued().workers[0].roots, ElementsAre(b.index));
}

/// An event comes in the first two iterations, which may overlap; those after them need not ask again.
TEST_F(ProgramsQueued, HaveMoreArrivalsAtFirstForEvents) {
  const auto event = tasks_.precondition();
  const auto a = task(1), b = task(2);
  edges({{event, a}, {event, b}});
  const auto programs = queued();
  EXPECT_THAT(programs.after_precondition, ElementsAre(ElementsAre(Remote{0, 1}, Remote{0, 2})));
  EXPECT_THAT(programs.workers[1].first, ElementsAre(Correction{0, 1}));
  EXPECT_THAT(programs.workers[1].second, ElementsAre(Correction{0, 1}));
  EXPECT_THAT(programs.workers[1].roots, ElementsAre(0));
}

TEST_F(ProgramsQueued, LeaveEdgesBetweenDeviceTasksToTheDevice) {
  const auto a = device_task(0), b = device_task(1), host = task(0);
  edges({{a, b}, {a, host}});
  const auto programs = queued();
  EXPECT_THAT(programs.devices.edges, ElementsAre(DeviceEdge{0, 1, false}));
  EXPECT_THAT(programs.device_places, ElementsAre(0, 0));
  EXPECT_THAT(programs.workers[0].remote, IsEmpty());
  EXPECT_THAT(programs.workers[0].local, ElementsAre(1));
  EXPECT_THAT(programs.workers[1].indegree, ElementsAre(1));  // the issue of a is its arrival
}

}  // namespace
}  // namespace taskgrain::rt::detail
