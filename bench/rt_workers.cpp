/// What taskgrain::rt costs by its number of workers.
///
///     rt-workers              memory, start and end of a runtime, the last look at all workers before a wait returns,
///                             and a launch, with 2 to 4096 workers
///     rt-workers SENDERS N    N tasks of worker 0, one after another, after so many others have sent it something: for
///                             valgrind --tool=callgrind
///
/// More workers than cores take turns on them, so the times tell only how they grow; counts and memory are those of a
/// machine that has the cores.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>
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

/// Worker 0 runs `tasks` tasks, one after another.
void run(int senders, int tasks) {
  rt::Runtime runtime({.workers = senders + 1, .spin = std::chrono::nanoseconds(0)});
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
  for (int k = 1; k <= senders; ++k) greeting.fulfill(k);
  runtime.wait();
  chain.fulfill(0);
  runtime.wait();
}

int number(const char* what, const char* text, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end != text && *end == '\0' && value >= least && value <= most) return static_cast<int>(value);
  std::fprintf(stderr, "taskgrain-rt-workers: %s is '%s', allowed are %d to %d\n", what, text, least, most);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) {
    const int senders = number("SENDERS", argv[1], 0, 4095);
    return run(senders, number("N", argv[2], 1, 1'000'000'000)), 0;
  }
  if (argc != 1) {
    std::fprintf(stderr, "taskgrain-rt-workers: %d arguments, allowed are none, or SENDERS N\n", argc - 1);
    return 2;
  }
  std::printf("%7s %10s %12s %10s %10s %14s %16s\n", "workers", "heap, MB", "resident, MB", "start, ms", "end, ms",
              "last look, us", "launch+wait, ms");
  for (const int workers : {2, 8, 64, 192, 1024, 4096}) {
    try {
      print(workers);
    } catch (const std::system_error& error) {
      std::printf("%7d %s\n", workers, error.what());
    }
  }
}
