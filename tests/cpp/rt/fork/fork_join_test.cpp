/// Forks: a program with them does what it does without them.

#include "taskgrain/rt/fork_join.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt/sequence.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// The same without forks: the call comes when it is joined.
template <typename Call>
struct Plain {
  explicit Plain(Call of) : call(of) {}
  auto join() { return call(); }
  Call call;
};

int fib(int n) {
  if (n < 2) return n;
  Fork left([=] { return fib(n - 1); });
  const int right = fib(n - 2);
  return left.join() + right;
}

int fib_plain(int n) { return n < 2 ? n : fib_plain(n - 1) + fib_plain(n - 2); }

/// A random nest of calls: it forks some, joins them in one order or the other, and throws
/// now and then, which leaves forks behind.
template <bool parallel>
std::uint64_t nest(std::uint64_t seed, int depth) {
  Dice dice(seed);
  if (depth == 0) {
    dice.tarry(200);
    return mixed(seed);
  }
  const auto child = [&](std::uint64_t k) { return [=] { return nest<parallel>(mixed(seed + k), depth - 1); }; };
  using Call = decltype(child(0));
  using Forked = std::conditional_t<parallel, Fork<Call>, Plain<Call>>;
  std::array<std::optional<Forked>, 3> forked;
  const std::uint64_t number = dice.below(4);
  for (std::uint64_t k = 0; k < number; ++k) forked[k].emplace(child(k));
  std::uint64_t sum = nest<parallel>(mixed(seed + 9), depth - 1);
  if (dice.below(40) == 0) throw std::runtime_error("body " + std::to_string(seed));
  const bool backwards = dice.below(4) != 0;
  for (std::uint64_t k = 0; k < number; ++k) {
    if (dice.below(50) == 0) throw std::runtime_error("between " + std::to_string(seed));
    sum = mixed(sum + forked[backwards ? number - 1 - k : k]->join());
    if (dice.below(3) == 0) {  // and forks between two joins
      Forked one(child(10 + k)), two(child(20 + k));
      sum = mixed(sum + one.join());
      sum = mixed(sum + two.join());
    }
  }
  return sum;
}

