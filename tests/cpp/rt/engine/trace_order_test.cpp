/// What a trace says that tasks come after: all that the program demands, and nothing else.

#include <gmock/gmock.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/comm/ranks.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using nlohmann::json;

struct Task {
  std::string name;
  double begin = 1e300;
  std::set<int> after;
  std::optional<int> launch;
};

/// The tasks of a trace whose order is known, by number, and the file, which is gone afterwards.
class Traced {
 public:
  Traced()
      : path_(std::filesystem::temp_directory_path() / ("taskgrain-order-" + std::to_string(getpid()) + ".json")) {}
  ~Traced() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

  std::map<int, Task> read() {
    std::ifstream in(path_);
    file = json::parse(in)["traceEvents"];
    std::map<int, Task> tasks;
    for (const json& event : file) {
      if (event["ph"] != "X" || !event.contains("args")) continue;
      Task& task = tasks[event["args"]["task"]];
      task.name = event["name"];
      task.begin = std::min(task.begin, event["ts"].get<double>());
      for (const int one : event["args"]["after"]) task.after.insert(one);
      if (event["args"].contains("launch")) task.launch = event["args"]["launch"];
    }
    return tasks;
  }
  json file;

 private:
  std::filesystem::path path_;
};

/// All that a task comes after, directly or not.
std::set<int> before(const std::map<int, Task>& tasks, int task) {
  std::set<int> found;
  std::vector<int> open{task};
  while (!open.empty()) {
    const int one = open.back();
    open.pop_back();
    for (const int other : tasks.at(one).after)
      if (found.insert(other).second) open.push_back(other);
  }
  return found;
}

using Bits = std::vector<std::vector<bool>>;

/// Tasks that must come after others, by what they use of each piece of data: nothing, they read it, they write it, or
/// they commute.
Bits demanded(const std::vector<std::array<int, 4>>& uses) {
  Bits found(uses.size(), std::vector<bool>(uses.size()));
  for (std::size_t k = 0; k < uses.size(); ++k)
    for (std::size_t j = k; j-- > 0;) {
      for (std::size_t d = 0; d < 4; ++d)
        if (uses[k][d] != 0 && uses[j][d] != 0 && std::max(uses[k][d], uses[j][d]) > 1) found[k][j] = true;
      if (found[k][j])
        for (std::size_t i = 0; i < j; ++i)
          if (found[j][i]) found[k][i] = true;
    }
  return found;
}

TEST(TraceOrder, OfASequenceIsWhatItsTasksUse) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    std::mt19937 random(seed);
    const bool bodies = seed % 3 == 1;  // as bodies of a trace, and found by the sequence itself
    const std::size_t automatic = seed % 3 == 2 ? 64 : 0;
    std::vector<std::array<int, 4>> uses, of_body(10);
    for (auto& use : of_body)
      for (int& one : use) one = std::max(0, static_cast<int>(random() % 7) - 3);
    for (std::size_t k = 0; k < 60; ++k) uses.push_back(of_body[k % 10]);
    if (!bodies && automatic == 0) std::ranges::shuffle(uses, random);
    Traced trace;
    {
      Runtime runtime({.workers = 2, .trace = trace.path()});
      Sequence sequence(runtime, {.window = 4, .automatic_traces = automatic});
      std::array<double, 4> memory;
      std::vector<Data> data;
      for (double& one : memory) data.push_back(sequence.data(one));
      const auto give = [&](std::size_t k) {
        std::vector<Access> accesses;
        for (std::size_t d = 0; d < 4; ++d)
          if (const int use = uses[k][d]; use != 0)
            accesses.push_back(use == 1 ? read(data[d]) : use == 2 ? write(data[d]) : commutative(data[d]));
        sequence.task(accesses, [] {}, {.name = std::to_string(k)});
      };
      for (std::size_t k = 0; k < uses.size(); k += 10) {
        const auto body = [&] {
          for (std::size_t t = k; t < k + 10; ++t) give(t);
        };
        bodies ? sequence.trace(1, body) : body();
      }
      sequence.wait();
    }
    const auto tasks = trace.read();
    ASSERT_EQ(tasks.size(), uses.size()) << seed;
    const auto number = [](const Task& task) { return std::stoul(task.name.substr(task.name.rfind(' '))); };
    const Bits expected = demanded(uses);
    for (const auto& [place, task] : tasks) {
      std::vector<bool> found(uses.size());
      for (const int other : before(tasks, place)) found[number(tasks.at(other))] = true;
      EXPECT_EQ(found, expected[number(task)]) << "seed " << seed << ", task " << task.name;
    }
  }
}

