/// What the compiler of programs in order writes for events and devices: the least that keeps all edges.

#include <gmock/gmock.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "graph/graph_compiler.hpp"
#include "graph/program.hpp"

namespace taskgrain::rt::detail {
namespace {

using testing::ElementsAre;

std::vector<Wait> waits(const InOrderProgram& program, std::size_t record) {
  const std::uint32_t begin = record == 0 ? 0 : program.records[record - 1].waits_end;
  return {program.waits.begin() + begin, program.waits.begin() + program.records[record].waits_end};
}

class ProgramsInOrder : public testing::Test {
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
  TaskGraph tasks_{"graph"};
  CompileStatistics statistics_;
};

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

}  // namespace
}  // namespace taskgrain::rt::detail
