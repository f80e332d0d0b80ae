#include "comm/shared_transport.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <new>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

struct ArenaOfRank : testing::Test {
  ArenaOfRank() { close(descriptor); }
  const int descriptor = Segment::make(2);
  Segment segment{descriptor, 0};
  Arena arena{segment, {0, 1}};
};

TEST_F(ArenaOfRank, GivesPiecesApartThatCanBeWritten) {
  std::vector<std::byte*> pieces;
  for (const std::size_t bytes : {0u, 1u, 127u, 128u, 129u, 100'000u}) {
    std::byte* const piece = arena.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % apart, 0u);
    std::memset(piece, 1, bytes);
    for (const std::byte* other : pieces) EXPECT_NE(other, piece);
    pieces.push_back(piece);
  }
}

TEST_F(ArenaOfRank, KnowsWhatLiesInIt) {
  arena.allocate(1000);
  std::byte* const piece = arena.allocate(1000);
  EXPECT_EQ(segment.arena(0).data() + arena.find({piece, 1000}), piece);
  std::byte elsewhere[10];
  EXPECT_EQ(arena.find(elsewhere), SIZE_MAX);
  EXPECT_EQ(arena.find({piece, segment.arena(0).size()}), SIZE_MAX);
  EXPECT_EQ(arena.find({segment.arena(1).data(), 1}), SIZE_MAX);
}

TEST_F(ArenaOfRank, GivesOutAgainWhatWasReleased) {
  std::byte* const a = arena.allocate(1000);
  std::byte* const b = arena.allocate(1000);
  std::byte* const c = arena.allocate(1000);
  arena.release(a);
  arena.release(c);
  arena.release(b);  // joins both sides
  EXPECT_EQ(arena.allocate(3000), a);
}

TEST_F(ArenaOfRank, LeavesAloneWhatItHasNotGiven) {
  std::byte* const a = arena.allocate(1000);
  arena.release(a + 128);
  arena.release(nullptr);
  arena.release(a);
  arena.release(a);
  EXPECT_EQ(arena.allocate(10), a);
}

TEST_F(ArenaOfRank, SaysThatItIsUsedUp) {
  EXPECT_THROW(arena.allocate(segment.arena(0).size() + 1), std::system_error);
  EXPECT_THROW(arena.allocate(SIZE_MAX), std::system_error);
  EXPECT_NE(arena.allocate(1), nullptr);
}

/// Against a model: pieces do not overlap, and keep what is written into them.
TEST_F(ArenaOfRank, GivesAndTakesAtRandom) {
  Dice dice(1);
  struct Piece {
    std::size_t bytes;
    unsigned char with;
  };
  std::map<std::byte*, Piece> pieces;
  for (std::int64_t k = rounds(20'000); k > 0; --k) {
    if (pieces.size() < 50 && dice.below(2) == 0) {
      const std::size_t bytes = dice.below(5000);
      std::byte* const piece = arena.allocate(bytes);
      const auto next = pieces.lower_bound(piece);
      ASSERT_TRUE(next == pieces.end() || piece + bytes <= next->first);
      ASSERT_TRUE(next == pieces.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= piece);
      const auto with = static_cast<unsigned char>(dice.below(256));
      std::memset(piece, with, bytes);
      pieces.emplace(piece, Piece{bytes, with});
    } else if (!pieces.empty()) {
      const auto one = std::next(pieces.begin(), static_cast<std::ptrdiff_t>(dice.below(pieces.size())));
      for (std::size_t b = 0; b < one->second.bytes; b += 97)
        ASSERT_EQ(one->first[b], static_cast<std::byte>(one->second.with));
      arena.release(one->first);
      pieces.erase(one);
    }
  }
  for (const auto& [piece, what] : pieces) arena.release(piece);
  EXPECT_EQ(arena.allocate(1), segment.arena(0).data());
}

}  // namespace
}  // namespace taskgrain::rt::detail