TEST(TraceOrder, OfAGraphIsThatOfItsEdgesInEachLaunch) {
  constexpr int nodes = 12, iterations = 3, launches = 2;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    TaskGraph graph("graph");
    std::vector<TaskGraph::Node> made;
    for (int k = 0; k < nodes; ++k)
      made.push_back(graph.task(static_cast<int>(random() % 2), [] {}, "n" + std::to_string(k)));
    std::set<std::pair<int, int>> edges;  // of all iterations: node k of iteration i is i · nodes + k
    for (int from = 0; from < nodes; ++from)
      for (int to = 0; to < nodes; ++to) {
        if (from < to && random() % 5 == 0) {
          graph.edge(made[from], made[to]);
          for (int i = 0; i < iterations; ++i) edges.emplace(i * nodes + from, i * nodes + to);
        }
        if (random() % 12 != 0) continue;
        graph.carried_edge(made[from], made[to]);
        for (int i = 1; i < iterations; ++i) edges.emplace((i - 1) * nodes + from, i * nodes + to);
      }
    // The names of all that comes before each node, in any iteration.
    std::multiset<std::pair<std::string, std::multiset<std::string>>> expected, found;
    std::vector<std::set<int>> all(nodes * iterations);
    for (int k = 0; k < nodes * iterations; ++k) {
      for (const auto& [from, to] : edges)
        if (to == k) all[k].insert(from), all[k].insert(all[from].begin(), all[from].end());
      std::multiset<std::string> names;
      for (const int one : all[k]) names.insert("graph n" + std::to_string(one % nodes));
      for (int launch = 0; launch < launches; ++launch) expected.emplace("graph n" + std::to_string(k % nodes), names);
    }
    Traced trace;
    {
      Runtime runtime({.workers = 2, .trace = trace.path()});
      CompiledGraph compiled(runtime, std::move(graph), static_cast<Policy>(seed % 3));
      for (int k = 0; k < launches; ++k) compiled.launch({.iterations = iterations});
      runtime.wait();
    }
    const auto tasks = trace.read();
    std::set<int> begins;
    for (const auto& [place, task] : tasks) {
      std::multiset<std::string> names;
      for (const int other : before(tasks, place)) names.insert(tasks.at(other).name);
      found.emplace(task.name, names);
      begins.insert(*task.launch);
    }
    EXPECT_EQ(found, expected) << seed;
    EXPECT_EQ(begins, (std::set{0, iterations}));
    for (const auto& [place, task] : tasks)
      for (const int other : task.after) EXPECT_LE(tasks.at(other).begin, task.begin) << task.name;
  }
}

/// Tasks of a flow, and the same where it knows what comes after each.
struct After {
  const std::vector<std::vector<int>>& after;
  const std::vector<int>& indegrees;

  int indegree(int key) const { return indegrees[static_cast<std::size_t>(key)]; }
  void run(int) const {}
  void after_each(int key, auto&& each) const { std::ranges::for_each(after[static_cast<std::size_t>(key)], each); }
};
struct Notifying : After {
  static constexpr std::size_t at_once = 8;
  std::size_t number(int key) const { return static_cast<std::size_t>(key); }
  void after(int key, auto notify) const { after_each(key, notify); }
};

TEST(TraceOrder, OfAFlowIsWhatItsTasksFulfill) {
  constexpr int size = 40, runs = 2;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<int>> after(size);
    std::vector<int> indegree(size);
    std::multiset<std::pair<std::string, std::set<std::string>>> expected, found;
    std::vector<std::set<std::string>> before_each(size);
    for (int from = 0; from < size; ++from)
      for (int to = from + 1; to < size; ++to)
        if (random() % 8 == 0) {
          after[from].push_back(to), ++indegree[to];
          before_each[to].insert("flow " + std::to_string(from));
        }
    std::vector<int> first;
    for (int key = 0; key < size; ++key) {
      if (indegree[key] == 0) first.push_back(key);
      for (int run = 0; run < runs; ++run) expected.emplace("flow " + std::to_string(key), before_each[key]);
    }
    Traced trace;
    {
      Runtime runtime({.workers = 2, .trace = trace.path()});
      const auto give = [&](auto& flow) {
        for (int run = 0; run < runs; ++run) {
          for (const int key : first) flow.fulfill(key);
          flow.wait();
        }
      };
      const After tasks{after, indegree};
      if (seed % 2 == 0) {
        Taskflow<int> flow(runtime, "flow");
        flow.indegree([&](int key) { return tasks.indegree(key); }).run([&](int key) {
          tasks.after_each(key, [&](int next) { flow.fulfill(next); });
        });
        give(flow);
      } else {
        Taskflow<int, Notifying> flow(runtime, Notifying{tasks}, "flow");
        give(flow);
      }
    }
    const auto tasks = trace.read();
    std::map<int, int> of_run;  // tasks by the waits before them
    for (const json& event : trace.file)
      if (event["ph"] == "X") ++of_run[event["args"]["waits"]];
    EXPECT_EQ(of_run, (std::map<int, int>{{0, size}, {1, size}}));
    for (const auto& [number, task] : tasks) {
      std::set<std::string> names;
      for (const int other : task.after) names.insert(tasks.at(other).name);
      found.emplace(task.name, names);
    }
    EXPECT_EQ(found, expected) << seed;
  }
}

