/// The floor: a cache line that two cores write in turn.
///
///     taskgrain-messages-cache_line PROCESSOR PROCESSOR        one line of JSON on stdout

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "measure.hpp"
#include "taskgrain/rt.hpp"

int main(int argc, char** argv) {
  using namespace taskgrain;
  if (argc != 3) {
    std::fprintf(stderr, "usage: taskgrain-messages-cache_line PROCESSOR PROCESSOR\n");
    return 2;
  }
  constexpr int warm = 1000, rounds = 200000;
  alignas(128) static std::atomic<int> line{0};
  const auto play = [](int begin, int end) {
    for (int k = begin; k < end; k += 2) {
      while (line.load(std::memory_order_acquire) != k) {
      }
      line.store(k + 1, std::memory_order_release);
    }
  };
  std::thread other([&] {
    const rt::Pinned pinned(std::atoi(argv[2]));
    play(1, warm + 2 * rounds);
  });
  const rt::Pinned pinned(std::atoi(argv[1]));
  play(0, warm);  // until the other thread is where it belongs
  const bench::Clock clock;
  play(warm, warm + 2 * rounds);
  bench::print_result("cache line", "latency", 4, rounds, clock.seconds());
  other.join();
}
