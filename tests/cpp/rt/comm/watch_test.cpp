#include "comm/watch.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "rt/asleep.hpp"
#include "rt/comm/processes.hpp"

namespace taskgrain::rt::detail {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::Pair;

/// Who is lost, and why.
class Losses {
 public:
  Watch::Lost note() {
    return [this](int rank, const std::string& why) {
      const std::lock_guard lock(mutex_);
      EXPECT_TRUE(losses_.emplace(rank, why).second) << "twice: " << rank;
    };
  }
  std::map<int, std::string> all() const {
    const std::lock_guard lock(mutex_);
    return losses_;
  }
  bool has(int rank) const { return all().contains(rank); }

 private:
  mutable std::mutex mutex_;
  std::map<int, std::string> losses_;
};

struct Watching : testing::TestWithParam<Watch::By> {
  static constexpr int ranks = 4;

  /// A process that attaches, does something, and waits for its end.
  template <typename Function>
  Process start(int rank, const Function& function) const {
    Process process([&, rank] {
      Segment own(file_.get(), rank);
      function(own);
      for (;;) pause();
      return 0;
    });
    EXPECT_TRUE(eventually([&] { return segment_.block(rank).state != RankBlock::absent; }));
    return process;
  }
  Process start(int rank) const {
    return start(rank, [](Segment&) {});
  }
  bool ends_in(int rank, std::uint32_t state) const {
    return eventually([&] { return segment_.block(rank).state == state; });
  }

  const FileDescriptor file_{Segment::make(ranks)};
  Segment segment_{file_.get(), 0};
  Losses losses_;
};

TEST_P(Watching, SeesThatAProcessIsKilled) {
  const Process one = start(1), two = start(2);
  const Watch watch(segment_, losses_.note(), GetParam());
  two.send(SIGKILL);
  ASSERT_TRUE(eventually([&] { return losses_.has(2); }));
  EXPECT_THAT(losses_.all(), ElementsAre(Pair(2, "its process has ended")));
  one.send(SIGTERM);
  ASSERT_TRUE(eventually([&] { return losses_.has(1); }));
}

TEST_P(Watching, SeesThatAProcessHasBeenKilledBefore) {
  Process one = start(1);
  one.send(SIGKILL);
  one.wait();
  const Watch watch(segment_, losses_.note(), GetParam());
  ASSERT_TRUE(eventually([&] { return losses_.has(1); }));
}

TEST_P(Watching, TakesNoLaterProcessForTheRank) {
  const Process one = start(1);
  segment_.block(1).start_time -= 1;
  const Watch watch(segment_, losses_.note(), GetParam());
  ASSERT_TRUE(eventually([&] { return losses_.has(1); }));
}

TEST_P(Watching, SeesRanksThatAttachLater) {
  const Process late([&] {
    while (segment_.ring(0, 3)[0] == std::byte(0)) usleep(1000);
    const Segment own(file_.get(), 3);
    return 0;
  });
  const Watch watch(segment_, losses_.note(), GetParam());
  segment_.ring(0, 3)[0] = std::byte(1);
  ASSERT_TRUE(eventually([&] { return losses_.has(3); }));
}

TEST_P(Watching, LosesNobodyWhoHasLeft) {
  Process one = start(1, [](Segment& own) {
    own.leave();
    _exit(0);
  });
  const Process two = start(2);
  Process three([&] {
    Segment own(file_.get(), 3);
    while (own.ring(0, 3)[0] == std::byte(0)) usleep(1000);
    own.leave();
    return 0;
  });
  ASSERT_TRUE(ends_in(3, RankBlock::attached));
  const Watch watch(segment_, losses_.note(), GetParam());
  segment_.ring(0, 3)[0] = std::byte(1);  // it leaves while it is watched
  one.wait();
  three.wait();
  two.send(SIGKILL);
  ASSERT_TRUE(eventually([&] { return losses_.has(2); }));
  EXPECT_EQ(losses_.all().size(), 1u);
  // The launcher knows better.
  segment_.mark_dead(3, "ended with exit code 3");
  ASSERT_TRUE(eventually([&] { return losses_.has(3); }));
  EXPECT_EQ(losses_.all().at(3), "ended with exit code 3");
}

TEST_P(Watching, HearsThatThisRankWasGivenUpByOneThatHasLeft) {
  const Process one = start(1, [](Segment& own) {
    own.blame(0, "its process was stopped");
    own.leave();
  });
  ASSERT_TRUE(ends_in(1, RankBlock::left));
  const Watch watch(segment_, losses_.note(), GetParam());
  ASSERT_TRUE(eventually([&] { return losses_.has(0); }));
  EXPECT_THAT(losses_.all(), ElementsAre(Pair(0, "its process was stopped")));
}

TEST_P(Watching, RepeatsWhatARankHasSaid) {
  const Process one = start(1, [](Segment& own) { own.announce_failure("no bread"); });
  const Process two = start(2, [](Segment& own) {
    own.announce_failure("no butter");
    raise(SIGKILL);
  });
  const Watch watch(segment_, losses_.note(), GetParam());
  ASSERT_TRUE(eventually([&] { return losses_.all().size() == 2; }));
  EXPECT_THAT(losses_.all(), ElementsAre(Pair(1, "it said: no bread"), Pair(2, "it said: no butter")));
}

TEST_P(Watching, RepeatsWhatTheLauncherSays) {
  const Process one = start(1);
  const Watch watch(segment_, losses_.note(), GetParam());
  segment_.mark_dead(2, "ended with exit code 3");  // before it has attached
  ASSERT_TRUE(eventually([&] { return losses_.has(2); }));
  EXPECT_THAT(losses_.all(), ElementsAre(Pair(2, "ended with exit code 3")));
}

TEST_P(Watching, LosesAProcessThatStaysStopped) {
  const Process one = start(1), two = start(2);
  const Watch watch(segment_, losses_.note(), GetParam());
  one.send(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return losses_.has(1); }));
  EXPECT_THAT(losses_.all(), ElementsAre(Pair(1, "its process is stopped (SIGSTOP)")));
}

