/// Heat in a rod: a loop compiled into one program for each worker. Iterations follow one another by carried edges
/// alone, without a barrier; the graph is compiled once and launched twice.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int blocks = 8, side = 1000, length = blocks * side;

using Rod = std::vector<double>;

/// The points of a block, a step later.
void step(const Rod& now, Rod& next, int block) {
  for (int x = block * side; x < (block + 1) * side; ++x) {
    const double left = x == 0 ? 1 : now[x - 1], right = x + 1 == length ? 0 : now[x + 1];
    next[x] = now[x] + 0.25 * (left - 2 * now[x] + right);
  }
}

int main() {
  Rod rods[2] = {Rod(length), Rod(length)};  // now and next, in turns
  rt::Runtime runtime({.workers = 2});
  rt::TaskGraph graph("heat");
  std::vector<rt::TaskGraph::Node> nodes;
  for (int block = 0; block < blocks; ++block)
    nodes.push_back(graph.task(
        block * runtime.workers() / blocks,
        [&rods, block](const rt::Turn& turn) { step(rods[turn.iteration % 2], rods[(turn.iteration + 1) % 2], block); },
        "block " + std::to_string(block)));
  for (int block = 0; block < blocks; ++block) {
    graph.carried_edge(nodes[block], nodes[block]);
    if (block > 0) graph.carried_edge(nodes[block], nodes[block - 1]);
    if (block + 1 < blocks) graph.carried_edge(nodes[block], nodes[block + 1]);
  }
  rt::CompiledGraph compiled(runtime, std::move(graph));
  const auto& counts = compiled.statistics();
  std::printf("an iteration: %zu tasks, %zu edges, %zu messages between workers\n", counts.tasks, counts.edges,
              counts.messages);

  compiled.launch({.iterations = 200});
  compiled.launch({.iterations = 300});  // after the first
  runtime.wait();

  Rod expected[2] = {Rod(length), Rod(length)};
  for (int iteration = 0; iteration < 500; ++iteration)
    for (int block = 0; block < blocks; ++block) step(expected[iteration % 2], expected[(iteration + 1) % 2], block);
  const bool right = rods[0] == expected[0];
  std::printf("500 iterations: %s\n", right ? "as in one loop" : "WRONG");
  return right ? 0 : 1;
}
