/// Futures: each call runs once, after those that it follows, and what is thrown reaches all that follow.

#include "taskgrain/rt/future.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Layers of calls, each of which adds up some of the layer before, and throws now and then.
struct Layers {
  std::uint64_t seed;
  std::size_t width, depth;

  std::vector<std::size_t> before(std::size_t layer, std::size_t k) const {
    Dice dice(seed + 1000 * layer + k);
    std::vector<std::size_t> found(1 + dice.below(3));
    for (std::size_t& one : found) one = dice.below(width);  // some twice
    return found;
  }
  bool throws(std::size_t layer, std::size_t k) const { return mixed(seed + 77 * layer + k) % 60 == 0; }
  std::uint64_t first(std::size_t k) const { return mixed(seed ^ k); }

  /// What each of the last layer comes to: its value, or why it has none.
  std::vector<std::string> expected() const {
    std::vector<std::uint64_t> values(width);
    std::vector<std::string> why(width);
    for (std::size_t k = 0; k < width; ++k) values[k] = first(k);
    for (std::size_t layer = 1; layer < depth; ++layer) {
      std::vector<std::uint64_t> next(width, layer);
      std::vector<std::string> next_why(width);
      for (std::size_t k = 0; k < width; ++k) {
        for (const std::size_t of : before(layer, k)) {
          next[k] = mixed(next[k] + values[of]);
          if (next_why[k].empty()) next_why[k] = why[of];
        }
        if (next_why[k].empty() && throws(layer, k)) next_why[k] = name(layer, k);
      }
      values = next;
      why = next_why;
    }
    for (std::size_t k = 0; k < width; ++k)
      if (why[k].empty()) why[k] = std::to_string(values[k]);
    return why;
  }
  static std::string name(std::size_t layer, std::size_t k) {
    return "call " + std::to_string(layer) + ", " + std::to_string(k);
  }

  std::vector<SharedFuture<std::uint64_t>> futures(Runtime& runtime, std::atomic<int>& calls) const {
    std::vector<SharedFuture<std::uint64_t>> values;
    for (std::size_t k = 0; k < width; ++k)
      values.push_back(async(runtime, [this, k] {
        Dice(k).tarry(3000);
        return first(k);
      }));
    for (std::size_t layer = 1; layer < depth; ++layer) {
      std::vector<SharedFuture<std::uint64_t>> next;
      for (std::size_t k = 0; k < width; ++k) {
        std::vector<SharedFuture<std::uint64_t>> of;
        for (const std::size_t one : before(layer, k)) of.push_back(values[one]);
        next.push_back(when_all(of).then([this, &calls, of, layer, k] {
          ++calls;
          if (throws(layer, k)) throw std::runtime_error(name(layer, k));
          std::uint64_t sum = layer;
          for (const auto& one : of) sum = mixed(sum + one.get());
          return sum;
        }));
      }
      values = next;
    }
    return values;
  }
};

TEST(SharedFuture, AnyLayersComeToWhatTheyDoOneAfterAnother) {
  for (const int workers : {1, 2, 4}) {
    Runtime runtime({.workers = workers});
    const Race race(100, 1);
    for (std::int64_t round = 0; race.has(round); ++round) {
      const Layers layers{static_cast<std::uint64_t>(round), 1 + static_cast<std::size_t>(round % 9), 12};
      std::atomic<int> calls{0};
      // Half of them are made by a task, while others run.
      const auto futures = round % 2 == 0 ? layers.futures(runtime, calls)
                                          : fork_join(runtime, [&] { return layers.futures(runtime, calls); });
      std::vector<std::string> found;
      for (const auto& one : futures) {
        try {
          found.push_back(std::to_string(one.get()));
        } catch (const std::runtime_error& error) {
          found.emplace_back(error.what());
        }
      }
      ASSERT_EQ(found, layers.expected()) << round;
      runtime.wait();
      ASSERT_LE(calls.load(), static_cast<int>(layers.width * (layers.depth - 1)));
    }
  }
}

TEST(SharedFuture, SeveralReadOneAndFollowIt) {
  Runtime runtime({.workers = 3});
  const auto text = async(runtime, [] { return std::make_unique<std::string>("one"); });
  const auto length = text.then([](const std::unique_ptr<std::string>& of) { return of->size(); });
  std::vector<std::thread> threads;
  std::atomic<std::size_t> sum{0};
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      sum += length.get() + text.get()->size();
      sum += length.then([](std::size_t of) { return of; }).get();  // by then it is there
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 4U * 9);
  EXPECT_EQ(*text.get(), "one");
}

