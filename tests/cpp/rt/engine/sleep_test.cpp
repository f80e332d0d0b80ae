/// The sleeper: who sleeps leaves the processor, and no wake-up is missed. Built twice, with the barriers that the
/// kernel has and without.

#include "taskgrain/rt/detail/sleep.hpp"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "rt/asleep.hpp"
#include "rt/refuse_calls.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

using namespace std::chrono_literals;

TEST(Barriers, AreAsymmetricWhereTheKernelCan) {
#if defined(TASKGRAIN_SYMMETRIC_BARRIERS) || defined(__SANITIZE_THREAD__)
  EXPECT_FALSE(asymmetric_barriers);
#else
  const long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  EXPECT_EQ(asymmetric_barriers, can > 0 && (can & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0);
#endif
}

/// A thread that sleeps until it is woken.
class Dormant {
 public:
  explicit Dormant(Sleeper& sleeper)
      : thread_([this, &sleeper] {
          id_ = gettid();
          sleeper.sleep_unless([] { return false; });
          sleeps_ = false;
        }) {}
  /// Whether it falls asleep at all.
  bool falls_asleep() const {
    return eventually([&] { return id_ != 0; }) && fall_asleep({id_}) && sleeps_;
  }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> sleeps_{true};
  std::jthread thread_;
};

TEST(Sleeper, SleepsUntilItIsWoken) {
  Sleeper sleeper;
  const Dormant thread(sleeper);
  EXPECT_TRUE(thread.falls_asleep());
  sleeper.wake();
}

TEST(Sleeper, StaysAwakeIfThereIsWork) {
  Sleeper sleeper;
  int looks = 0;
  sleeper.sleep_unless([&] { return ++looks > 0; });
  EXPECT_EQ(looks, 1);
}

TEST(Sleeper, DoesNotRememberAWakeUpFromBefore) {
  Sleeper sleeper;
  sleeper.wake();
  sleeper.wake();
  const Dormant thread(sleeper);
  EXPECT_TRUE(thread.falls_asleep());
  sleeper.wake();
}

/// The kernel may be short of memory for the barrier, or a sandbox may come later than the registration.
TEST(Sleeper, DoesNotSleepIfTheKernelRefusesTheBarrier) {
  if (!asymmetric_barriers) GTEST_SKIP() << "there is no barrier of the kernel";
  constexpr int no_filter = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (!refuse_calls({SYS_membarrier})) _exit(no_filter);
    alarm(300);
    Sleeper().sleep_unless([] { return false; });
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter)
    GTEST_SKIP() << "there are no filters of system calls here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it slept";
}

/// Threads that sleep, and a look at them: if none gets on for long, a wake-up was missed. Then all are woken and give
/// up.
class Watched {
 public:
  explicit Watched(std::size_t sleepers) : sleepers_(sleepers) {}

  Sleeper& sleeper(std::size_t k) { return sleepers_[k].sleeper; }
  void got_on() { progress_.fetch_add(1, std::memory_order_relaxed); }
  bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

  void run(const std::vector<std::function<void()>>& bodies) {
    std::atomic<std::size_t> running{bodies.size()};
    std::vector<std::thread> threads;
    for (const auto& body : bodies)
      threads.emplace_back([&] {
        body();
        --running;
      });
    using Clock = std::chrono::steady_clock;
    std::uint64_t seen = 0;
    for (auto since = Clock::now(); running != 0; std::this_thread::sleep_for(2ms)) {
      if (const std::uint64_t now = progress_.load(); now != seen) {
        seen = now;
        since = Clock::now();
      } else if (!given_up() && Clock::now() - since > 300s) {
        ADD_FAILURE() << "a wake-up was missed after " << seen << " rounds";
        given_up_ = true;
      }
      if (given_up())
        for (auto& one : sleepers_) one.sleeper.wake();
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct alignas(apart) Apart {
    Sleeper sleeper;
  };
  std::vector<Apart> sleepers_;
  alignas(apart) std::atomic<std::uint64_t> progress_{0};
  alignas(apart) std::atomic<bool> given_up_{false};
};

/// Two threads throw a ball to and fro, and fall asleep about when the other throws.
TEST(Sleeper, MissesNoWakeUpOfPingPong) {
  Watched threads(2);
  struct alignas(apart) Ball {
    std::atomic<std::int64_t> turn{0};
  } balls[2];
  constexpr std::int64_t no_more = -1;
  const auto throw_to = [&](std::size_t other, std::int64_t turn, Dice& dice) {
    dice.tarry(2000);
    balls[other].turn.store(turn, std::memory_order_release);
    threads.sleeper(other).wake();
  };
  /// \returns the turn of the ball that has come
  const auto catch_ball = [&](std::size_t me, std::int64_t before, Dice& dice) {
    dice.tarry(2000);
    const auto has_come = [&] { return balls[me].turn.load(std::memory_order_acquire) != before; };
    while (!has_come() && !threads.given_up()) threads.sleeper(me).sleep_unless(has_come);
    threads.got_on();
    return balls[me].turn.load(std::memory_order_acquire);
  };
  const auto first = [&] {
    Dice dice(0);
    const Race race(100'000);
    for (std::int64_t turn = 1; race.has(turn - 1) && !threads.given_up(); ++turn) {
      throw_to(1, turn, dice);
      catch_ball(0, turn - 1, dice);
    }
    throw_to(1, no_more, dice);
  };
  const auto second = [&] {
    Dice dice(1);
    for (std::int64_t turn = 0; (turn = catch_ball(1, turn, dice)) != no_more && !threads.given_up();)
      throw_to(0, turn, dice);
  };
  threads.run({first, second});
  EXPECT_GT(balls[0].turn, 0);
}

}  // namespace
}  // namespace taskgrain::rt::detail
