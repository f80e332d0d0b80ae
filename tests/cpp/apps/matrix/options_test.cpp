#include "matrix/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "taskgrain/error.hpp"

namespace {

using apps::Grid;

apps::Options parse(std::vector<std::string> words, const apps::Extra& extra = {}, int ranks = 1) {
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return apps::parse(static_cast<int>(arguments.size()), arguments.data(), extra, ranks);
}

std::string refusal(const std::vector<std::string>& words, const apps::Extra& extra = {}, int ranks = 1) {
  try {
    parse(words, extra, ranks);
  } catch (const taskgrain::InvalidSpec& error) {
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

TEST(Options, NameTheFieldTheValueAndWhatIsAllowed) {
  EXPECT_EQ(refusal({"--size", "0"}), "size: '0' is not allowed; allowed: 1 to 1048576");
  EXPECT_EQ(refusal({"--size", "1e3"}), "size: '1e3' is not allowed; allowed: 1 to 1048576");
  EXPECT_EQ(refusal({"--size"}), "size: '' is not allowed; allowed: a value after --size");
  EXPECT_EQ(refusal({"--rho", "nan"}, {.rho = true}), "rho: 'nan' is not allowed; allowed: 1 to 2");
  EXPECT_EQ(refusal({"--messages", "big"}, {.messages = true}),
            "messages: 'big' is not allowed; allowed: small, large");
  EXPECT_EQ(refusal({"--rho", "1.5"}),
            "command line: '--rho' is not allowed; allowed: --size, --block, --threads, --repeats, --seed, --validate, "
            "--grid");
}

TEST(Options, GridsHaveAsManyPlacesAsThereAreRanks) {
  for (const char* wrong : {"2x2", "x6", "6", "2x3x1", "-2x-3", "2x3 ", "0x6"})
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