TEST(SharedFuture, MayHaveNoValue) {
  Runtime runtime({.workers = 2});
  std::atomic<int> calls{0};
  const SharedFuture<void> one = async(runtime, [&] { ++calls; });
  const SharedFuture<void> two = one.then([&] { ++calls; });
  when_all(std::vector{one, two, one}).then([&] { ++calls; }).get();
  EXPECT_EQ(calls.load(), 3);
}

TEST(SharedFuture, ALongChainEndsAndGoes) {
  Runtime runtime({.workers = 2});
  SharedFuture<std::int64_t> last = async(runtime, [] { return std::int64_t{0}; });
  const std::int64_t number = rounds(20000);
  for (std::int64_t k = 0; k < number; ++k) last = last.then([](std::int64_t value) { return value + 1; });
  EXPECT_EQ(last.get(), number);
}

TEST(SharedFuture, OutlivesItsRuntime) {
  std::optional<SharedFuture<int>> kept;
  {
    Runtime runtime({.workers = 2});
    kept.emplace(async(runtime, [] { return 1; }).then([](int value) { return value + 1; }));
  }
  EXPECT_EQ(kept->get(), 2);
}

TEST(SharedFuture, OfTwoRuntimesAreNotFollowedTogether) {
  Runtime one({.workers = 1}), other({.workers = 1});
  const std::vector of{async(one, [] { return 1; }), async(other, [] { return 2; })};
  EXPECT_THAT([&] { static_cast<void>(when_all(of)); }, ThrowsMessage<UsageError>(HasSubstr("two runtimes")));
}

TEST(SharedFuture, MisuseIsAnError) {
  Runtime runtime({.workers = 2});
  EXPECT_THAT([] { static_cast<void>(when_all(std::vector<SharedFuture<int>>())); },
              ThrowsMessage<UsageError>(HasSubstr("no future")));
}

/// Calls that get some of those before them, by themselves or in a fork, and what they come to.
struct Getters {
  std::uint64_t seed;
  std::size_t number;

  std::vector<std::size_t> before(std::size_t k) const {
    Dice dice(seed + k);
    std::vector<std::size_t> found(k == 0 ? 0 : dice.below(4));
    for (std::size_t& one : found) one = k - 1 - dice.below(std::min<std::uint64_t>(k, 12));
    return found;
  }
  template <typename Get>
  std::uint64_t value(std::size_t k, const Get& get) const {
    std::uint64_t sum = k;
    for (const std::size_t of : before(k)) sum = mixed(sum + get(of));
    return sum;
  }
};

TEST(SharedFuture, TasksThatGetOthersComeToWhatTheyDoOneAfterAnother) {
  for (const int workers : {1, 2, 4}) {
    Runtime runtime({.workers = workers, .spin = std::chrono::microseconds(workers == 4 ? 0 : 100)});
    const Race race(60, 1);
    for (std::int64_t round = 0; race.has(round); ++round) {
      const Getters calls{static_cast<std::uint64_t>(round) << 20U, 150};
      std::vector<std::uint64_t> expected;
      for (std::size_t k = 0; k < calls.number; ++k)
        expected.push_back(calls.value(k, [&](std::size_t of) { return expected[of]; }));
      std::vector<SharedFuture<std::uint64_t>> futures;
      futures.reserve(calls.number);  // calls read it meanwhile
      const auto give = [&] {
        for (std::size_t k = 0; k < calls.number; ++k) {
          const auto get = [&](std::size_t of) { return futures[of].get(); };
          const auto call = [&calls, get, k] {
            Dice dice(k);
            dice.tarry(500);
            if (dice.below(3) != 0) return calls.value(k, get);
            Fork forked([&] { return calls.value(k, get); });
            dice.tarry(2000);  // so that another may take it
            return forked.join();
          };
          if (const auto of = calls.before(k); k % 4 == 0 && !of.empty())
            futures.push_back(futures[of.front()].then([call](std::uint64_t) { return call(); }));
          else
            futures.push_back(async(runtime, call));
        }
      };
      const auto get = [&] {
        std::vector<std::uint64_t> found(calls.number);
        for (std::size_t k = calls.number; k-- > 0;) found[k] = futures[k].get();
        return found;
      };
      if (round % 2 == 0) {
        give();
        ASSERT_EQ(fork_join(runtime, get), expected) << round;
      } else {
        ASSERT_EQ(fork_join(runtime, [&] { return give(), get(); }), expected) << round;
      }
      runtime.wait();
    }
  }
}

TEST(SharedFuture, ATaskRunsALongChainThatItGets) {
  Runtime runtime({.workers = 1});
  fork_join(runtime, [&] {
    SharedFuture<std::int64_t> last = async(runtime, [] { return std::int64_t{0}; });
    const std::int64_t number = rounds(20000);
    for (std::int64_t k = 0; k < number; ++k) last = last.then([](std::int64_t value) { return value + 1; });
    EXPECT_EQ(last.get(), number);
  });
}

