#include "matrix/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

using apps::Grid;
using testing::HasSubstr;

apps::Options parse(std::vector<std::string> words, const apps::Extra& extra = {}, int ranks = 1) {
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return apps::parse(static_cast<int>(arguments.size()), arguments.data(), extra, ranks);
}

std::string refusal(const std::vector<std::string>& words, const apps::Extra& extra = {}, int ranks = 1) {
  try {
    parse(words, extra, ranks);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing is wrong";
}

TEST(Options, AreRead) {
  const auto options = parse({"--size", "300", "--block=20", "--threads", "2", "--repeats", "3", "--seed", "9",
                              "--validate", "--rho", "1.5", "--grid", "2x3"},
                             {.rho = true}, 6);
  EXPECT_EQ(options.size, 300);
  EXPECT_EQ(options.block, 20);
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.repeats, 3);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_TRUE(options.validate);
  EXPECT_EQ(options.rho, 1.5);
  EXPECT_EQ(options.grid, (Grid{2, 3, 1}));
}

TEST(Options, ThatAreWrongAreRefusedByName) {
  EXPECT_THAT(refusal({"--size", "0"}), HasSubstr("--size"));
  EXPECT_THAT(refusal({"--size", "1e3"}), HasSubstr("--size"));
  EXPECT_THAT(refusal({"--size", "10x"}), HasSubstr("--size"));
  EXPECT_THAT(refusal({"--size", "99999999999999999999"}), HasSubstr("--size"));
  EXPECT_THAT(refusal({"--size"}), HasSubstr("--size"));
  EXPECT_THAT(refusal({"--messages", "big"}, {.messages = true}), HasSubstr("--messages"));
  EXPECT_THAT(refusal({"--rho", "1.5"}), HasSubstr("--rho"));
  for (const char* wrong : {"0.99", "2.01", "nan", "-nan", "inf"})
    EXPECT_EQ(refusal({"--rho", wrong}, {.rho = true}),
              "--rho: '" + std::string(wrong) + "' is not allowed; allowed: 1 to 2");
}

TEST(Options, NumbersAreDecimal) {
  EXPECT_EQ(parse({"--size", "0100"}).size, 100);
  EXPECT_THAT(refusal({"--size", "0x10"}), HasSubstr("--size"));
}

TEST(Options, GridsHaveAsManyPlacesAsThereAreRanks) {
  for (const char* wrong : {"2x2", "x6", "6", "2x3x1", "2x3 ", "0x6"})
    EXPECT_EQ(
        refusal({"--grid", wrong}, {}, 6),
        "grid: '" + std::string(wrong) + "' is not allowed; allowed: PxQ whose product is the number of ranks, 6");
  EXPECT_EQ(refusal({"--grid", "2x3"}, {.layers = true}, 6),
            "grid: '2x3' is not allowed; allowed: PxQxR whose product is the number of ranks, 6");
  EXPECT_EQ(parse({"--grid", "1x2x3"}, {.layers = true}, 6).grid, (Grid{1, 2, 3}));
}

TEST(Grids, AreAsEvenAsCanBe) {
  EXPECT_EQ(apps::even_grid(1, false), (Grid{1, 1, 1}));
  EXPECT_EQ(apps::even_grid(2, false), (Grid{1, 2, 1}));
  EXPECT_EQ(apps::even_grid(12, false), (Grid{3, 4, 1}));
  EXPECT_EQ(apps::even_grid(7, false), (Grid{1, 7, 1}));
  EXPECT_EQ(apps::even_grid(2, true), (Grid{1, 1, 2}));
  EXPECT_EQ(apps::even_grid(4, true), (Grid{1, 2, 2}));
  EXPECT_EQ(apps::even_grid(8, true), (Grid{2, 2, 2}));
  EXPECT_EQ(apps::even_grid(12, true), (Grid{2, 2, 3}));
}

TEST(Grids, GiveEachPlaceToOneRank) {
  const Grid grid{2, 3, 4};
  std::vector<int> times(24, 0);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int layer = 0; layer < 4; ++layer) ++times[static_cast<std::size_t>(grid.rank_of(i + 2, j + 3, layer + 4))];
  EXPECT_EQ(times, std::vector<int>(24, 1));
}

}  // namespace
