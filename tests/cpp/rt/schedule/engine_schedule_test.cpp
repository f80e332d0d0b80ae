/// Threads that submit, wait, fork, join and start at a time, under simulated schedules.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "random.hpp"
#include "scheduler.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using namespace std::chrono_literals;
using simulated::check;

/// Chains of tasks, each of which a thread outside begins; the next of a chain may belong to another worker.
class Chains {
 public:
  static constexpr int most = 64, most_length = 4;

  /// \param floods  whether tasks of some chains send worker 0 more than its mailboxes take
  Chains(Runtime& runtime, Random& random, bool floods)
      : flood(runtime, "drop"), flow(runtime, "link"), runtime_(runtime) {
    // Bound, or worker 0 would wake thieves to steal them.
    flood.indegree([](int) { return 1; }).worker([](int) { return 0; }).bound([](int) { return true; });
    flood.run([this](int) { --drops_; });
    for (auto& chain : chains_) {
      chain.length = 1 + below(random, most_length);
      chain.far = below(random, 3) != 0;
      chain.first = below(random, runtime.workers());
      chain.says = below(random, 2) == 0;
      chain.floods = floods && below(random, 2) == 0;
    }
    const int workers = runtime.workers();
    flow.worker([this, workers](int key) {
      const Chain& chain = chains_[static_cast<std::size_t>(key / most_length)];
      return (chain.first + (chain.far ? key % most_length : 0)) % workers;
    });
    flow.indegree([](int) { return 1; });
    flow.run([this](int key) {
      Chain& chain = chains_[static_cast<std::size_t>(key / most_length)];
      check(chain.ran++ == key % most_length, "a task ran twice or too early");
      for (int drops = chain.floods ? 6 : 0; drops > 0; --drops) flood.fulfill(++drops_);
      if (chain.ran < chain.length) return flow.fulfill(key + 1);
      chain.end.set();
      if (chain.says) runtime_.notify();
    });
  }

  /// Begins another one.
  int begin() {
    const int chain = next_++;
    flow.fulfill(chain * most_length);
    return chain;
  }
  bool done(int chain) const { return at(chain).ran == at(chain).length; }
  void check_done(int chain, const char* after) const {
    check(done(chain), std::string("a task has not run after ") + after);
  }
  const Event& end_of(int chain) const { return at(chain).end; }
  bool full() const { return next_ == most; }
  int begun() const { return next_; }
  void check_no_drops() const { check(drops_ == 0, "tasks of worker 0 were lost"); }

  Taskflow<int> flood;  // of worker 0: more than its mailboxes take
  Taskflow<int> flow;

 private:
  struct Chain {
    int length = 0, first = 0;
    bool far = false, says = false, floods = false;
    int ran = 0;
    Event end;
  };
  const Chain& at(int chain) const { return chains_[static_cast<std::size_t>(chain)]; }

  Runtime& runtime_;
  std::array<Chain, most> chains_;
  int next_ = 0, drops_ = 0;  // threads take turns
};

RuntimeOptions options(Random& random) {
  constexpr std::chrono::nanoseconds spins[] = {0ns, 2us, 20us, 200us};
  const int workers = 1 + below(random, 3);
  return {.workers = workers,
          .cores = std::vector<int>(static_cast<std::size_t>(workers), 0),
          .pin = false,
          .spin = spins[below(random, 4)]};
}

/// A tree of forks, whose joins come in one order or the other. \returns its leaves, 3^depth
int leaves(int depth, bool backwards) {
  if (depth == 0) return 1;
  Fork one([=] { return leaves(depth - 1, !backwards); });
  Fork two([=] { return leaves(depth - 1, backwards); });
  const int own = leaves(depth - 1, backwards);
  return own + (backwards ? two.join() + one.join() : one.join() + two.join());
}

/// Loops one after another, of which each element needs two of the loop before.
void loops(Runtime& runtime, int size, int steps) {
  std::vector<int> before(static_cast<std::size_t>(size), 1), now(before);
  fork_join(runtime, [&] {
    for (int step = 0; step < steps; ++step) {
      parallel_for(runtime, std::views::iota(std::size_t{0}, now.size()),
                   [&](std::size_t k) { now[k] = before[k] + before[now.size() - 1 - k]; });
      before.swap(now);
    }
    const int sum = parallel_reduce(runtime, before, 0, std::plus<>());
    check(sum == size << steps, "an element of a loop has not run, or twice, or too early");
  });
}

/// What a thread outside does. \param mine  the chains that it has begun
void act(Random& random, Runtime& runtime, Chains& chains, std::vector<int>& mine) {
  const auto check_mine = [&](const char* after) {  // of one flow, nothing is said of the other
    for (const int chain : mine) chains.check_done(chain, after);
  };
  const auto begin = [&] {
    if (!chains.full()) mine.push_back(chains.begin());
  };
  switch (below(random, 14)) {
    case 0:
    case 1:
    case 2:
      for (int n = below(random, 3); n >= 0; --n) begin();
      break;
    case 3: {
      const auto hold = runtime.hold();
      begin();
      break;
    }
    case 4:
      runtime.join();
      return check_mine("join");
    case 5:
      return runtime.start();
    case 6:
      chains.flow.wait();
      return check_mine("the wait for a flow");
    case 7:
      if (mine.empty()) return;
      runtime.wait(chains.end_of(mine.back()));
      return chains.check_done(mine.back(), "the wait for its event");
    case 8:  // nobody waits for a while
      return std::this_thread::sleep_for(std::chrono::microseconds(1 + below(random, 100)));
    case 9:
      if (mine.empty()) return;
      runtime.work_until([&] { return chains.done(mine.back()); });
      return chains.check_done(mine.back(), "work_until");
    case 10:
    case 11: {
      const int depth = below(random, 4), expected[] = {1, 3, 9, 27};
      const bool backwards = below(random, 2) == 0;
      return check(fork_join(runtime, [&] { return leaves(depth, backwards); }) == expected[depth],
                   "a fork has not run, or twice");
    }
    case 12:
      return loops(runtime, 2 + below(random, 6), 1 + below(random, 4));
    default:
      runtime.wait();
      return check_mine("the wait for everything");
  }
}

