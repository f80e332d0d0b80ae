/// How ranks find out that nothing is left: what is sent, what may come early, and what each part of the rule is for.

#include "comm/termination_detection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace taskgrain::rt {
namespace {

using detail::TerminationDetection;
using detail::TerminationMessage;
using enum TerminationMessage::Type;

/// Ranks, and what they have sent one another. The test says what arrives.
class Ranks {
 public:
  struct Counts {
    std::uint64_t queued = 0, processed = 0;
    bool stuck = false;
  };
  struct Packet {
    int from, to;
    TerminationMessage message;
  };

  explicit Ranks(int ranks) : counts(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) ranks_.emplace_back(r, ranks);
  }

  TerminationDetection& operator[](int r) { return ranks_[static_cast<std::size_t>(r)]; }
  void begin() {
    for (TerminationDetection& one : ranks_) one.begin();
  }
  /// The rank is idle now.
  void idle(int r) {
    const Counts& its = counts[static_cast<std::size_t>(r)];
    ranks_[static_cast<std::size_t>(r)].idle(its.queued, its.processed, its.stuck, from(r));
  }
  /// The first packet of that type to the rank arrives. \returns whether there is one
  bool arrives(TerminationMessage::Type type, int to) {
    const auto found = std::ranges::find_if(
        packets, [&](const Packet& packet) { return packet.message.type == type && packet.to == to; });
    if (found == packets.end()) return false;
    const Packet packet = *found;
    packets.erase(found);
    repeat(packet);
    return true;
  }
  void repeat(const Packet& packet) {
    ranks_[static_cast<std::size_t>(packet.to)].receive(packet.from, packet.message, from(packet.to));
  }
  /// All are idle, and all arrives, until `most` packets have been sent or nothing happens any more.
  void go_on(std::size_t most = 10000) {
    for (bool anything = true; anything && sent < most;) {
      for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) idle(r);
      const std::vector<Packet> now = std::exchange(packets, {});
      for (const Packet& packet : now) repeat(packet);
      anything = !now.empty();
    }
  }
  bool all_done() const { return std::ranges::all_of(ranks_, &TerminationDetection::done); }

  std::vector<Counts> counts;
  std::vector<Packet> packets;  ///< on their way
  std::size_t sent = 0;

 private:
  std::function<void(int, const TerminationMessage&)> from(int r) {
    return [this, r](int to, const TerminationMessage& message) {
      ++sent;
      packets.push_back({r, to, message});
    };
  }
  std::vector<TerminationDetection> ranks_;
};

TEST(TerminationDetection, OfOneRankEndsWhenItIsIdleAndNothingIsOnItsWay) {
  Ranks ranks(1);
  ranks.begin();
  EXPECT_FALSE(ranks[0].done());
  ranks.counts[0] = {3, 2, true};
  ranks.idle(0);
  ranks.idle(0);
  EXPECT_FALSE(ranks[0].done());
  ranks.counts[0] = {3, 3, true};
  ranks.idle(0);
  EXPECT_TRUE(ranks[0].done());
  EXPECT_EQ(ranks[0].stuck(), 1u);
  EXPECT_EQ(ranks.sent, 0u);
}

TEST(TerminationDetection, TakesTwoWavesAndTheEnd) {
  for (std::size_t number = 2; number <= 30; ++number) {
    Ranks ranks(static_cast<int>(number));
    for (std::size_t epoch = 1; epoch <= 3; ++epoch) {
      ranks.begin();
      ranks.go_on();
      EXPECT_TRUE(ranks.all_done());
      EXPECT_EQ(ranks.sent, 5 * (number - 1) * epoch) << number << " ranks";
    }
  }
}

TEST(TerminationDetection, HasNoMoreThanFourChildrenARank) {
  Ranks ranks(22);
  ranks.begin();
  ranks.idle(0);
  EXPECT_EQ(ranks.packets.size(), 4u);
  EXPECT_TRUE(ranks.arrives(request, 4));
  ASSERT_EQ(ranks.packets.size(), 7u);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(ranks.packets[static_cast<std::size_t>(3 + k)].to, 17 + k);
  EXPECT_TRUE(ranks.arrives(request, 17));  // it has no children
  EXPECT_EQ(ranks.packets.size(), 6u);
}

TEST(TerminationDetection, SaysHowManyRanksAreStuck) {
  Ranks ranks(11);
  for (const int stuck : {0, 3, 10}) ranks.counts[static_cast<std::size_t>(stuck)].stuck = true;
  ranks.begin();
  ranks.go_on();
  for (int r = 0; r < 11; ++r) EXPECT_EQ(ranks[r].stuck(), 3u);
  ranks.counts[3].stuck = false;
  ranks.begin();
  ranks.go_on();
  for (int r = 0; r < 11; ++r) EXPECT_EQ(ranks[r].stuck(), 2u);
}

TEST(TerminationDetection, WaitsForARankThatIsNotIdleOrNotThere) {
  Ranks ranks(3);
  ranks[0].begin();
  ranks[1].begin();
  for (int k = 0; k < 5; ++k) {
    ranks.idle(0);
    ranks.idle(1);
    for (const int r : {0, 1}) ranks.arrives(request, r), ranks.arrives(counts, r);
  }
  EXPECT_EQ(ranks.sent, 3u);  // ask both; one has counted
  EXPECT_TRUE(ranks.arrives(request, 2));
  ranks.idle(2);
  EXPECT_EQ(ranks.sent, 3u);  // it has not begun to wait
  ranks[2].begin();
  EXPECT_EQ(ranks.sent, 3u);  // it is not idle
  ranks.go_on();
  EXPECT_TRUE(ranks.all_done());
}

