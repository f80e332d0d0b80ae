/// Random sequences of tasks under simulated schedules, in windows of a few tasks, whose places are given again and
/// again while others look at who had them before.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

#include "random.hpp"
#include "scheduler.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using simulated::check;

/// What a program has written and read so far, by one thread in program order.
struct Expected {
  int writes = 0, reads = 0;  // since the last write
};

/// A piece of data that notices tasks in a wrong order. Readers run beside each other.
struct Cell {
  int writes = 0;
  std::atomic<int> reads{0};  // since the last write
};

RuntimeOptions options(Random& random) {
  const int workers = 1 + below(random, 3);
  RuntimeOptions options{
      .workers = workers, .cores = std::vector<int>(static_cast<std::size_t>(workers), 0), .pin = false};
  options.spin = std::chrono::microseconds(below(random, 2) * 20);
  options.order = below(random, 2) == 0 ? Order::newest : Order::oldest;
  return options;
}

TEST(Schedules, OfSequences) {
  static_cast<void>(usable_cores());
  simulated::for_seeds("sequences", 2000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    Sequence sequence(runtime, {.window = std::size_t{1} << below(random, 5)});
    const int number = 1 + below(random, 6), most = 1 + below(random, 4), tasks = 1 + below(random, 40);
    std::deque<Cell> cells(static_cast<std::size_t>(number));
    std::vector<Expected> expected(cells.size());
    std::vector<Data> data;
    for (Cell& cell : cells) data.push_back(sequence.data(cell, {.home = below(random, runtime.workers())}));
    const int throws = below(random, 4) == 0 ? below(random, tasks) : -1;
    try {
      for (int k = 0; k < tasks; ++k) {
        std::vector<Access> accesses;
        struct Use {
          Cell* cell;
          bool writes;
          Expected before;
        };
        std::vector<Use> uses;
        std::vector<bool> used(cells.size());
        for (int n = below(random, most + 1); n > 0; --n) {
          const auto at = static_cast<std::size_t>(below(random, number));
          if (used[at]) continue;
          used[at] = true;
          const bool writes = below(random, 2) == 0;
          accesses.push_back(writes ? write(data[at]) : read(data[at]));
          uses.push_back({&cells[at], writes, expected[at]});
          if (writes)
            expected[at] = {expected[at].writes + 1, 0};
          else
            ++expected[at].reads;
        }
        sequence.task(accesses, [uses, throws = k == throws] {
          for (const Use& use : uses) {
            check(use.cell->writes == use.before.writes, "a task does not follow the last that wrote");
            if (!use.writes) {
              ++use.cell->reads;
              continue;
            }
            check(use.cell->reads == use.before.reads, "a task that writes does not follow those that read");
            use.cell->reads = 0;
            ++use.cell->writes;
          }
          if (throws) throw std::runtime_error("as it should");
        });
        if (below(random, 10) == 0) sequence.wait();
      }
      sequence.wait();
      check(throws < 0, "a failure was not told");
      for (std::size_t at = 0; at < cells.size(); ++at)
        check(cells[at].writes == expected[at].writes && cells[at].reads == expected[at].reads, "a task did not run");
    } catch (const TaskFailed&) {
      check(throws >= 0, "nothing threw");
      bool ran = false;
      sequence.task({write(data[0])}, [&] { ran = true; });
      sequence.wait();
      check(ran, "the sequence drops what comes");
    }
  });
}

}  // namespace
}  // namespace taskgrain::rt