TEST(Schedules, OfThreadsThatSubmitWaitJoinAndStart) {
  simulated::for_seeds("engine", 4000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    Chains chains(runtime, random, below(random, 2) == 0);
    std::vector<std::thread> threads;
    for (int number = below(random, 4); number > 0; --number)
      threads.emplace_back([&, own = Random(static_cast<unsigned>(random()))]() mutable {
        std::vector<int> mine;
        for (int actions = 1 + below(own, 6); actions > 0; --actions) act(own, runtime, chains, mine);
      });
    std::vector<int> mine;
    for (int actions = 1 + below(random, 6); actions > 0; --actions) act(random, runtime, chains, mine);
    for (std::thread& thread : threads) thread.join();
    if (below(random, 2) == 0) runtime.join();
    runtime.wait();
    for (int chain = 0; chain < chains.begun(); ++chain) chains.check_done(chain, "all");
    chains.check_no_drops();
  });
}

TEST(Schedules, OfWorkersThatSleepAtOnce) {
  // Little is done but to become idle, or starved, and to wake one another. There may be a thread that waits for an
  // event under a hold, for which worker 0 stays.
  simulated::for_seeds("sleep", 8000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    const int workers = 2 + below(random, 3);
    Runtime runtime({.workers = workers,
                     .cores = std::vector<int>(static_cast<std::size_t>(workers), 0),
                     .pin = false,
                     .spin = 0ns});
    Chains chains(runtime, random, true);
    std::vector<std::thread> threads;
    if (below(random, 2) == 0)
      threads.emplace_back([&, rounds = 1 + below(random, 4)] {
        for (int round = 0; round < rounds; ++round) {
          const auto hold = runtime.hold();
          const int chain = chains.begin();
          runtime.wait(chains.end_of(chain));
          chains.check_done(chain, "the wait for its event");
        }
      });
    std::vector<int> mine;
    for (int rounds = 1 + below(random, 6); rounds > 0; --rounds) {
      for (int n = below(random, 4); n > 0; --n) mine.push_back(chains.begin());
      if (below(random, 2) == 0) std::this_thread::sleep_for(std::chrono::microseconds(1 + below(random, 20)));
      runtime.wait();
      for (const int chain : mine) chains.check_done(chain, "all");
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(Schedules, OfAThreadThatWaitsBesideWhatIsStuck) {
  simulated::for_seeds("stuck", 1000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    Taskflow<int> pair(runtime, "pair"), flow(runtime, "flow");
    int ran = 0, stuck = 0;
    pair.indegree([](int) { return 2; }).run([](int) {});
    flow.indegree([](int) { return 1; }).run([&](int) { ++ran; });
    pair.fulfill(0);
    for (int k = 0; k < 10; ++k) {
      flow.fulfill(k);
      runtime.work_until([&] { return ran > k; });
      check(ran == k + 1, "a task has not run");
    }
    try {
      runtime.wait();
    } catch (const Stuck&) {
      ++stuck;
    }
    check(stuck == 1, "nothing was stuck");
  });
}

TEST(Schedules, OfAThreadThatLeaves) {
  // Tasks fulfill others of any worker. A thread waits for some, and then looks until all but those of worker 0 have
  // run.
  simulated::for_seeds("leave", 1000, [](std::uint64_t seed) {
    Random random = random_of(seed);
    Runtime runtime(options(random));
    const int workers = runtime.workers(), tasks = 1 + below(random, 20), enough = below(random, tasks);
    int ran = 0, far = 0, far_ran = 0;
    Taskflow<int> first(runtime, "first"), second(runtime, "second");
    std::vector<int> worker;
    for (int task = 0; task < tasks; ++task) worker.push_back(below(random, workers));
    first.indegree([](int) { return 1; }).worker([](int) { return 0; }).run([&](int task) {
      if (worker[static_cast<std::size_t>(task)] != 0) ++far;
      second.fulfill(task);
      ++ran;
    });
    second.indegree([](int) { return 1; }).worker([&](int task) { return worker[static_cast<std::size_t>(task)]; });
    second.run([&](int task) {
      if (worker[static_cast<std::size_t>(task)] != 0) ++far_ran;
    });
    for (int task = 0; task < tasks; ++task) first.fulfill(task);
    runtime.work_until([&] { return ran > enough; });
    while (far_ran != far) std::this_thread::sleep_for(std::chrono::microseconds(10));
    runtime.wait();
    check(far_ran == far && ran == tasks, "a task has not run");
  });
}

}  // namespace
}  // namespace taskgrain::rt