TEST(TraceOrder, OfAFlowGoesThroughTasksOfAGraph) {
  Traced trace;
  {
    Runtime runtime({.workers = 2, .trace = trace.path()});
    Taskflow<int> flow(runtime, "flow");
    flow.indegree([](int) { return 3; }).run([](int) {});
    std::vector<std::unique_ptr<CompiledGraph>> graphs;
    for (const Policy policy : {Policy::in_order, Policy::ready_queue, Policy::stealing}) {
      TaskGraph graph("graph");
      graph.task(1, [&] { flow.fulfill(7); }, "node");
      graphs.push_back(std::make_unique<CompiledGraph>(runtime, std::move(graph), policy));
      graphs.back()->launch();
    }
    runtime.wait();
  }
  const auto tasks = trace.read();
  const auto last = std::ranges::find(tasks, "flow 7", [](const auto& one) { return one.second.name; });
  ASSERT_NE(last, tasks.end());
  EXPECT_EQ(last->second.after.size(), 3U);
}

TEST(TraceOrder, HasTheLaunchesOfALoopAndTheWaits) {
  Traced trace;
  {
    Runtime runtime({.workers = 2, .trace = trace.path()});
    Sequence sequence(runtime);
    double cell = 0;
    const Data data = sequence.data(cell);
    sequence.task({write(data)}, [] {}, {.name = "first"});
    sequence.loop(3, [&] { sequence.task({read_write(data)}, [] {}, {.name = "inner"}); });
    sequence.task({read(data)}, [] {}, {.name = "last"});
    sequence.wait();
  }
  const auto tasks = trace.read();
  EXPECT_EQ(std::ranges::count_if(tasks, [](const auto& one) { return one.second.launch == 0; }), 3);
  int launches = 0, waits = 0;
  for (const json& event : trace.file) {
    waits += event["name"] == "wait" && event["ph"] == "i";
    if (event["name"] != "launch") continue;
    ++launches;
    const Task& task = tasks.at(event["args"]["task"]);
    EXPECT_EQ(task.name, "sequence loop");
    EXPECT_EQ(task.after.size(), 1U) << "of the first";
    EXPECT_EQ(event["args"]["launch"], 0);
  }
  EXPECT_EQ(launches, 1);
  EXPECT_GE(waits, 1);
}

TEST(TraceOrder, KnowsTheLaunchOfALoopAfterOneThatThrewAtOnce) {
  Traced trace;
  {
    Runtime runtime({.workers = 2, .trace = trace.path()});
    Sequence sequence(runtime);
    double cell = 0;
    bool fails = true;
    const Data data = sequence.data(cell);
    const auto loop = [&] {
      sequence.loop(3, [&] {
        sequence.task({read_write(data)}, [&fails] { fails ? throw std::runtime_error("") : void(); }, {.name = "a"});
      });
    };
    loop();
    EXPECT_THROW(sequence.wait(), TaskFailed);
    fails = false;
    loop();
    sequence.wait();
  }
  const auto tasks = trace.read();
  std::map<int, int> launches;  // the tasks that are one, by their begin
  for (const json& event : trace.file)
    if (event["name"] == "launch") launches[event["args"]["launch"]] = event["args"]["task"];
  std::set<int> begins;
  for (const auto& [number, task] : tasks)
    if (task.launch) begins.insert(*task.launch);
  EXPECT_EQ(begins, std::set{3});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_LT(tasks.at(launches.at(0)).begin, tasks.at(launches.at(3)).begin);
}

