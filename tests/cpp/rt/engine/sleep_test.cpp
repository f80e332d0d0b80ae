/// The sleeper: who sleeps leaves the processor, and no wake-up is missed. Built twice, with the barriers that the kernel has and without.

#include "taskgrain/rt/detail/sleep.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#endif

#include "rt/asleep.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

using namespace std::chrono_literals;

TEST(Barriers, AreAsymmetricWhereTheKernelCan) {
#if defined(TASKGRAIN_SYMMETRIC_BARRIERS) || defined(__SANITIZE_THREAD__) || !defined(__linux__)
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

#if defined(__linux__)
/// Lets the kernel refuse membarrier from now on. False if it does not let itself.
bool forbid_membarrier() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number of the system call
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// The kernel may be short of memory for the barrier, or a sandbox may come later than the registration.
TEST(Sleeper, DoesNotSleepIfTheKernelRefusesTheBarrier) {
  if (!asymmetric_barriers) GTEST_SKIP() << "there is no barrier of the kernel";
  constexpr int no_filter = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_membarrier()) _exit(no_filter);
    alarm(60);
    Sleeper().sleep_unless([] { return false; });
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter)
    GTEST_SKIP() << "there are no filters of system calls here";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it slept";
}
#endif

/// Threads that sleep, and a look at them: if none gets on for long, a wake-up was missed. Then all are woken and give up.
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
      } else if (!given_up() && Clock::now() - since > 60s) {
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
  const auto last = static_cast<std::uint64_t>(rounds(100'000));
  Watched threads(2);
  struct alignas(apart) Ball {
    std::atomic<std::uint64_t> turn{0};
  } balls[2];
  const auto player = [&](std::size_t me) {
    Dice dice(me);
    for (std::uint64_t turn = 1; turn <= last && !threads.given_up(); ++turn) {
      if (me == 0) {
        dice.tarry(2000);
        balls[1].turn.store(turn, std::memory_order_release);
        threads.sleeper(1).wake();
      }
      dice.tarry(2000);
      const auto has_come = [&] { return balls[me].turn.load(std::memory_order_acquire) >= turn; };
      while (!has_come() && !threads.given_up()) threads.sleeper(me).sleep_unless(has_come);
      threads.got_on();
      if (me == 1) {
        dice.tarry(2000);
        balls[0].turn.store(turn, std::memory_order_release);
        threads.sleeper(0).wake();
      }
    }
  };
  threads.run({[&] { player(0); }, [&] { player(1); }});
}

/// Several wake one, which empties all their boxes before it sleeps again.
TEST(Sleeper, MissesNoWakeUpOfSeveral) {
  const auto last = static_cast<std::uint64_t>(rounds(30'000));
  constexpr std::size_t wakers = 3;
  Watched threads(1);
  struct alignas(apart) Box {
    std::atomic<std::uint64_t> sent{0}, received{0};
  } boxes[wakers];
  const auto waker = [&](std::size_t k) {
    Dice dice(k);
    for (std::uint64_t n = 1; n <= last && !threads.given_up(); ++n) {
      dice.tarry(1000);
      boxes[k].sent.store(n, std::memory_order_release);
      threads.sleeper(0).wake();
      for (Patience patience; boxes[k].received.load(std::memory_order_acquire) != n && !threads.given_up();)
        patience.wait();
    }
  };
  const auto sleeper = [&] {
    Dice dice(9);
    const auto work = [&] {
      return std::ranges::any_of(boxes, [](const Box& box) {
        return box.sent.load(std::memory_order_acquire) != box.received.load(std::memory_order_relaxed);
      });
    };
    for (std::uint64_t left = wakers * last; left > 0 && !threads.given_up();) {
      for (Box& box : boxes)
        if (const std::uint64_t n = box.sent.load(std::memory_order_acquire);
            n != box.received.load(std::memory_order_relaxed)) {
          box.received.store(n, std::memory_order_release);
          --left;
          threads.got_on();
        }
      dice.tarry(1000);
      if (left > 0) threads.sleeper(0).sleep_unless(work);
    }
  };
  threads.run({sleeper, [&] { waker(0); }, [&] { waker(1); }, [&] { waker(2); }});
}

}  // namespace
}  // namespace taskgrain::rt::detail
