/// No runtime: each of two bound threads knows its half of the tasks. What this takes is the ideal.

#include <atomic>
#include <optional>
#include <thread>

#include "producer.hpp"
#include "taskgrain/rt/cores.hpp"

namespace producer {

namespace {

using taskgrain::rt::Pinned;

constexpr long over = -1;

std::atomic<long> wanted{0}, done{0};  // halves of the other thread
long half_of_tasks = 0, turns_of_task = 0;
std::optional<Pinned> pinned;
std::thread other;

void run_half() {
  for (long k = 0; k < half_of_tasks; ++k) run_task(turns_of_task);
}

}  // namespace

void start() {
  const auto cores = taskgrain::rt::usable_cores();  // before this thread is bound
  pinned.emplace(cores.front()[0]);
  other = std::thread([there = cores[cores.size() > 1 ? 1 : 0][0]] {
    const Pinned bound(there);
    for (long last = 0;;) {
      const long now = wanted.load(std::memory_order_acquire);
      if (now == over) return;
      if (now == last) continue;
      run_half();
      done.store(last = now, std::memory_order_release);
    }
  });
}

void stop() {
  wanted.store(over, std::memory_order_release);
  other.join();
}

void produce(long tasks, long turns) {
  be_the_producer();
  half_of_tasks = tasks / 2;
  turns_of_task = turns;
  const long now = wanted.load(std::memory_order_relaxed) + 1;
  wanted.store(now, std::memory_order_release);
  run_half();
  while (done.load(std::memory_order_acquire) != now) {
  }
}

}  // namespace producer
