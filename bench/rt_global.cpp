/// Global arrays and forks over ranks (docs/rt/global-memory.md): what a fence, a checkout and a fork take.
///
///     taskgrain-run -n 2 taskgrain-rt-global
///
/// Each is timed 20 times; the best is printed, because who shares the machine only adds time.
/// "Apart": ranks as if on hosts of their own, whose elements travel in messages through shared memory.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ranges>

#include "taskgrain/rt.hpp"

namespace {

namespace rt = taskgrain::rt;

/// Prints how long one call takes, of so many in a row on all ranks.
template <typename Call>
void time(rt::GlobalMemory& memory, const char* name, int calls, const Call& call) {
  double best = 1e9;
  for (int k = 0; k < 20; ++k) {
    memory.fence();
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < calls; ++n) call(n);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::min(best, seconds.count() / calls);
  }
  if (memory.rank() == 0) std::printf("%-52s %10.0f ns\n", name, best * 1e9);
}

void arrays(rt::Runtime& runtime, bool in_place) {
  rt::GlobalMemory memory(runtime, {.in_place = in_place});
  const std::size_t mine = std::size_t{1} << 20, other = static_cast<std::size_t>((memory.rank() + 1) % memory.ranks());
  const rt::GlobalArray<char> x(memory, mine * static_cast<std::size_t>(memory.ranks()));
  if (memory.rank() == 0) std::printf(in_place ? "Ranks of one host\n" : "Apart\n");
  time(memory, "fence", 1000, [&](int) { memory.fence(); });
  time(memory, "loop over 8 indices a rank, and its fence", 1000,
       [&](int) { rt::parallel_for(memory, std::views::iota(0, 8), [](int) {}); });
  for (const std::size_t bytes : {8, 4096, 65536, 1 << 20}) {
    char name[60];
    std::snprintf(name, sizeof name, "read %zu bytes of the next rank, and a fence", bytes);
    time(memory, name, 100, [&](int) {
      static_cast<void>(x.read(other * mine, bytes));
      memory.fence();
    });
  }
  time(memory, "write 8 bytes of the next rank, and a fence", 100, [&](int) {
    x.write(other * mine, 8)[0] = 1;
    memory.fence();
  });
  time(memory, "read 8 bytes once more", 1000, [&](int) { static_cast<void>(x.read(other * mine, 8)); });
}

int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

void forks(rt::Runtime& runtime) {
  rt::GlobalMemory memory(runtime);
  rt::GlobalForks forks(memory);
  const auto nothing = forks.function([](int n) { return n; }, "nothing");
  const auto many = forks.function(
      [&](int calls) {
        for (int n = 0; n < calls; ++n) nothing.fork(n).join();
      },
      "many");
  const rt::GlobalFunction<int(int, int)> tree = forks.function(
      [&](int n, int least) -> int {
        if (n < least) return fib(n);
        auto left = tree.fork(n - 1, least);
        const int right = tree(n - 2, least);
        return left.join() + right;
      },
      "tree");
  if (memory.rank() == 0) std::printf("Forks\n");
  time(memory, "run of nothing", 20, [&](int) { forks.run(nothing, 0); });
  time(memory, "fork and join of nothing, of 1000 in a run, all", 1, [&](int) { forks.run(many, 1000); });
  time(memory, "fib(32), without forks", 1, [&](int) {
    if (memory.rank() == 0 && fib(32) != 2178309) std::abort();
  });
  for (const int least : {18, 22, 26}) {
    char name[60];
    std::snprintf(name, sizeof name, "fib(32), forks from fib(%d) on", least);
    time(memory, name, 1, [&](int) {
      if (forks.run(tree, 32, least) != 2178309) std::abort();
    });
  }
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    std::fprintf(stderr, "usage: taskgrain-run -n 2 taskgrain-rt-global\n");
    return 2;
  }
  rt::Communicator comm;
  rt::Runtime runtime({.communicator = &comm});
  const rt::Pinned pinned(runtime.cores()[0]);  // else each wait does and undoes it
  arrays(runtime, true);
  arrays(runtime, false);
  forks(runtime);
}