TEST_P(Watching, LosesNobodyWhoGoesOnNowAndThen) {
  const auto losses = [&] { return segment_.block(0).reason_bytes.load(); };  // a place that all see
  const auto watches = [&](Segment& own) {
    static const Watch watch(
        own, [&](int, const std::string&) { ++segment_.block(0).reason_bytes; }, GetParam(), milliseconds(150));
  };
  const Process one = start(1, watches), two = start(2, watches);
  const auto go_on = [&](const Process& process, int rank) {  // until it has looked
    const std::uint32_t looks = segment_.block(rank).heartbeats;
    process.send(SIGCONT);
    EXPECT_TRUE(eventually([&] { return segment_.block(rank).heartbeats != looks; }));
  };
  for (const bool also_the_first : {true, false}) {
    for (int k = 0; k < 9; ++k) {  // the first goes on first each time, or all the time, and sees the other stopped
      if (also_the_first) one.send(SIGSTOP);
      two.send(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(170));  // another one looks meanwhile
      if (also_the_first) go_on(one, 1);
      go_on(two, 2);
    }
    EXPECT_EQ(losses(), 0u) << also_the_first;
  }
  two.send(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return losses() == 1; }));
}

TEST_P(Watching, KnowsNothingOfProcessesOfOtherContainers) {
  Process one = start(1);
  const Process two = start(2);
  segment_.block(1).process_namespace -= 1;
  const Watch watch(segment_, losses_.note(), GetParam());
  one.send(SIGKILL);
  one.wait();
  two.send(SIGKILL);
  ASSERT_TRUE(eventually([&] { return losses_.has(2); }));
  EXPECT_EQ(losses_.all().size(), 1u);
}

TEST_P(Watching, LeavesNothingBehind) {
  const Process one = start(1);
  const auto threads = all_threads();
  const auto files = open_files();
  {
    const Watch watch(segment_, losses_.note(), GetParam());
    EXPECT_EQ(threads_since(threads).size(), 1u);
    EXPECT_TRUE(fall_asleep(threads_since(threads)));
  }
  EXPECT_TRUE(eventually([&] { return threads_since(threads).empty(); }));
  EXPECT_EQ(open_files(), files);
  EXPECT_TRUE(losses_.all().empty());
}

INSTANTIATE_TEST_SUITE_P(By, Watching, testing::Values(Watch::By::pidfd, Watch::By::polling),
                         [](const auto& by) { return by.param == Watch::By::pidfd ? "handle" : "number"; });

}  // namespace
}  // namespace taskgrain::rt::detail
