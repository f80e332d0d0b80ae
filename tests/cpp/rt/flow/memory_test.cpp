/// What the runtime takes: no allocation a task in the steady state, and no memory for tasks that are past or to come.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "allocations.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

/// A stencil of `width` points: task (step, point) needs the points next to it and itself of the step before. Measures
/// what the threads allocate from the first task of a run on each to the last.
template <typename K>
class Stencil {
 public:
  explicit Stencil(Runtime& runtime, std::int64_t width) : runtime_(runtime), width_(width), flow_(runtime, "stencil") {
    flow_.indegree([this](const K& key) { return step(key) == 0 ? 0 : degree(point(key)); });
    flow_.worker([this](const K& key) { return static_cast<int>(point(key) * runtime_.workers() / width_); });
    flow_.run([this](const K& key) { run(key); });
  }

  void run_steps(std::int64_t steps) {
    steps_ = steps;
    for (Meter& meter : meters_) meter = {};
    for (std::int64_t point = 0; point < width_; ++point) flow_.fulfill(key(0, point));
    runtime_.wait();
  }
  std::int64_t allocated() const {
    std::int64_t sum = 0;
    for (const Meter& meter : meters_) sum += meter.last - meter.first;
    return sum;
  }
  std::int64_t tasks() const {
    std::int64_t sum = 0;
    for (const Meter& meter : meters_) sum += meter.tasks;
    return sum;
  }
  void ranked() {
    flow_.priority([](const K& key) { return static_cast<int>(point(key) % 3); });
    flow_.bound([](const K& key) { return point(key) % 5 == 0; });
  }

 private:
  struct alignas(128) Meter {
    std::int64_t tasks = 0, first = 0, last = 0;
  };

  static K key(std::int64_t step, std::int64_t point) {
    if constexpr (std::is_integral_v<K>)
      return static_cast<K>(step << 20 | point);
    else
      return K{step, point};
  }
  static std::int64_t step(const K& key) {
    if constexpr (std::is_integral_v<K>)
      return key >> 20;
    else
      return std::get<0>(key);
  }
  static std::int64_t point(const K& key) {
    if constexpr (std::is_integral_v<K>)
      return key & ((1 << 20) - 1);
    else
      return std::get<1>(key);
  }
  int degree(std::int64_t point) const { return 1 + (point > 0) + (point < width_ - 1); }
  void run(const K& task) {
    Meter& meter = meters_[static_cast<std::size_t>(this_worker())];
    if (meter.tasks++ == 0) meter.first = allocations();
    if (step(task) + 1 < steps_)
      for (std::int64_t next = point(task) - 1; next <= point(task) + 1; ++next)
        if (next >= 0 && next < width_) flow_.fulfill(key(step(task) + 1, next));
    meter.last = allocations();
  }

  Runtime& runtime_;
  std::int64_t width_, steps_ = 0;
  std::vector<Meter> meters_ = std::vector<Meter>(8);
  Taskflow<K> flow_;
};

template <typename K>
void expect_no_allocations(int workers, bool ranked) {
  Runtime runtime({.workers = workers, .check = false});
  Stencil<K> stencil(runtime, 40);
  if (ranked) stencil.ranked();
  stencil.run_steps(500);  // queues and tables get their sizes
  stencil.run_steps(1000);
  EXPECT_EQ(stencil.tasks(), 40'000);
  // A queue may get longer than ever before, and a worker may send to another for the first time: some allocations,
  // whatever the number of tasks.
  EXPECT_LT(stencil.allocated(), stencil.tasks() / 100) << workers << (ranked ? " workers, ranked" : " workers");
}

TEST(Memory, TasksAllocateNothing) {
  for (const bool ranked : {false, true})
    for (const int workers : {1, 2, 4}) {
      expect_no_allocations<std::int64_t>(workers, ranked);
      expect_no_allocations<std::array<std::int64_t, 2>>(workers, ranked);
      expect_no_allocations<std::tuple<std::int64_t, std::int64_t>>(workers, ranked);
      expect_no_allocations<std::pair<std::int64_t, std::int64_t>>(workers, ranked);
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // what these keep grows with what was used
/// Bytes.
std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

TEST(Memory, FollowsTheTasksThatWaitAndNotTheGraph) {
  // A million tasks after a hundred thousand of the same width take hardly any memory more. examples/rt/huge.cpp shows
  // 10^8 of them.
  Runtime runtime({.workers = 2, .check = false});
  Stencil<std::int64_t> stencil(runtime, 100);
  stencil.run_steps(1000);
  const std::int64_t before = peak_memory();
  stencil.run_steps(10'000);
  EXPECT_EQ(stencil.tasks(), 1'000'000);
  EXPECT_LT(peak_memory() - before, 4 << 20);  // a table of all would take 16 MB
}
#endif

}  // namespace
}  // namespace taskgrain::rt
