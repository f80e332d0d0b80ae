/// What taskgrain::rt costs by its number of workers.
///
///     rt-workers                      memory, start and end of a runtime, the last look at all workers before a wait
///                                     returns, and a launch, with 2 to 4096 workers; then how often a thread sleeps for
///                                     a task of each program below, with 2 to 256 workers
///     rt-workers PROGRAM WORKERS N    a program of N tasks, for valgrind --tool=callgrind
///
/// The programs: `senders`, tasks of worker 0, one after another, after all others have sent it something; `flow`,
/// `graph` and `sequence`, a task for each worker in each step, which comes after three of the step before; `stealing`,
/// tasks of worker 0 of about a microsecond, which all may steal.
///
/// More workers than cores take turns on them, so the times tell only how they grow; counts and memory are those of a
/// machine that has the cores.

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace {

using namespace taskgrain;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Microseconds = std::chrono::duration<double, std::micro>;

/// Megabytes of the heap, and of all memory that is in use.
struct Memory {
  double heap, resident;
};
Memory memory() {
  const auto heap = mallinfo2();
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {static_cast<double>(heap.uordblks + heap.hblkhd) / 1e6,
          static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6};
}

/// How long worker 0 looks at so many idle workers until it knows that all is done.
Microseconds last_look(int workers) {
  const auto number = static_cast<std::size_t>(workers);
  const std::vector<rt::detail::IdleState> idle_states(number);
  const rt::detail::OutsideCounts outside;
  rt::detail::Completion completion(number);
  Microseconds least{1e9};
  for (int k = 0; k < 100; ++k) {
    const auto begin = Clock::now();
    const bool reached =
        completion.reached([&](std::size_t w) -> const auto& { return idle_states[w]; }, outside, [] { return false; });
    if (!reached) std::abort();
    least = std::min<Microseconds>(least, Clock::now() - begin);
  }
  return least;
}

void print(int workers) {
  const Memory before = memory();
  const auto begin = Clock::now();
  std::optional<rt::Runtime> runtime(rt::RuntimeOptions{.workers = workers, .spin = std::chrono::nanoseconds(0)});
  const Milliseconds start = Clock::now() - begin;
  const Memory after = memory();
  Milliseconds launch{1e9};
  {
    rt::TaskGraph graph;
    for (int worker = 0; worker < workers; ++worker) graph.task(worker, [] {});
    rt::CompiledGraph compiled(*runtime, std::move(graph));
    for (int k = 0; k < 5; ++k) {
      const auto launched = Clock::now();
      compiled.launch();
      runtime->wait();
      launch = std::min<Milliseconds>(launch, Clock::now() - launched);
    }
  }
  const auto ending = Clock::now();
  runtime.reset();
  const Milliseconds end = Clock::now() - ending;
  std::printf("%7d %10.2f %12.1f %10.2f %10.2f %14.2f %16.3f\n", workers, after.heap - before.heap,
              after.resident - before.resident, start.count(), end.count(), last_look(workers).count(), launch.count());
}

rt::Runtime workers(int number) { return rt::Runtime({.workers = number, .spin = std::chrono::nanoseconds(0)}); }

void senders(int number, int tasks) {
  rt::Runtime runtime = workers(number);
  rt::Taskflow<int> chain(runtime);
  chain.indegree([](int) { return 1; }).worker([](int) { return 0; }).bound([](int) { return true; });
  chain.run([&](int k) {
    if (k + 1 < tasks) chain.fulfill(k + 1);
  });
  rt::Taskflow<int> greeting(runtime);
  greeting.indegree([](int) { return 1; }).worker([](int k) { return k; }).bound([](int) { return true; });
  greeting.run([&](int k) {
    if (k > 0) chain.fulfill(tasks);
  });
  for (int k = 1; k < number; ++k) greeting.fulfill(k);
  runtime.wait();
  chain.fulfill(0);
  runtime.wait();
}

/// Calls `call` with the three workers, or fewer, that a worker meets in the next step.
template <typename Call>
void each_beside(int worker, int number, const Call& call) {
  for (int k = std::max(0, worker - 1); k <= std::min(number - 1, worker + 1); ++k) call(k);
}

void flow(int number, int tasks) {
  struct Key {
    int step, worker;
  };
  rt::Runtime runtime = workers(number);
  rt::Taskflow<Key> flow(runtime);
  flow.worker([](Key key) { return key.worker; }).bound([](Key) { return true; });
  flow.indegree([&](Key key) {
    int before = 0;
    each_beside(key.worker, number, [&](int) { ++before; });
    return key.step == 0 ? 1 : before;
  });
  flow.run([&](Key key) {
    if (key.step + 1 < tasks / number) each_beside(key.worker, number, [&](int k) { flow.fulfill({key.step + 1, k}); });
  });
  for (int k = 0; k < number; ++k) flow.fulfill({0, k});
  runtime.wait();
}

void graph(int number, int tasks) {
  rt::Runtime runtime = workers(number);
  rt::TaskGraph body;
  std::vector<rt::TaskGraph::Node> nodes;
  for (int k = 0; k < number; ++k) nodes.push_back(body.task(k, [] {}));
  for (int k = 0; k < number; ++k)
    each_beside(k, number, [&](int other) {
      body.carried_edge(nodes[static_cast<std::size_t>(other)], nodes[static_cast<std::size_t>(k)]);
    });
  rt::CompiledGraph compiled(runtime, std::move(body));
  compiled.launch({.iterations = tasks / number});
  runtime.wait();
}

void sequence(int number, int tasks) {
  rt::Runtime runtime = workers(number);
  rt::Sequence sequence(runtime, {.automatic_traces = 0});
  std::vector<rt::Data> data[2];
  for (auto& step : data)
    for (int k = 0; k < number; ++k) step.push_back(sequence.token({.home = k}));
  std::vector<rt::Access> uses;
  for (int step = 0; step < tasks / number; ++step)
    for (int worker = 0; worker < number; ++worker) {
      uses.assign({write(data[step % 2][static_cast<std::size_t>(worker)])});
      each_beside(worker, number,
                  [&](int k) { uses.push_back(read(data[(step + 1) % 2][static_cast<std::size_t>(k)])); });
      sequence.task(uses, [] {});
    }
  sequence.wait();
}

void stealing(int number, int tasks) {
  rt::Runtime runtime = workers(number);
  rt::Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 1; }).worker([](int) { return 0; });
  flow.run([&](int) {
    volatile int turns = 0;
    while (turns < 500) {
      const int next = turns + 1;
      turns = next;
    }
  });
  for (int k = 0; k < tasks; ++k) flow.fulfill(k);
  runtime.wait();
}

