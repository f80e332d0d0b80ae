/// What a producer of tasks and one thief take:
///
///     PROGRAM TURNS [TASKS]    prints a line of JSON: the seconds of the tasks, and the share that the producer
///                              did not run

#include "producer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace producer {

namespace {

using Clock = std::chrono::steady_clock;

int round = 0;                       // of production; written between two of them
thread_local int producing_in = -1;  // the round in which this thread is the producer
long own = 0;                        // tasks that the producer ran; written by it

/// A chain of dependent additions. The place of such a loop in memory decides whether a turn takes one cycle or two:
/// all programs have this object at the same distance from a cache line.
[[gnu::noinline, gnu::aligned(64)]] void work(long turns) {
  for (long k = 0; k < turns; ++k) asm volatile("");
}

template <typename Body>
double seconds_of(const Body& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void be_the_producer() { producing_in = round; }

void run_task(long turns) {
  work(turns);
  if (producing_in == round) ++own;
}

}  // namespace producer

int main(int argc, char** argv) {
  using namespace producer;
  const long turns = argc > 1 ? std::atol(argv[1]) : -1, tasks = argc > 2 ? std::atol(argv[2]) : 100'000;
  if (argc < 2 || argc > 3 || turns < 0 || tasks < 2) {
    std::fprintf(stderr, "usage: %s TURNS [TASKS]\n", argv[0]);
    return 2;
  }
  start();
  produce(tasks, std::min(turns, 1'000L));  // memory is there, and threads are awake
  ++round;
  own = 0;
  const double seconds = seconds_of([&] { produce(tasks, turns); });
  std::printf("{\"seconds\": %.9f, \"stolen\": %.4f}\n", seconds,
              1 - static_cast<double>(own) / static_cast<double>(tasks));
  stop();
}
