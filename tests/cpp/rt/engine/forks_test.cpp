/// Processes that a program forks when it has a runtime: they have none of its threads.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

#if defined(__SANITIZE_ADDRESS__)
/// What stacks of its parent's other threads point to looks like a leak to a child.
extern "C" int __lsan_is_turned_off() { return taskgrain::rt::detail::forks.load() != 0; }
#endif

namespace taskgrain::rt {
namespace {

/// As main of a program, which forks when all its threads sleep or spin. The child does something, and then destroys
/// what it has of its parent's.
/// \returns the exit code of the child
int fork_beside_a_runtime(const std::function<void(Runtime& runtime, Taskflow<int>& flow)>& in_child) {
  const std::string trace = testing::TempDir() + "forks_test." + std::to_string(getpid()) + ".json";
  const pid_t parent = getpid();
  pid_t child = 0;
  {
    Runtime runtime({.workers = 3, .trace = trace});
    Taskflow<int> flow(runtime, "bread");
    flow.indegree([](int) { return 1; }).run([](int) {});
    TaskGraph graph;
    graph.task(1, [] {});
    CompiledGraph compiled(runtime, std::move(graph));
    compiled.launch();
    flow.fulfill(0);
    runtime.wait();
    std::filesystem::remove(trace);  // it was begun
    std::fflush(nullptr);
    child = fork();
    if (child == 0) in_child(runtime, flow);
    if (child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_FALSE(std::filesystem::exists(trace)) << "the child has written its parent's";
      flow.fulfill(1);
      runtime.wait();
      child = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
  }
  if (getpid() != parent) std::exit(0);
  std::filesystem::remove(trace);
  return child;
}

template <typename Call>
void expect_refused_in_child(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    if (std::string(error.what()).find("forked") != std::string::npos) return;
  }
  _exit(3);
}

TEST(Forks, EndHoweverTheyDo) {
  EXPECT_EQ(fork_beside_a_runtime([](Runtime&, auto&) {}), 0);
  EXPECT_EQ(fork_beside_a_runtime([](Runtime&, auto&) { std::exit(4); }), 4);
  EXPECT_EQ(fork_beside_a_runtime([](Runtime&, auto&) { _exit(5); }), 5);
  EXPECT_EQ(fork_beside_a_runtime([](Runtime&, auto&) { execlp("true", "true", nullptr); }), 0);
}

TEST(Forks, RefuseTheRuntimeOfTheirParent) {
  const auto refused = [](Runtime& runtime, Taskflow<int>& flow) {
    expect_refused_in_child([&] { flow.fulfill(1); });
    expect_refused_in_child([&] { flow.wait(); });
    expect_refused_in_child([&] { runtime.wait(); });
    expect_refused_in_child([&] { runtime.wait(Event()); });
    expect_refused_in_child([&] { runtime.work_until([] { return true; }); });
    expect_refused_in_child([&] { runtime.on_each_worker([](int) {}); });
    expect_refused_in_child([&] { runtime.join(); });
    expect_refused_in_child([&] { runtime.start(); });
  };
  EXPECT_EQ(fork_beside_a_runtime(refused), 0);
}

TEST(Forks, MakeRuntimesOfTheirOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads in a child of several threads";
#endif
  const auto own = [](Runtime&, auto&) {
    Runtime runtime({.workers = 2});
    const auto workers = runtime.on_each_worker([](int worker) { return worker; });
    if (workers != std::vector{0, 1}) _exit(3);
  };
  EXPECT_EQ(fork_beside_a_runtime(own), 0);
}

TEST(Forks, OfATaskAreNoWorkers) {
  Runtime runtime({.workers = 2});
  Taskflow<int> flow(runtime, "bread");
  std::atomic<int> code{-1};
  flow.indegree([](int) { return 1; }).worker([](int) { return 1; }).bound([](int) { return true; });
  flow.run([&](int) {
    const pid_t child = fork();
    if (child == 0) {
      if (this_worker() != -1) _exit(2);
      expect_refused_in_child([&] { flow.fulfill(1); });
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    code = status;
  });
  flow.fulfill(0);
  runtime.wait();
  EXPECT_EQ(code, 0);
}

/// Destroyed after what functions keep, because it is made before that.
std::optional<Runtime> of_both;

TEST(Forks, EndWithAStaticRuntime) {
  const auto in_both = [] {
    of_both.emplace(RuntimeOptions{.workers = 3});
    if (const pid_t child = fork(); child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) std::_Exit(1);
    }
    std::exit(0);
  };
  EXPECT_EXIT(in_both(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace taskgrain::rt