struct Program {
  std::string_view name;
  void (*run)(int workers, int tasks);
};
constexpr Program programs[] = {
    {"senders", senders}, {"flow", flow}, {"graph", graph}, {"sequence", sequence}, {"stealing", stealing}};

/// How often threads of this process have gone to sleep.
long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

void print_sleeps(int workers) {
  std::printf("%7d", workers);
  for (const auto& [name, run] : programs) {
    constexpr int fewer = 1 << 12, more = 3 << 12;
    const long before = sleeps();
    run(workers, fewer);
    const long between = sleeps();
    run(workers, more);
    std::printf(" %10.2f", static_cast<double>(sleeps() - between - (between - before)) / (more - fewer));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const int workers = argc == 4 ? std::atoi(argv[2]) : 0, tasks = argc == 4 ? std::atoi(argv[3]) : 0;
    const auto* const asked = std::ranges::find(programs, std::string_view(argv[1]), &Program::name);
    if (workers >= 1 && workers <= 4096 && tasks >= 1 && asked != std::end(programs))
      return asked->run(workers, tasks), 0;
    std::fprintf(stderr,
                 "usage: taskgrain-rt-workers [PROGRAM WORKERS N], with up to 4096 workers, and PROGRAM one of");
    for (const Program& one : programs) std::fprintf(stderr, " %s", one.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a call that is stopped has shown what it knows
  std::printf("%7s %10s %12s %10s %10s %14s %16s\n", "workers", "heap, MB", "resident, MB", "start, ms", "end, ms",
              "last look, us", "launch+wait, ms");
  for (const int workers : {2, 8, 64, 192, 1024, 4096}) {
    try {
      print(workers);
    } catch (const std::system_error& error) {
      std::printf("%7d %s\n", workers, error.what());
    }
  }
  std::printf("\nsleeps of threads, for a task\n%7s", "workers");
  for (const Program& one : programs) std::printf(" %10s", one.name.data());
  std::printf("\n");
  for (const int workers : {2, 4, 16, 64, 256}) print_sleeps(workers);
}
