#include "matrix/tiling.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using apps::Blocks;
using apps::Tiling;

TEST(Tiling, EndsWithASmallerBlock) {
  const Tiling tiling(10, 4);
  EXPECT_EQ(tiling.blocks(), 3);
  EXPECT_EQ(tiling.begin(2), 8);
  EXPECT_EQ(tiling.extent(1), 4);
  EXPECT_EQ(tiling.extent(2), 2);
  EXPECT_EQ(tiling.size(), 10);
}

TEST(Tiling, OfRandomSizesFillsTheMatrixWithAsManyBlocks) {
  for (const double rho : {1.0, 1.3, 2.0})
    for (std::uint64_t seed = 0; seed < 50; ++seed)
      for (const std::int64_t block : {1, 3, 64}) {
        const Tiling even(1000, block), tiling(1000, block, rho, seed);
        ASSERT_EQ(tiling.blocks(), even.blocks());
        ASSERT_EQ(tiling.begin(0), 0);
        ASSERT_EQ(tiling.size(), 1000);
        for (int k = 0; k < tiling.blocks(); ++k) ASSERT_GE(tiling.extent(k), 1);
      }
}

TEST(Tiling, OfRandomSizesIsAsUnevenAsRhoSays) {
  const Tiling tiling(100'000, 100, 1.5, 7);
  int least = 100, most = 100;
  for (int k = 0; k < tiling.blocks(); ++k) {
    least = std::min(least, tiling.extent(k));
    most = std::max(most, tiling.extent(k));
  }
  EXPECT_NEAR(least, 50, 3);
  EXPECT_NEAR(most, 150, 3);
}

TEST(Tiling, OfRandomSizesComesAgainWithItsSeed) {
  const Tiling one(1000, 50, 1.5, 3), again(1000, 50, 1.5, 3), other(1000, 50, 1.5, 4);
  EXPECT_EQ(one.begin(7), again.begin(7));
  EXPECT_NE(one.begin(7), other.begin(7));
}

TEST(Blocks, AreWhereTheyAreInTheMatrix) {
  const Tiling tiling(10, 4);
  Blocks blocks(tiling);
  EXPECT_FALSE(blocks.holds(1, 2));
  blocks.hold(1, 2);
  EXPECT_TRUE(blocks.holds(1, 2));
  const apps::Piece piece = blocks.piece(1, 2);
  EXPECT_EQ(piece.row, 4);
  EXPECT_EQ(piece.column, 8);
  EXPECT_EQ(piece.rows, 4);
  EXPECT_EQ(piece.columns, 2);
  EXPECT_EQ(blocks.elements(1, 2).size(), 8u);
  EXPECT_TRUE(std::ranges::all_of(blocks.elements(1, 2), [](double x) { return x == 0; }));
}

}  // namespace
