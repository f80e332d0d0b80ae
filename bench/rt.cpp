/// What a task costs in taskgrain::rt: the micro-benchmarks of TaskTorrent (Cambier, Qian, Darve 2020, III-A).
///
///     rt-cost            nanoseconds of an empty task with 0 to 8 dependences, each face, one worker and two
///     rt-cost FACE D N   one of them on one worker, N columns, once: for valgrind --tool=callgrind
///
/// An array of 32 rows: task (i, j) comes after tasks ((i - k) mod 32, j - 1), 0 ≤ k < D, and belongs to worker i mod
/// workers. The cases take turns; the best and the median turn are shown, in nanoseconds of a core for a task.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;
using Clock = std::chrono::steady_clock;

constexpr int rows = 32;
const std::array<std::string, 10> faces{"taskflow", "tasks",  "in_order", "ready_queue", "stealing",
                                        "sequence", "traced", "replayed", "automatic",   "missed"};

struct Case {
  std::string face;
  int dependences, workers;
  long turns;  // of a task's work
  auto operator<=>(const Case&) const = default;
};

/// The work of a task: a chain of dependent additions. One copy for all who call it: of this loop the place in memory
/// decides whether a turn takes one cycle or two.
[[gnu::noinline]] void work(long turns) {
  for (long k = 0; k < turns; ++k) asm volatile("");
}

double seconds_of(const std::function<void()>& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

using Key = std::array<int, 2>;

/// The first column, and all that comes of it.
template <typename Flow>
double flow_seconds(rt::Runtime& runtime, Flow& flow) {
  return seconds_of([&] {
    for (int i = 0; i < rows; ++i) flow.fulfill({i, 0});
    runtime.wait();
  });
}

/// Seconds of `columns` columns with a parametrised task graph whose functions are set.
double flow_seconds(rt::Runtime& runtime, const Case& of, int columns) {
  const int dependences = of.dependences;
  const unsigned workers = static_cast<unsigned>(runtime.workers());
  const long turns = of.turns;
  rt::Taskflow<Key> flow(runtime);
  flow.indegree([=](Key key) { return key[1] == 0 ? 1 : dependences; });
  flow.worker([=](Key key) { return static_cast<int>(static_cast<unsigned>(key[0]) % workers); });
  flow.run([=, &flow](Key key) {
    work(turns);
    if (dependences == 0) {  // each task starts the next of its row, which waits for nothing else
      if (key[1] + 1 < columns) flow.fulfill({key[0], key[1] + 1});
    } else if (key[1] + 1 < columns) {
      for (int k = 0; k < dependences; ++k) flow.fulfill({(key[0] + k) % rows, key[1] + 1});
    }
  });
  return flow_seconds(runtime, flow);
}

/// The same as an object, which says what comes after a task, has numbers, and lets tasks run at once.
struct Tasks {
  static constexpr std::size_t at_once = 16;

  int dependences, columns;
  unsigned workers;
  long turns;

  int indegree(Key key) const { return key[1] == 0 ? 1 : dependences; }
  int worker(Key key) const { return static_cast<int>(static_cast<unsigned>(key[0]) % workers); }
  void run(Key) const { work(turns); }
  void after(Key key, auto notify) const {
    if (key[1] + 1 == columns) return;
    if (dependences == 0) notify({key[0], key[1] + 1});
    for (int k = 0; k < dependences; ++k) notify({(key[0] + k) % rows, key[1] + 1});
  }
  std::size_t number(Key key) const {
    return static_cast<std::size_t>(key[1]) * rows + static_cast<std::size_t>(key[0]);
  }
};
double object_seconds(rt::Runtime& runtime, const Case& of, int columns) {
  rt::Taskflow<Key, Tasks> flow(runtime, {of.dependences, columns, static_cast<unsigned>(runtime.workers()), of.turns});
  return flow_seconds(runtime, flow);
}

/// The same with a compiled graph of 16 columns, iterated; compiling not counted.
double graph_seconds(rt::Runtime& runtime, const Case& of, rt::Policy policy, int columns) {
  constexpr int body_columns = 16;
  rt::TaskGraph graph;
  std::vector<rt::TaskGraph::Node> nodes;
  for (int j = 0; j < body_columns; ++j)
    for (int i = 0; i < rows; ++i)
      nodes.push_back(graph.task(i % runtime.workers(), [turns = of.turns](const rt::Turn&) { work(turns); }));
  for (int j = 0; j < body_columns; ++j)
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < of.dependences; ++k) {
        const auto from = nodes[static_cast<std::size_t>(j * rows + i)];
        const auto to = nodes[static_cast<std::size_t>((j + 1) % body_columns * rows + (i + k) % rows)];
        if (j + 1 < body_columns)
          graph.edge(from, to);
        else
          graph.carried_edge(from, to);
      }
  rt::CompiledGraph compiled(runtime, std::move(graph), policy);
  return seconds_of([&] {
    compiled.launch({.iterations = columns / body_columns});
    runtime.wait();
  });
}