template <typename Call>
std::string outcome(const Call& call) {
  try {
    return std::to_string(call());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(ForkJoin, AnyNestDoesWhatItDoesWithoutForks) {
  for (const int workers : {1, 2, 5}) {
    Runtime runtime({.workers = workers});
    const Race race(400);
    for (std::int64_t seed = 0; race.has(seed); ++seed) {
      const auto of = static_cast<std::uint64_t>(seed);
      const std::string expected = outcome([&] { return nest<false>(of, 6); });
      ASSERT_EQ(outcome([&] { return fork_join(runtime, [&] { return nest<true>(of, 6); }); }), expected) << seed;
    }
  }
}

TEST(ForkJoin, EachCallRunsOnce) {
  Runtime runtime({.workers = 3});
  const Race race(300);
  for (std::int64_t round = 0; race.has(round); ++round) {
    std::atomic<int> calls{0};
    std::function<void(int)> tree = [&](int depth) {
      calls.fetch_add(1, std::memory_order_relaxed);
      if (depth == 0) return;
      Fork left([&] { tree(depth - 1); });
      Fork middle([&] { tree(depth - 1); });
      tree(depth - 1);
      middle.join();
      left.join();
    };
    fork_join(runtime, [&] { tree(5); });
    ASSERT_EQ(calls.load(), 364);
  }
}

TEST(ForkJoin, ResultsMayBeOfAnyTypeThatMoves) {
  Runtime runtime({.workers = 2});
  const auto made = fork_join(runtime, [] {
    Fork one([] { return std::make_unique<std::string>("one"); });
    Fork two([text = std::make_unique<int>(2)] { return *text; });
    return *one.join() + std::to_string(two.join());
  });
  EXPECT_EQ(made, "one2");
}

TEST(ForkJoin, WhatIsLeftByAnExceptionIsDroppedOrWaitedFor) {
  Runtime runtime({.workers = 2});
  for (std::int64_t round = rounds(200); round > 0; --round) {
    std::atomic<int> began{0}, ended{0};
    const auto call = [&] {
      Fork forked([&] {
        ++began;
        std::this_thread::yield();
        ++ended;
      });
      if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
      throw std::runtime_error("left");
    };
    EXPECT_THROW(fork_join(runtime, call), std::runtime_error);
    ASSERT_EQ(began.load(), ended.load());
  }
}

TEST(ForkJoin, WhatAContainerOfForksDropsDoesNotRun) {
  Runtime runtime({.workers = 1});
  int calls = 0;
  const auto call = [&] { ++calls; };
  fork_join(runtime, [&] {
    {
      std::deque<Fork<decltype(call)>> forks;  // it destroys the oldest first
      for (int k = 0; k < 5; ++k) forks.emplace_back(call);
    }
    std::optional<Fork<decltype(call)>> older;
    older.emplace(call);
    Fork newer(call);
    older.reset();
    newer.join();
  });
  EXPECT_EQ(calls, 1);
}

TEST(ForkJoin, AllWhoAskGetSomethingFromForksThatComeTogether) {
  Runtime runtime({.workers = 4, .spin = std::chrono::seconds(1)});
  std::atomic<int> together{0};
  const auto meet = [&] {  // only four workers can
    ++together;
    for (int k = 0; k < 10000 && together < 4; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return together.load();
  };
  const int met = fork_join(runtime, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Fork one(meet), two(meet), three(meet);
    const int here = meet();
    return std::min({three.join(), two.join(), one.join(), here});
  });
  EXPECT_EQ(met, 4);
}

TEST(ForkJoin, MessagesWaitWhileAJoinDoes) {
  Runtime runtime({.workers = 2});
  Taskflow<int> flow(runtime, "flow");
  std::atomic<int> asked{0};
  flow.indegree([&](int) {
    Fork beside([] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
    ++asked;
    beside.join();
    return 1;
  });
  flow.worker([](int) { return 0; }).run([](int) {});
  std::thread outside([&] {
    const auto hold = runtime.hold();
    for (int k = 0; k < 50; ++k) {
      flow.fulfill(k);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  outside.join();
  flow.wait();
  EXPECT_EQ(asked.load(), 50);
}

TEST(ForkJoin, ATaskOfAnotherRuntimeInATaskOfThisOneCannotComeBack) {
  Runtime outer({.workers = 2}), inner({.workers = 2});
  for (const bool forked : {false, true})
    fork_join(outer, [&] {
      const auto there_and_back = [&] {
        fork_join(inner, [&] {
          EXPECT_THAT([&] { fork_join(outer, [] {}); }, ThrowsMessage<UsageError>(HasSubstr("cannot wait")));
        });
      };
      if (!forked) return there_and_back();
      Fork one(there_and_back);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      one.join();
    });
}

TEST(ForkJoin, MisuseIsAnError) {
  const auto outside = [] { Fork lost([] {}); };
  EXPECT_THAT(outside, ThrowsMessage<UsageError>(HasSubstr("needs a worker")));
  Runtime runtime({.workers = 2});
  fork_join(runtime, [] {
    Fork twice([] { return 1; });
    EXPECT_EQ(twice.join(), 1);
    EXPECT_THAT([&] { twice.join(); }, ThrowsMessage<UsageError>(HasSubstr("joined once")));
    Fork mine([] { return 2; });
    std::thread([&] {
      EXPECT_THAT([&] { mine.join(); }, ThrowsMessage<UsageError>(HasSubstr("the thread that made it")));
    }).join();
    EXPECT_EQ(mine.join(), 2);
  });
}

int deep(int depth) {
  Fork beside([] { return 0; });
  const int below = depth == 0 ? 0 : deep(depth - 1);
  return below + beside.join();
}

TEST(ForkJoin, NestsThatAreTooDeepForTheStackAreAnError) {
  Runtime runtime({.workers = 2, .stack_bytes = 1 << 20});
  runtime.on_each_worker([](int worker) {
    if (worker != 1) return;
    EXPECT_THAT([] { deep(1 << 30); }, ThrowsMessage<UsageError>(HasSubstr("stack_bytes")));
  });
  EXPECT_EQ(fork_join(runtime, [] { return fib(10); }), 55);
}

TEST(ForkJoin, MoreForksThanThereIsRoomForRunInTheirJoin) {
  Runtime runtime({.workers = 2});
  const auto sum = fork_join(runtime, [] {
    const auto one = [] { return 1; };
    std::deque<Fork<decltype(one)>> many;
    for (std::uint32_t k = 0; k < detail::SplitDeque::capacity + 100; ++k) many.emplace_back(one);
    int found = 0;
    for (auto& fork : many) found += fork.join();
    return found;
  });
  EXPECT_EQ(sum, static_cast<int>(detail::SplitDeque::capacity) + 100);
}

TEST(ForkJoin, TasksOfAllFacesMayFork) {
  Runtime runtime({.workers = 3});
  std::atomic<int> sum{0};
  Taskflow<int> flow(runtime, "flow");
  flow.indegree([](int) { return 1; }).worker([](int k) { return k % 3; }).run([&](int k) {
    sum += fib(k % 16);
    sum += fork_join(runtime, [] { return fib(5); });
  });
  Sequence sequence(runtime);
  int value = 0, expected = 0, given = 0;
  const Data data = sequence.data(value);
  for (int k = 0; k < 64; ++k) {
    flow.fulfill(k);
    sequence.task({read_write(data)}, [&value, k] { value += fib(k % 12); });
    expected += fib_plain(k % 16) + 5;
    given += fib_plain(k % 12);
  }
  sequence.wait();
  flow.wait();
  EXPECT_EQ(sum.load(), expected);
  EXPECT_EQ(value, given);
}

TEST(ForkJoin, SeveralThreadsMayCallAtATime) {
  Runtime runtime({.workers = 2});
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      for (int round = 0; round < 20; ++round)
        EXPECT_EQ(fork_join(runtime, [k] { return fib(10 + k); }), fib_plain(10 + k));
    });
  std::atomic<bool> over{false};
  std::thread waiting([&] { runtime.work_until([&] { return over.load(); }); });
  for (std::thread& thread : threads) thread.join();
  over = true;
  runtime.notify();
  waiting.join();
}

TEST(ForkJoin, ItStartsTheThreadsAgain) {
  Runtime runtime({.workers = 2});
  runtime.join();
  EXPECT_EQ(fork_join(runtime, [] { return fib(12); }), 144);
}

TEST(ForkJoin, AWorkerThatSleepsIsWoken) {
  Runtime runtime({.workers = 2, .spin = std::chrono::nanoseconds(0)});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<int> by{-1};
  fork_join(runtime, [&] {
    Fork other([&] { by = this_worker(); });
    for (int k = 0; k < 10000 && by < 0; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    other.join();
  });
  EXPECT_EQ(by.load(), 1);
}

}  // namespace
}  // namespace taskgrain::rt
