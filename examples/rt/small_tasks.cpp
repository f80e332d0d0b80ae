/// Heat in a rod, by tasks of some ten nanoseconds: the tasks of the flow are an object.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int steps = 20'000, blocks = 64, side = 16, length = blocks * side;

/// What is cold at both ends, and was hot in the middle. A step reads one row and writes the other.
struct Rod {
  std::array<std::vector<double>, 2> rows{std::vector<double>(length + 2), std::vector<double>(length + 2)};

  Rod() { std::fill_n(rows[0].begin() + length / 3, length / 3, 100.0); }
  void step(int step, int begin, int end) {
    const std::vector<double>& from = rows[step % 2];
    std::vector<double>& to = rows[(step + 1) % 2];
    for (int k = begin + 1; k <= end; ++k) to[k] = from[k] + 0.25 * (from[k - 1] - 2 * from[k] + from[k + 1]);
  }
};

struct Key {
  int step, block;
};

/// A block comes after itself and its neighbours in the step before. They have read what it overwrites, too.
struct Tasks {
  static constexpr std::size_t at_once = 16;  // ready tasks that a worker runs before it looks up

  Rod& rod;
  int workers;

  int indegree(Key key) const { return key.step == 0 ? 1 : 1 + (key.block > 0) + (key.block < blocks - 1); }
  int worker(Key key) const { return key.block * workers / blocks; }
  void run(Key key) const { rod.step(key.step, key.block * side, (key.block + 1) * side); }
  void after(Key key, auto tell) const {  // so `run` fulfills nothing, and another worker gets one message for all
    if (key.step + 1 == steps) return;
    for (int next = std::max(key.block - 1, 0); next <= std::min(key.block + 1, blocks - 1); ++next)
      tell({key.step + 1, next});
  }
  std::size_t number(Key key) const { return static_cast<std::size_t>(key.step) * blocks + key.block; }
};

int main() {
  Rod expected, rod;
  for (int step = 0; step < steps; ++step) expected.step(step, 0, length);

  rt::Runtime runtime;
  rt::Taskflow<Key, Tasks> flow(runtime, Tasks{rod, runtime.workers()}, "block");
  for (int block = 0; block < blocks; ++block) flow.fulfill({0, block});
  runtime.wait();
  const std::size_t middle = length / 2;
  std::printf("%.3f degrees in the middle, by one loop %.3f\n", rod.rows[0][middle], expected.rows[0][middle]);
  return rod.rows == expected.rows ? 0 : 1;
}
