/// A user's program with every face of the runtime, for compilers that are stricter than the project's or know less.

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

/// In another file, which is compiled for debugging where this one is not.
bool default_check();

struct Tasks {
  int indegree(int) const { return 1; }
  void run(int) const {}
  int worker(int) const { return 0; }
  void after(int key, auto notify) const {
    if (key < 3) notify(key + 1);
  }
  std::size_t number(int key) const { return static_cast<std::size_t>(key); }
  static constexpr std::size_t at_once = 16;
};

int main() {
  rt::Communicator comm;
  rt::Runtime runtime({.workers = 2, .communicator = &comm});
  rt::Taskflow<int> flow(runtime, "flow");
  flow.indegree([](int) { return 1; }).run([](int) {}).priority([](int) { return 0; }).bound([](int) { return false; });
  rt::Taskflow<std::tuple<int, int>> pairs(runtime, "pairs");
  pairs.indegree([](std::tuple<int, int>) { return 1; }).run([](std::tuple<int, int>) {});
  rt::Taskflow<std::string> words(runtime, "words");
  words.indegree([](const std::string&) { return 1; }).run([](const std::string&) {});
  rt::Taskflow<int, Tasks> object(runtime, Tasks{});
  double values[] = {1, 2}, came[2] = {};
  const auto small = comm.active_message([&](int task, rt::view<double> halo, const std::string& word) {
    if (halo.size() == 2 && word == "bread") flow.fulfill(task);
  });
  const auto large = comm.large_active_message([&](int, std::size_t) { return came; }, [](int) {}, [](int) {});
  const auto memory = comm.memory<double>(3);
  small.send(0, 1, rt::view<double>(values), "bread");
  large.send(0, rt::view<const double>(values), 1);
  pairs.fulfill({1, 2});
  words.fulfill("bread");
  object.fulfill(0);
  rt::TaskGraph graph;
  graph.edge(graph.task(0, [] {}), graph.task(1, [](const rt::Turn&) {}));
  rt::CompiledGraph compiled(runtime, std::move(graph), rt::Policy::ready_queue);
  runtime.wait(compiled.launch().done);
  runtime.wait();
  try {
    const rt::Pinned nowhere(-1);
  } catch (const rt::UsageError&) {
    const auto each = runtime.on_each_worker([](int worker) { return worker; });
    const bool right = each.size() == 2 && came[1] > 1 && memory.elements().size() == 3;
    return right && default_check() && !rt::RuntimeOptions{.workers = 1}.check ? 0 : 1;
  }
  return 2;
}