TEST(SharedFuture, WhatTasksGetTheyMayThrow) {
  Runtime runtime({.workers = 1});
  const auto throws = async(runtime, []() -> int { throw std::runtime_error("no value"); });
  const auto gets = async(runtime, [&] { return throws.get(); });
  EXPECT_THAT([&] { fork_join(runtime, [&] { return gets.get(); }); }, ThrowsMessage<std::runtime_error>("no value"));
}

TEST(SharedFuture, ThatGetsItselfIsAnErrorThatNamesTheCircle) {
  for (const int workers : {1, 2, 3}) {
    Runtime runtime({.workers = workers});
    std::optional<SharedFuture<int>> one, two, three;
    std::atomic<int> begun{0};
    std::atomic<bool> all_made{false};
    const auto meet = [&] {  // where there are workers for all, each runs one
      ++begun;
      while (!all_made || (workers == 3 && begun < 3)) std::this_thread::yield();
    };
    const auto made_at = [line = __LINE__ + 1](int after) { return "future_test.cpp:" + std::to_string(line + after); };
    one.emplace(async(runtime, [&] { return meet(), two->get(); }));
    two.emplace(async(runtime, [&] {
      meet();
      Fork forked([&] { return three->get(); });
      return forked.join();
    }));
    three.emplace(async(runtime, [&] { return meet(), one->get(); }));
    all_made = true;
    for (const auto* future : {&*one, &*two, &*three})
      EXPECT_THAT([&] { static_cast<void>(future->get()); },
                  ThrowsMessage<UsageError>(testing::AllOf(HasSubstr("wait for one another"), HasSubstr(made_at(0)),
                                                           HasSubstr(made_at(1)), HasSubstr(made_at(6)))));
    runtime.wait();
  }
}

/// Waits until another worker has begun something, or too long. \param forks  so that what was forked is shared
void linger(const std::atomic<bool>& begun, bool forks, int ms = 50) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
       !begun && std::chrono::steady_clock::now() < end;) {
    if (!forks) continue;
    Fork nothing([] {});
    nothing.join();
  }
}

// A worker shares a loop, and then, in a join, steals a part F of what another one runs. That one waits for F, and may
// not take its block of the loop: the block is no part of F, and gets a future that lies below on the same stack.
TEST(SharedFuture, AWaitTakesNoPartOfALoopThatItDoesNotNeed) {
  Runtime runtime({.workers = 3});
  const auto busy = [](int ms) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
         std::chrono::steady_clock::now() < end;) {
    }
  };
  for (std::int64_t round = 0; round < rounds(5); ++round) {
    std::atomic<bool> loop{false}, made{false}, other{false}, gets{false}, part{false}, all{false};
    std::optional<SharedFuture<int>> future;
    TaskGraph graph("of worker 2");
    graph.task(2, [&](const Turn&) {
      Fork shares([&] {
        loop = true;
        busy(5);  // so that others ask
        parallel_for(runtime, std::views::iota(0, 2), [&](int k) {
          if (k == 1) return static_cast<void>(made && future->get() == 0);
          busy(3);
          Fork long_one([&] { other = true, busy(50); });
          linger(other, false);
          future.emplace(async(runtime, [&] {
            Fork stolen([&] { part = true, busy(20); });
            linger(part, true);
            return stolen.join(), 1;
          }));
          made = true;
          Fork getter([&] { gets = true, future->get(); });
          all = true;
          linger(gets, true);
          getter.join();
          long_one.join();
        });
      });
      linger(loop, true);
      linger(all, false, 200);
      shares.join();
    });
    CompiledGraph compiled(runtime, std::move(graph));
    compiled.launch({.iterations = 1});
    ASSERT_NO_THROW(runtime.wait()) << round;
  }
}

TEST(SharedFuture, ThatIsNestedTooDeeplyIsAnError) {
  constexpr std::size_t number = 20'000;
  std::atomic<bool> tried{false};
  std::vector<SharedFuture<int>> chain;
  chain.reserve(number);
  Runtime runtime({.workers = 2, .stack_bytes = 512 << 10});  // ends before the chain, and runs what is left
  runtime.on_each_worker([&](int worker) {
    if (worker == 0) return 0;
    chain.push_back(async(runtime, [&] {  // so that who takes the first ones ends none
      while (!tried) std::this_thread::yield();
      return 0;
    }));
    while (chain.size() < number) chain.push_back(async(runtime, [&before = chain.back()] { return before.get(); }));
    EXPECT_THAT([&] { static_cast<void>(chain.back().get()); }, ThrowsMessage<UsageError>(HasSubstr("stack")));
    tried = true;
    return 0;
  });
}

}  // namespace
}  // namespace taskgrain::rt
