/// Heat in a rod, a block for each task, in each of the four faces of the runtime.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int blocks = 8, steps = 100;
constexpr std::size_t size = 100, cells = blocks * size;

/// The rod before and after a step, in turns.
struct Rods {
  std::array<std::vector<double>, 2> of{std::vector<double>(cells), std::vector<double>(cells)};

  Rods() { of[0][cells / 2] = 1000.0; }
  /// A step of one block. It reads the blocks beside it, too.
  void advance(std::int64_t step, int block) {
    const std::vector<double>& old = of[step % 2];
    std::vector<double>& next = of[(step + 1) % 2];
    for (std::size_t i = block * size; i < (block + 1) * size; ++i) {
      const double left = i == 0 ? old[i] : old[i - 1], right = i + 1 == cells ? old[i] : old[i + 1];
      next[i] = old[i] + 0.25 * (left - 2.0 * old[i] + right);
    }
  }
};

/// A block and those beside it.
auto around(int block) { return std::views::iota(std::max(block - 1, 0), std::min(block + 2, blocks)); }

void forks(rt::Runtime& runtime, Rods& rods) {
  for (int step = 0; step < steps; ++step)
    rt::parallel_for(runtime, std::views::iota(0, blocks), [&](int block) { rods.advance(step, block); });
}

void sequence(rt::Runtime& runtime, Rods& rods) {
  rt::Sequence sequence(runtime);
  std::array<std::vector<rt::Data>, 2> data;
  for (int which : {0, 1})
    for (int block = 0; block < blocks; ++block)
      data[which].push_back(sequence.data(std::span(rods.of[which]).subspan(block * size, size)));
  sequence.loop(steps / 2, [&] {
    for (int step : {0, 1})
      for (int block = 0; block < blocks; ++block) {
        std::vector<rt::Access> accesses{write(data[1 - step][block])};
        for (const int other : around(block)) accesses.push_back(read(data[step][other]));
        sequence.task(accesses, [&rods, step, block] { rods.advance(step, block); });
      }
  });
  sequence.wait();
}

void compiled_graph(rt::Runtime& runtime, Rods& rods) {
  rt::TaskGraph graph("a step");
  std::vector<rt::TaskGraph::Node> nodes;
  for (int block = 0; block < blocks; ++block)
    nodes.push_back(graph.task(block * runtime.workers() / blocks,
                               [&rods, block](const rt::Turn& turn) { rods.advance(turn.iteration, block); }));
  for (int block = 0; block < blocks; ++block)
    for (const int other : around(block)) graph.carried_edge(nodes[block], nodes[other]);
  rt::CompiledGraph compiled(runtime, std::move(graph));
  compiled.launch({.iterations = steps});
  runtime.wait();
}

void flow(rt::Runtime& runtime, Rods& rods) {
  rt::Taskflow<std::array<int, 2>> flow(runtime, "heat");  // step, block
  flow.indegree([](std::array<int, 2> task) { return task[0] == 0 ? 1 : static_cast<int>(around(task[1]).size()); });
  flow.worker([&](std::array<int, 2> task) { return task[1] * runtime.workers() / blocks; });
  flow.run([&](std::array<int, 2> task) {
    const auto [step, block] = task;
    rods.advance(step, block);
    if (step + 1 < steps)
      for (const int other : around(block)) flow.fulfill({step + 1, other});
  });
  for (int block = 0; block < blocks; ++block) flow.fulfill({0, block});
  runtime.wait();
}

int main() {
  rt::Runtime runtime;
  Rods expected;
  for (int step = 0; step < steps; ++step)
    for (int block = 0; block < blocks; ++block) expected.advance(step, block);
  const auto right = [&](const char* name, auto face) {
    Rods rods;
    face(runtime, rods);
    const bool same = rods.of[steps % 2] == expected.of[steps % 2];
    std::printf("%s: %s\n", name, same ? "as in one loop" : "WRONG");
    return same;
  };
  const bool all = right("forks", forks) & right("sequence", sequence) & right("compiled graph", compiled_graph) &
                   right("flow", flow);
  return all ? 0 : 1;
}