/// The same in program order, with a piece of data for each task of two columns; `traced` as a loop, with its
/// compilation, `replayed` with calls of `trace` for 16 columns each; `automatic` as traces that it finds by itself,
/// and `missed` with a task that comes once after each 8 columns, so that for each trace that ends well one does not.
double sequence_seconds(rt::Runtime& runtime, const Case& of, int columns) {
  const bool misses = of.face == "missed";
  rt::Sequence sequence(runtime, {.automatic_traces = misses || of.face == "automatic" ? 1024U : 0U});
  std::vector<rt::Data> outputs;
  for (int i = 0; i < 2 * rows; ++i) outputs.push_back(sequence.token({.home = i % rows % runtime.workers()}));
  std::vector<rt::Data> others;
  for (int i = 0; i < 64; ++i) others.push_back(sequence.token());
  std::vector<rt::Access> accesses;
  const auto give = [&](int first, int end) {
    for (int j = first; j < end; ++j)
      for (int i = 0; i < rows; ++i) {
        accesses.assign({write(outputs[static_cast<std::size_t>(j % 2 * rows + i)])});
        for (int k = 0; k < of.dependences; ++k)
          accesses.push_back(read(outputs[static_cast<std::size_t>((j + 1) % 2 * rows + (i - k + rows) % rows)]));
        sequence.task(accesses, [turns = of.turns] { work(turns); });
      }
  };
  return seconds_of([&] {
    if (of.face == "traced") {
      sequence.loop(columns / 16, [&] { give(0, 16); });
    } else if (of.face == "replayed") {
      for (int k = 0; k < columns / 16; ++k) sequence.trace(0, [&] { give(0, 16); });
    } else if (misses) {
      for (int j = 0; j < columns; j += 8) {
        give(0, 8);
        const auto once = static_cast<unsigned>(j / 8);
        sequence.task({read(outputs[once % 64]), write(others[once / 64 % 64])}, [] {});
      }
    } else {
      give(0, columns);
    }
    sequence.wait();
  });
}

