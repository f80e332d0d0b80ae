/// The hash that random patterns and imbalances come from is pinned: a change of it would change every published
/// number.

#include <gmock/gmock.h>

#include <numeric>

#include "siphash.hpp"
#include "siphash_reference.hpp"
#include "specs.hpp"

namespace taskgrain {
namespace {

using testing::ElementsAre;

TEST(SiphashReference, GivesThePublishedVectors) {
  // Of the paper's appendix A and of the authors' vectors.h: key 00 … 0f, messages 00, 01, … of rising length.
  std::array<std::uint8_t, 16> key{};
  std::iota(key.begin(), key.end(), std::uint8_t{0});
  std::vector<std::uint8_t> message(64);
  std::iota(message.begin(), message.end(), std::uint8_t{0});
  const auto hash = [&](std::size_t length) {
    return reference::siphash(key, reference::Bytes(message).first(length));
  };
  EXPECT_EQ(hash(0), 0x726fdb47dd0e0e31);
  EXPECT_EQ(hash(1), 0x74f839c593dc67fd);
  EXPECT_EQ(hash(7), 0xab0200f58b01d137);
  EXPECT_EQ(hash(8), 0x93f5f5799a932462);
  EXPECT_EQ(hash(15), 0xa129ca6149be45e5);
  EXPECT_EQ(hash(63), 0x958a324ceb064572);
}

TEST(Siphash, IsTheReferenceOverTheWordsBytes) {
  std::mt19937_64 random(1);
  for (int n = 0; n < 1000; ++n) {
    std::array<std::int64_t, 5> words{};
    for (auto& word : words) word = static_cast<std::int64_t>(random());
    const std::uint64_t seed = random();
    EXPECT_EQ(uniform(seed, words), reference::uniform(seed, {words[0], words[1], words[2], words[3], words[4]}));
    EXPECT_EQ(uniform(seed, std::array{words[0], words[1]}), reference::uniform(seed, {words[0], words[1]}));
  }
}

TEST(Siphash, GoldenNumbers) {
  const auto hash = [](std::uint64_t seed, std::array<std::int64_t, 5> words) {
    return siphash({0x0807060504030201 ^ seed, 0x000f0e0d0c0b0a09}, words);
  };
  EXPECT_EQ(hash(0, {0, 3, 0, 0, 0}), 0x017ff6f49c23c63b);
  EXPECT_EQ(hash(0, {0, 3, 1, 0, 1}), 0x8e1c05705c2b4d70);
  EXPECT_EQ(hash(0, {2, 5, 2, 7, 3}), 0x31e1233d4d2cd476);
  EXPECT_EQ(hash(7, {0, 3, 1, 0, 1}), 0xf00b8dccedd26560);
  EXPECT_DOUBLE_EQ(uniform(0, std::array<std::int64_t, 5>{0, 3, 1, 0, 1}), 0.5551150702778334);
}

/// The dependences were computed by a third implementation, in another language.
TEST(RandomPatterns, GoldenDependences) {
  const Graph graph({.pattern = "random", .steps = 5, .width = 6, .fraction = 0.5, .seed = 7}, 1);
  std::vector<std::vector<std::int64_t>> found;
  for (std::int64_t point = 0; point < graph.width(); ++point) found.push_back(points_of(graph.deps(2, point)));
  EXPECT_THAT(found, ElementsAre(ElementsAre(0, 1, 2, 3, 4), ElementsAre(1, 2, 4), ElementsAre(1, 2, 3, 4, 5),
                                 ElementsAre(1, 3, 4, 5), ElementsAre(0, 1, 4), ElementsAre(0, 2, 3, 4, 5)));
}

}  // namespace
}  // namespace taskgrain