TEST(TerminationDetection, GoesOnWhileAMessageIsOnItsWay) {
  Ranks ranks(6);
  ranks.counts[5].queued = 1;
  ranks.begin();
  ranks.go_on(300);
  EXPECT_FALSE(ranks[0].done());
  ranks.counts[2].processed = 1;
  ranks.go_on();
  EXPECT_TRUE(ranks.all_done());
}

TEST(TerminationDetection, KeepsWhatAFastRootAsksBeforeTheEndOfTheEpochIsKnown) {
  Ranks ranks(6);  // 0 → 1 → 5
  ranks.begin();
  while (!ranks[0].done()) {
    for (int r = 0; r < 6; ++r) ranks.idle(r);
    for (const auto& packet : std::vector(ranks.packets))
      if (packet.message.type != done) ranks.arrives(packet.message.type, packet.to);
  }
  ranks[0].begin();
  ranks.idle(0);
  EXPECT_TRUE(ranks.arrives(request, 1));  // of the next epoch
  EXPECT_TRUE(ranks.arrives(request, 5));
  const std::size_t sent = ranks.sent;
  ranks.idle(1);
  ranks.idle(5);
  EXPECT_EQ(ranks.sent, sent);  // they are not there yet
  EXPECT_FALSE(ranks[1].done());
  EXPECT_TRUE(ranks.arrives(done, 1));
  EXPECT_TRUE(ranks.arrives(done, 5));
  // The child is there before its parent.
  ranks[5].begin();
  ranks.idle(5);
  EXPECT_TRUE(ranks.arrives(counts, 1));
  ranks.idle(1);
  EXPECT_FALSE(ranks.arrives(counts, 0));
  ranks[1].begin();
  ranks.idle(1);
  EXPECT_TRUE(ranks.arrives(counts, 0));
  for (const int r : {2, 3, 4}) {
    EXPECT_TRUE(ranks.arrives(done, r));
    ranks[r].begin();
  }
  ranks.go_on();
  EXPECT_TRUE(ranks.all_done());
}

TEST(TerminationDetection, IgnoresWhatComesAgain) {
  Ranks ranks(7);
  for (const int r : {1, 5, 6}) ranks.counts[static_cast<std::size_t>(r)] = {4, 1};
  ranks.counts[0] = {1, 10};
  std::vector<Ranks::Packet> old;
  for (int epoch = 0; epoch < 3; ++epoch) {
    ranks.begin();
    for (int k = 0; k < 100 && !ranks.all_done(); ++k) {
      for (int r = 0; r < 7; ++r) ranks.idle(r);
      for (const auto& packet : std::vector(ranks.packets)) {
        old.push_back(packet);
        ranks.arrives(packet.message.type, packet.to);
        const std::size_t sent = ranks.sent;
        for (const auto& again : old) ranks.repeat(again);
        EXPECT_EQ(ranks.sent, sent);
      }
    }
    EXPECT_EQ(ranks.sent, 5u * 6 * static_cast<std::size_t>(epoch + 1));
  }
}

TEST(TerminationDetection, DoesNothingAfterTheEnd) {
  Ranks ranks(4);
  ranks.begin();
  ranks.go_on();
  const std::size_t sent = ranks.sent;
  ranks.counts[0].queued = 7;
  for (int k = 0; k < 3; ++k) ranks.go_on();
  EXPECT_EQ(ranks.sent, sent);
  EXPECT_TRUE(ranks.all_done());
}

TEST(TerminationDetection, HoldsMoreThan32Bits) {
  constexpr std::uint64_t many = std::uint64_t{1} << 32;
  Ranks ranks(6);
  ranks.counts[5] = {many - 1, 0};
  ranks.counts[0] = {1, many};
  ranks.begin();
  ranks.go_on();
  EXPECT_TRUE(ranks.all_done());
  ranks.counts[5] = {2 * many - 1, 0};  // 2^32 messages that nobody has processed are not none
  ranks.begin();
  ranks.go_on(300);
  EXPECT_FALSE(ranks[0].done());
}

/// Two waves while a message to rank 1 is slow. Rank 1 counts, and before rank 0 does so in this wave, rank 1 processes
/// the message and answers, and rank 0 processes the answer; the task of rank 1 goes on.
bool ends_though_rank_0_is_answered_in(int wave) {
  Ranks ranks(2);
  ranks.counts[0] = {1, 0};
  ranks.begin();
  for (const int now : {1, 2}) {
    ranks.idle(0);
    ranks.arrives(request, 1);
    ranks.idle(1);  // {0, 0}
    if (now == wave) ranks.counts[0] = {1, 1};
    ranks.arrives(counts, 0);
  }
  ranks.idle(0);
  return ranks[0].done();
}

// One message is queued and one processed, but not the same.
TEST(TerminationDetection, ComparesWhatWasProcessedToo) { EXPECT_FALSE(ends_though_rank_0_is_answered_in(2)); }

// Why the moment of the counts comes after `receive`: rank 1 tells in the second wave what it saw in the first, when it
// was held up, and not the {1, 1} of now. So all sums are equal.
TEST(TerminationDetection, CannotKnowThatCountsAreOfAMomentBeforeItHasAsked) {
  EXPECT_TRUE(ends_though_rank_0_is_answered_in(1));
}

}  // namespace
}  // namespace taskgrain::rt