double seconds(rt::Runtime& runtime, const Case& of, int columns) {
  if (of.face == "taskflow") return flow_seconds(runtime, of, columns);
  if (of.face == "tasks") return object_seconds(runtime, of, columns);
  if (std::ranges::count(faces.end() - 5, faces.end(), of.face)) return sequence_seconds(runtime, of, columns);
  const auto policy = of.face == "in_order"      ? rt::Policy::in_order
                      : of.face == "ready_queue" ? rt::Policy::ready_queue
                                                 : rt::Policy::stealing;
  return graph_seconds(runtime, of, policy, columns);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// What a launch and the wait for it cost, where each worker has one empty task.
void print_launch(rt::Runtime& runtime) {
  rt::TaskGraph graph("empty");
  for (int worker = 0; worker < runtime.workers(); ++worker) graph.task(worker, [](const rt::Turn&) {});
  rt::CompiledGraph compiled(runtime, std::move(graph), rt::Policy::in_order);
  const auto median_launch = [&] {
    std::vector<double> all;
    for (int k = 0; k < 2000; ++k) {
      all.push_back(seconds_of([&] {
        compiled.launch();
        runtime.wait();
      }));
    }
    return 1e6 * median(all);
  };
  const double unbound = median_launch();
  const rt::Pinned bound(runtime.cores()[0]);
  std::printf(
      "us of a launch and its wait, %d workers, median of 2000: %.2f where the caller is bound, %.2f where not\n",
      runtime.workers(), median_launch(), unbound);
}

void print_all() {
  std::map<int, std::unique_ptr<rt::Runtime>> runtimes;
  for (const int workers : {1, 2})
    runtimes[workers] = std::make_unique<rt::Runtime>(rt::RuntimeOptions{.workers = workers});
  std::vector<Case> cases;
  for (const int workers : {1, 2})
    for (const int dependences : {0, 1, 2, 4, 8})
      for (const auto& face : faces) cases.push_back({face, dependences, workers, 0});
  // As many turns as take a microsecond, best of many.
  double turn_seconds = 1;
  for (int k = 0; k < 100; ++k) turn_seconds = std::min(turn_seconds, seconds_of([] { work(100'000); }) / 100'000);
  const long microsecond = static_cast<long>(1e-6 / turn_seconds);
  for (const auto& face : faces) cases.push_back({face, 8, 2, microsecond});
  std::vector<double> alone;  // seconds of the work of a task without a runtime, in the same turns
  std::map<Case, std::vector<double>> nanoseconds;
  for (int turn = 0; turn < 15; ++turn) {
    // Of both workers at once: the processors of a virtual machine may be one core.
    alone.push_back(seconds_of([&] { runtimes[2]->on_each_worker([&](int) { work(15'000 * microsecond); }); }) /
                    15'000);
    for (const Case& of : cases) {
      const int columns = of.turns > 0 ? 960 : 4800;
      nanoseconds[of].push_back(seconds(*runtimes[of.workers], of, columns) * 1e9 * of.workers / (rows * columns));
    }
  }
  std::printf("ns of a core for an empty task: best (median) of 15 turns\n%-8s %-11s", "workers", "dependences");
  for (const auto& face : faces) std::printf(" %18s", face.c_str());
  std::printf("   aims: taskflow, compiled\n");
  for (const int workers : {1, 2})
    for (const int dependences : {0, 1, 2, 4, 8}) {
      std::printf("%-8d %-11d", workers, dependences);
      for (const auto& face : faces) {
        const auto& all = nanoseconds[{face, dependences, workers, 0}];
        std::printf(" %9.1f (%6.1f)", *std::ranges::min_element(all), median(all));
      }
      const int factor = workers == 1 ? 1 : 4;
      std::printf("   %d, %d\n", factor * (25 + 5 * dependences), factor * (8 + 2 * dependences));
    }
  std::printf("efficiency with tasks of 1 us and 8 dependences on 2 workers, median; aim 0.90\n%-20s", "");
  for (const auto& face : faces) {
    std::vector<double> efficiencies;
    for (std::size_t turn = 0; turn < alone.size(); ++turn)
      efficiencies.push_back(alone[turn] * 1e9 / nanoseconds[{face, 8, 2, microsecond}][turn]);
    std::printf(" %18.3f", median(efficiencies));
  }
  std::printf("\n");
  print_launch(*runtimes[2]);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // more than they spin
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::printf("processor time of idle runtimes in a second: %.0f us\n",
              1e6 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) return print_all(), 0;
  const int dependences = argc == 4 ? std::atoi(argv[2]) : -1, columns = argc == 4 ? std::atoi(argv[3]) : 0;
  if (dependences < 0 || dependences > rows || columns < 16 || std::ranges::find(faces, argv[1]) == faces.end()) {
    std::fprintf(stderr, "usage: taskgrain-rt-cost [FACE D N], with D from 0 to %d, N from 16, and FACE one of", rows);
    for (const auto& face : faces) std::fprintf(stderr, " %s", face.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  rt::Runtime runtime({.workers = 1});
  std::printf("%.1f ns\n", seconds(runtime, {argv[1], dependences, 1, 0}, columns) * 1e9 / (1.0 * rows * columns));
}
