/// A task runs when all that it comes after have ended, and for nothing else does it wait.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {
namespace {

struct Use {
  std::size_t data;
  bool writes;
};
using Program = std::vector<std::vector<Use>>;

bool conflict(const std::vector<Use>& a, const std::vector<Use>& b) {
  return std::ranges::any_of(a, [&](const Use& one) {
    return std::ranges::any_of(
        b, [&](const Use& other) { return one.data == other.data && (one.writes || other.writes); });
  });
}
/// By task, whether it comes after a task, over any number of others.
std::vector<bool> after(const Program& program, std::size_t held) {
  std::vector<bool> after(program.size());
  for (std::size_t task = held + 1; task < program.size(); ++task)
    for (std::size_t other = held; other < task && !after[task]; ++other)
      after[task] = (other == held || after[other]) && conflict(program[task], program[other]);
  return after;
}
/// Tasks write one of the data in turn, and read some of those that were written last.
Program in_turn(std::size_t data, std::size_t tasks, std::mt19937_64& random) {
  Program program;
  for (std::size_t task = 0; task < tasks; ++task) {
    auto& uses = program.emplace_back();
    uses.push_back({task % data, true});
    for (std::size_t back = 1 + random() % data; back < data; back += 1 + random() % data)
      uses.push_back({(task + data - back) % data, false});
  }
  return program;
}

/// Holds a task of a program while all that do not come after it run.
void hold_one(Runtime& runtime, const Program& program, std::size_t data, std::size_t held, const std::string& what) {
  Sequence sequence(runtime);
  std::vector<int> memory(data);
  std::deque<Data> handles;
  for (int& one : memory) handles.push_back(sequence.data(one));
  std::vector<std::atomic<bool>> ran(program.size());
  std::atomic<bool> go{false};
  for (std::size_t task = 0; task < program.size(); ++task) {
    std::vector<Access> accesses;
    for (const Use& use : program[task])
      accesses.push_back(use.writes ? write(handles[use.data]) : read(handles[use.data]));
    sequence.task(accesses,
                  [&, task] {
                    while (task == held && !go) std::this_thread::yield();
                    ran[task] = true;
                  },
                  {.worker = task == held ? 1 : 0});
  }
  const std::vector<bool> waits = after(program, held);
  const auto rest_ran = [&] {
    for (std::size_t task = 0; task < program.size(); ++task)
      if (task != held && !waits[task] && !ran[task]) return false;
    return true;
  };
  runtime.work_until(rest_ran);
  EXPECT_TRUE(rest_ran()) << what;
  for (std::size_t task = 0; task < program.size(); ++task)
    EXPECT_FALSE(waits[task] && ran[task]) << "task " << task << " of " << what;
  go = true;
  sequence.wait();
  EXPECT_TRUE(std::ranges::all_of(ran, [](const auto& one) { return one.load(); })) << what;
}

TEST(RtSequenceOrder, IsThatOfWhatTasksUse) {
  Runtime runtime({.workers = 2, .pin = false, .check = false});
  std::mt19937_64 random(1);
  for (const std::size_t data : {1, 2, 3, 8, 31, 32, 63, 64, 65, 66, 130})
    for (int k = 0; k < 4; ++k) {
      const Program program = in_turn(data, 200, random);
      const std::size_t held = random() % program.size();
      hold_one(runtime, program, data, held, std::to_string(data) + " data, " + std::to_string(held) + " held");
    }
}

}  // namespace
}  // namespace taskgrain::rt
