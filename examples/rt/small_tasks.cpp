/// Heat in a rod, by tasks of some ten nanoseconds: the functions of the flow are members of an object. (Blocks that
/// are so small hardly pay. They show what the object may say.)

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <ostream>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr int steps = 20'000, blocks = 64, side = 16, length = blocks * side;

/// Hot in its middle third at first; the ends stay cold. A step reads one row and writes the other.
struct Rod {
  std::array<std::vector<double>, 2> rows{std::vector<double>(length + 2), std::vector<double>(length + 2)};

  Rod() { std::fill_n(rows[0].begin() + length / 3, length / 3, 100.0); }
  void advance(int step, int begin, int end) {
    const std::vector<double>& from = rows[step % 2];
    std::vector<double>& to = rows[(step + 1) % 2];
    for (int k = begin + 1; k <= end; ++k) to[k] = from[k] + 0.25 * (from[k - 1] - 2 * from[k] + from[k + 1]);
  }
};

struct Key {
  int step, block;

  friend std::ostream& operator<<(std::ostream& to, const Key& key) {  // for errors
    return to << "(" << key.step << ", " << key.block << ")";
  }
};

/// A task comes after those of its block and of the neighbours in the step before: they wrote what it reads, and have
/// read what it overwrites. All workers call the members at once.
struct Tasks {
  static constexpr std::size_t at_once = 16;  // ready tasks that a worker runs before it looks for messages

  Rod& rod;
  int workers;

  int indegree(Key key) const { return key.step == 0 ? 1 : 1 + (key.block > 0) + (key.block < blocks - 1); }
  int worker(Key key) const { return key.block * workers / blocks; }
  void run(Key key) const { rod.advance(key.step, key.block * side, (key.block + 1) * side); }
  void after(Key key, auto notify) const {  // the flow fulfills these, so `run` does not
    if (key.step + 1 == steps) return;
    for (int next = std::max(key.block - 1, 0); next <= std::min(key.block + 1, blocks - 1); ++next)
      notify({key.step + 1, next});
  }
  std::size_t number(Key key) const {  // consecutive in a step
    return static_cast<std::size_t>(key.step) * blocks + key.block;
  }
};

int main() {
  Rod expected, rod;
  for (int step = 0; step < steps; ++step) expected.advance(step, 0, length);

  rt::Runtime runtime;
  rt::Taskflow<Key, Tasks> flow(runtime, Tasks{rod, runtime.workers()}, "block");
  for (int block = 0; block < blocks; ++block) flow.fulfill({0, block});
  runtime.wait();
  const auto middle = [](const Rod& of) { return of.rows[steps % 2][length / 2]; };
  std::printf("%.3f degrees in the middle, by one loop %.3f\n", middle(rod), middle(expected));
  return rod.rows == expected.rows ? 0 : 1;  // the same operations in the same order: not a bit differs
}
