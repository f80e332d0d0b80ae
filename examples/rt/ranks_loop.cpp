/// Heat in a rod, as a compiled loop on several ranks: an iteration exchanges the ends of the ranks' parts, and then
/// computes. Each rank compiles its own share. Nobody waits for more than its neighbours.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int blocks = 4, side = 500, length = blocks * side;  // of a rank's part

using Row = std::vector<double>;

/// The points from `begin` to `end`, a step later.
void step(const Row& now, Row& next, int begin, int end, double before, double after) {
  const int last = static_cast<int>(now.size()) - 1;
  for (int x = begin; x < end; ++x) {
    const double left = x == 0 ? before : now[x - 1], right = x == last ? after : now[x + 1];
    next[x] = now[x] + 0.25 * (left - 2 * now[x] + right);
  }
}

double number(std::span<const std::byte> bytes) { return *reinterpret_cast<const double*>(bytes.data()); }

int main() {
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  const bool is_first = comm.rank() == 0, is_last = comm.rank() + 1 == comm.ranks();
  const int workers = runtime.workers();

  Row rows[2] = {Row(length), Row(length)};  // now and next, in turns
  std::array<double, 2> ends{};              // first and last point, as sent to the neighbours
  std::array<rt::TaskGraph::Node, 2> sends, receives;
  std::vector<rt::TaskGraph::Node> nodes;
  std::optional<rt::CompiledGraph> compiled;  // tasks ask it what they have received

  rt::TaskGraph graph(comm, "heat");
  for (int block = 0; block < blocks; ++block)
    nodes.push_back(graph.task(
        block * workers / blocks,
        [&, block](const rt::Turn& turn) {
          const Row& now = rows[turn.iteration % 2];
          Row& next = rows[(turn.iteration + 1) % 2];
          double before = 1, after = 0;  // beyond the rod
          if (block == 0 && !is_first) before = number(compiled->received(receives[0], turn));
          if (block + 1 == blocks && !is_last) after = number(compiled->received(receives[1], turn));
          step(now, next, block * side, (block + 1) * side, before, after);
          if (block == 0) ends[0] = next.front();
          if (block + 1 == blocks) ends[1] = next.back();
        },
        "block " + std::to_string(block)));
  for (int block = 0; block < blocks; ++block) {  // within the rank, as on one
    graph.carried_edge(nodes[block], nodes[block]);
    if (block > 0) graph.carried_edge(nodes[block], nodes[block - 1]);
    if (block + 1 < blocks) graph.carried_edge(nodes[block], nodes[block + 1]);
  }
  for (const int which : {0, 1}) {  // the rank before, the rank after
    if (which == 0 ? is_first : is_last) continue;
    const auto end = nodes[which == 0 ? 0 : blocks - 1];
    const int worker = which == 0 ? 0 : (blocks - 1) * workers / blocks, other = comm.rank() + (which == 0 ? -1 : 1);
    sends[which] = graph.send(worker, other, 0, std::as_bytes(std::span(&ends[which], 1)), "send");
    receives[which] = graph.receive(other, 0, sizeof(double), "receive");
    graph.carried_edge(end, sends[which]);  // what the iteration before has computed
    graph.edge(sends[which], end);          // which writes it again
    graph.edge(receives[which], end);
  }
  compiled.emplace(runtime, std::move(graph));  // all ranks at the same time

  compiled->launch({.iterations = 200});
  compiled->launch({.iterations = 300});
  runtime.wait();

  Row whole(static_cast<std::size_t>(length * comm.ranks()));
  const auto collect = comm.active_message(
      [&](int rank, rt::view<const double> part) { std::ranges::copy(part, whole.begin() + rank * length); });
  collect.send(0, comm.rank(), rows[0]);
  runtime.wait();
  if (comm.rank() != 0) return 0;

  Row expected[2] = {Row(whole.size()), Row(whole.size())};
  for (int k = 0; k < 500; ++k) step(expected[k % 2], expected[(k + 1) % 2], 0, static_cast<int>(whole.size()), 1, 0);
  const bool right = whole == expected[0];
  std::printf("500 iterations on %d ranks: %s\n", comm.ranks(), right ? "as in one loop" : "WRONG");
  return right ? 0 : 1;
}
