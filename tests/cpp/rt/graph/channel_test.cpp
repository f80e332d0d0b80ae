/// The counter that workers wait for, and which iterations a device has done.

#include "graph/channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

TEST(Channels, StayPassed) {
  Channel channel;
  EXPECT_TRUE(channel.passed(0));
  EXPECT_FALSE(channel.passed(1));
  EXPECT_FALSE(channel.signal(2));
  EXPECT_TRUE(channel.passed(1));
  EXPECT_TRUE(channel.passed(2));
  EXPECT_FALSE(channel.passed(3));
}

TEST(Channels, MayBeRaisedAgainAndLate) {
  Channel channel;
  channel.raise(5);
  channel.raise(5);
  channel.raise(3);
  EXPECT_TRUE(channel.passed(5));
  EXPECT_FALSE(channel.passed(6));
}

TEST(Channels, TellAReaderThatIsParkedOnce) {
  Channel channel;
  const auto never_ask = [] { EXPECT_FALSE(asymmetric_barriers) << "the kernel refuses its barrier"; };
  EXPECT_TRUE(channel.park(1, never_ask));
  EXPECT_TRUE(channel.signal(1));
  EXPECT_TRUE(channel.unpark());
  EXPECT_FALSE(channel.unpark());
  EXPECT_FALSE(channel.park(1, never_ask));  // it was passed meanwhile
}

/// Who has passed n sees what was written before n, also if another writer has raised it, who vouches for all below.
/// (ThreadSanitizer would call it a race if that did not follow from the orders of the channel.)
TEST(Channels, ShowWhatWasWrittenBefore) {
  for (const int writers : {1, 2}) {
    const std::int64_t size = rounds(20'000);
    Channel channel;
    std::vector<int> data(static_cast<std::size_t>(size), 0);  // not atomic: a channel orders it
    std::int64_t next = 0;
    std::mutex mutex;
    const auto write = [&] {
      for (;;) {
        std::int64_t mine = 0;
        {
          const std::lock_guard lock(mutex);
          if (next == size) return;
          mine = ++next;
          data[static_cast<std::size_t>(mine - 1)] = 1;
        }
        writers == 1 ? static_cast<void>(channel.signal(mine)) : channel.raise(mine);
      }
    };
    std::vector<std::jthread> threads;
    for (int k = 0; k < writers; ++k) threads.emplace_back(write);
    for (std::int64_t n = 1; n <= size; ++n) {
      for (Backoff backoff; !channel.passed(n);) backoff.wait();
      ASSERT_EQ(data[static_cast<std::size_t>(n - 1)], 1) << n;
    }
  }
}

TEST(DoneIterations, MayOvertakeOneAnother) {
  Dice dice(7);
  for (std::int64_t round = 0; round < rounds(200); ++round) {
    Channel channel;
    DoneIterations iterations(channel);
    const std::int64_t begin = static_cast<std::int64_t>(dice.below(100));
    iterations.reset(begin);
    std::vector<std::int64_t> order(1 + dice.below(100));
    std::iota(order.begin(), order.end(), begin);
    // Each goes up to `reach` places ahead or back.
    const std::size_t reach = dice.below(order.size()) + 1;
    for (std::size_t k = 0; k + 1 < order.size(); ++k)
      std::swap(order[k], order[std::min(k + dice.below(reach), order.size() - 1)]);
    std::vector<bool> done(order.size(), false);
    for (const std::int64_t iteration : order) {
      iterations.done(iteration);
      done[static_cast<std::size_t>(iteration - begin)] = true;
      const std::int64_t through = std::ranges::find(done, false) - done.begin() + begin;
      ASSERT_TRUE(channel.passed(through));
      ASSERT_FALSE(channel.passed(through + 1));
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt::detail