TEST(TraceOrder, HasTheTasksOfGraphsThatWaitForEachOtherAlone) {
  Traced trace;
  {
    Runtime runtime({.workers = 2, .trace = trace.path()});
    std::vector<std::unique_ptr<CompiledGraph>> graphs;
    for (const Policy policy : {Policy::in_order, Policy::in_order, Policy::ready_queue}) {
      TaskGraph graph("graph");
      const auto slow = graph.task(0, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
      const auto quick = graph.task(1, [] {});
      graph.edge(slow, quick);
      graph.carried_edge(quick, slow);
      graphs.push_back(std::make_unique<CompiledGraph>(runtime, std::move(graph), policy));
    }
    for (const auto& graph : graphs) graph->launch({.iterations = 20});
    runtime.wait();
  }
  trace.read();
  EXPECT_EQ(std::ranges::count(trace.file, "X", [](const json& event) { return event["ph"]; }), 3 * 2 * 20);
}

TEST(TraceOrder, CountsTheWaitsBeforeATaskWasGiven) {
  Traced trace;
  {
    Runtime runtime({.workers = 2, .trace = trace.path()});
    Sequence sequence(runtime);
    double cell = 0;
    const Data data = sequence.data(cell);
    TaskGraph graph("graph");
    graph.task(0, [] {}, "node");
    CompiledGraph compiled(runtime, std::move(graph), Policy::in_order);
    for (int wait = 0; wait < 3; ++wait) {
      sequence.task({write(data)}, [] {}, {.name = std::to_string(wait)});
      compiled.launch();
      wait == 1 ? sequence.wait(data) : runtime.wait();
    }
  }
  std::map<std::string, std::vector<int>> waits;
  int all = 0;
  trace.read();
  for (const json& event : trace.file) {
    if (event["ph"] == "X" && event.contains("args")) waits[event["name"]].push_back(event["args"]["waits"]);
    all += event["name"] == "wait" && event["ph"] == "i";
  }
  EXPECT_EQ(waits["sequence 0"], std::vector{0});
  EXPECT_EQ(waits["sequence 1"], std::vector{1});
  EXPECT_EQ(waits["sequence 2"], std::vector{2});
  EXPECT_EQ(waits["graph node"], (std::vector{0, 1, 2}));
  EXPECT_GE(all, 3);
}

TEST(TraceOrder, HasWhatAFutureFulfillsAfterTheTaskThatRunsIt) {
  Traced trace;
  {
    Runtime runtime({.workers = 1, .trace = trace.path()});
    Taskflow<int> flow(runtime, "flow");
    flow.indegree([](int) { return 1; }).run([&](int key) {
      if (key == 0) async(runtime, [&] { flow.fulfill(1); }).get();
    });
    flow.fulfill(0);
    runtime.wait();
  }
  const auto tasks = trace.read();
  ASSERT_EQ(tasks.size(), 2U);
  for (const auto& [number, task] : tasks) EXPECT_EQ(task.after.size(), task.name == "flow 1" ? 1U : 0U) << task.name;
}

TEST(TraceOrder, OfRanksIsInAFileOfEachWithoutWhatOthersAskForInATask) {
  on_ranks(2, [](int rank) {
    const std::string begin = testing::TempDir() + "taskgrain-ranks-" + std::to_string(getppid());
    const std::filesystem::path file = begin + "-" + std::to_string(rank) + ".json";
    {
      Communicator comm;
      RuntimeOptions options = with(comm);
      options.trace = begin + ".json";
      Runtime runtime(options);
      Taskflow<int> flow(runtime, "flow");
      bool came = false;
      const auto answer = comm.active_message([&] {
        flow.fulfill(1);
        came = true;
      });
      const auto ask = comm.active_message([&] { answer.send(0); });
      flow.indegree([](int) { return 1; }).run([&](int key) {
        if (key == 0) ask.send(1);
        while (!came) comm.progress();
      });
      if (rank == 0) flow.fulfill(0);
      runtime.wait();
    }
    std::ifstream in(file);
    int tasks = 0;
    const json events = json::parse(in)["traceEvents"];
    for (const json& event : events) {
      if (event["ph"] != "X" || !event.contains("args")) continue;
      ++tasks;
      EXPECT_EQ(event["args"]["after"].size(), 0U) << event;
      EXPECT_EQ(event["args"].contains("away"), event["name"] == "flow 0") << event;
    }
    EXPECT_EQ(tasks, rank == 0 ? 2 : 0);
    std::filesystem::remove(file);
  });
}

}  // namespace
}  // namespace taskgrain::rt
