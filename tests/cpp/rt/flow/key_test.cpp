/// Keys: what is equal has one hash, hashes are spread, and texts are readable.

#include "taskgrain/rt/detail/key.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt::detail {
namespace {

/// An object in memory that was full of `fill`, so that gaps between its parts hold it.
template <typename T>
class Dirty {
 public:
  template <typename... Args>
  explicit Dirty(int fill, Args... args) {
    std::memset(bytes_, fill, sizeof bytes_);
    value_ = new (bytes_) T(args...);
  }
  ~Dirty() { value_->~T(); }
  const T& operator*() const { return *value_; }

 private:
  alignas(T) unsigned char bytes_[sizeof(T)];
  T* value_;
};

template <typename T, typename... Args>
void expect_gaps_do_not_count(Args... args) {
  const Dirty<T> a(0x00, args...), b(0xff, args...);
  EXPECT_TRUE(same_key(*a, *b));
  EXPECT_EQ(hash_key(*a), hash_key(*b));
}

TEST(Key, GapsBetweenItsPartsDoNotCount) {
  expect_gaps_do_not_count<std::tuple<char, std::int64_t>>(char{1}, std::int64_t{2});
  expect_gaps_do_not_count<std::pair<std::int8_t, int>>(std::int8_t{1}, 2);
  expect_gaps_do_not_count<std::tuple<std::tuple<char, int>, char>>(std::tuple(char{1}, 2), char{3});
  expect_gaps_do_not_count<std::pair<bool, double>>(true, 0.5);
}

TEST(Key, ZeroesOfBothSignsAreOne) {
  EXPECT_TRUE(same_key(0.0, -0.0));
  EXPECT_EQ(hash_key(0.0), hash_key(-0.0));
  EXPECT_EQ(hash_key(std::tuple(0.0, 1)), hash_key(std::tuple(-0.0, 1)));
}

/// A structure whose own idea of equality leaves a part of it out.
struct Named {
  int id;
  int note;
  bool operator==(const Named& other) const { return id == other.id; }
};

/// One without any, whose bytes are what it is.
struct Position {
  std::int32_t row, column;
};

enum class Colour : std::uint8_t { red, green };

}  // namespace
}  // namespace taskgrain::rt::detail

template <>
struct std::hash<taskgrain::rt::detail::Named> {
  std::size_t operator()(const taskgrain::rt::detail::Named& key) const noexcept {
    return static_cast<std::size_t>(key.id);
  }
};

namespace taskgrain::rt::detail {
namespace {

TEST(Key, OfATypeWithItsOwnHashIsComparedAsTheTypeSays) {
  EXPECT_TRUE(same_key(Named{1, 2}, Named{1, 3}));
  EXPECT_EQ(hash_key(Named{1, 2}), hash_key(Named{1, 3}));
  EXPECT_FALSE(same_key(Named{1, 2}, Named{2, 2}));
}

TEST(Key, OfAStructureWithoutGapsNeedsNothing) {
  EXPECT_TRUE(same_key(Position{1, 2}, Position{1, 2}));
  EXPECT_FALSE(same_key(Position{1, 2}, Position{2, 1}));
  EXPECT_EQ(hash_key(Position{1, 2}), hash_key(Position{1, 2}));
  EXPECT_NE(hash_key(Position{1, 2}), hash_key(Position{2, 1}));
}

TEST(Key, OfSmallPartsIsAWordOfTheirBytes) {
  constexpr std::uint64_t word = 0xffffffff'00000007;  // -1 above 7
  EXPECT_EQ(word_of(std::array{7, -1}), word);
  EXPECT_EQ(word_of(std::tuple(7, -1)), word);
  EXPECT_EQ(word_of(std::pair(7, -1)), word);
  EXPECT_EQ(word_of(std::tuple(std::int8_t{-1}, std::int32_t{1})), 0x1ffU);  // no gap
  EXPECT_EQ(word_of(std::tuple(std::int64_t{-1})), ~std::uint64_t{0});
  EXPECT_EQ(word_of(std::int16_t{-1}), 0xffffU);
  EXPECT_EQ(word_of(std::pair(1, 0.0F)), word_of(std::pair(1, -0.0F)));  // equal, so not by bytes
}

/// The points of a step, `stride` apart, as keys of every kind that programs use for {step, point}.
template <typename Body>
void for_each_kind(const Body& body) {
  body("{step, point}", [](int step, int point) { return std::array{step, point}; });
  body("{point, step}", [](int step, int point) { return std::array{point, step}; });
  body("a structure", [](int step, int point) { return Position{step, point}; });
  body("a pair", [](int step, int point) { return std::pair(step, point); });
  body("a tuple", [](int step, int point) { return std::tuple(step, point); });
  body("a tuple of three", [](int step, int point) { return std::tuple(step, point, point % 5); });
  body("64 bits each", [](int step, int point) { return std::array<std::int64_t, 2>{step, point}; });
  body("64 bits each, turned", [](int step, int point) { return std::pair<std::int64_t, std::int64_t>(point, step); });
  body("16 bits each", [](int step, int point) {
    return std::array{static_cast<std::uint16_t>(step), static_cast<std::uint16_t>(point)};
  });
  body("negative", [](int step, int point) { return std::array{step, -point}; });
  body("a number", [](int step, int point) { return std::int64_t{step} * 100'000'000 + point; });
  body("two numbers in one", [](int step, int point) { return std::int64_t{step} << 40 | point; });
  body("a small number", [](int step, int point) { return step + point; });
  body("a name", [](int step, int point) { return std::to_string(step) + ":" + std::to_string(point); });
}

/// Strides of rows, tiles and columns; among them some that are bad for a product with the golden ratio alone.
constexpr std::array strides{1, 2, 3, 7, 8, 32, 64, 89, 96, 100, 192, 610, 1000, 1024, 4096, 6765, 10946};
constexpr std::array steps{0, 1, 2, 3, 17, 100, 4095, 65535};

bool fits_16_bits(const char* kind, int largest) { return std::string(kind) != "16 bits each" || largest < 1 << 16; }

TEST(Key, SpreadsThePointsOfEachStepOverTheWorkers) {
  for_each_kind([](const char* kind, const auto& key_of) {
    for (const unsigned workers : {1U, 2U, 3U, 8U, 64U, 96U, 192U, 1000U})
      for (const int stride : strides)
        for (const int step : steps)
          for (const int points : {100, 10'000}) {
            if (!fits_16_bits(kind, stride * points)) continue;
            std::vector<int> share(workers);
            for (int point = 0; point < points; ++point)
              ++share.at(worker_of_key(key_of(step, point * stride), workers));
            // Drawn by chance, a share deviates from the even one by its root; by eight roots about never.
            const double even = 1.0 * points / workers;
            ASSERT_LE(*std::ranges::max_element(share), even + 8 * std::sqrt(std::max(even, 1.0)))
                << kind << ", " << workers << " workers, step " << step << ", " << points << " points, stride "
                << stride;
          }
  });
}

/// Probes of a search for each of the keys in a table with linear probing, a quarter of which they fill.
struct Probes {
  double mean = 0;
  int most = 0;
};
template <typename K>
Probes probes(const std::vector<K>& keys, std::uint64_t factor) {
  const int bits = static_cast<int>(std::bit_width(4 * keys.size() - 1));
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::vector<bool> full(mask + 1);
  Probes found;
  for (const K& key : keys) {
    std::uint64_t slot = (word_of(key) * factor) >> (64 - bits);
    int here = 1;
    for (; full[slot]; slot = (slot + 1) & mask) ++here;
    full[slot] = true;
    found.mean += 1.0 * here / static_cast<double>(keys.size());
    found.most = std::max(found.most, here);
  }
  return found;
}

/// With the factors that a table takes one after another. Words that are hashes are to lie well with each of them;
/// others with one, because a table changes a factor with which they do not.
template <typename K>
Probes probes(const std::vector<K>& keys) {
  constexpr bool hashed = sizeof(K) > sizeof(std::uint64_t);
  Probes found = probes(keys, odd);
  for (const std::uint64_t factor : {odd * odd * odd, odd * odd * odd * odd * odd}) {
    const Probes other = probes(keys, factor);
    if ((other.mean > found.mean) == hashed) found = other;
  }
  return found;
}

TEST(Key, OfNeighbouringPointsDoNotClump) {
  // A quarter full and drawn by chance, a search takes 1.17 probes.
  for_each_kind([](const char* kind, const auto& key_of) {
    for (const int stride : strides)
      for (const int step : steps) {
        constexpr int points = 1000;
        if (!fits_16_bits(kind, stride * points)) continue;
        std::vector<decltype(key_of(0, 0))> keys, of_two_steps;
        for (int point = 0; point < points; ++point) {
          keys.push_back(key_of(step, point * stride));
          of_two_steps.push_back(key_of(step + point % 2, point / 2 * stride));
        }
        if (std::string(kind) == "a small number") of_two_steps = keys;  // which is the same for two steps
        for (const auto& each : {keys, of_two_steps}) {
          const Probes found = probes(each);
          ASSERT_LE(found.mean, 1.5) << kind << ", step " << step << ", stride " << stride;
          ASSERT_LE(found.most, 30) << kind << ", step " << step << ", stride " << stride;
        }
      }
  });
}

TEST(Key, OfOneWorkerDoNotClumpEither) {
  for_each_kind([](const char* kind, const auto& key_of) {
    for (const unsigned workers : {2U, 8U, 192U})
      for (const int step : steps) {
        std::vector<decltype(key_of(0, 0))> keys;
        for (int point = 0; point < 50'000; ++point)
          if (worker_of_key(key_of(step, point), workers) == workers / 2) keys.push_back(key_of(step, point));
        const Probes found = probes(keys);
        ASSERT_LE(found.mean, 1.5) << kind << ", step " << step << ", " << workers << " workers";
        ASSERT_LE(found.most, 60) << kind << ", step " << step << ", " << workers << " workers";
      }
  });
}

TEST(Key, IsShownAsAPersonWouldWriteIt) {
  EXPECT_EQ(key_text(42), "42");
  EXPECT_EQ(key_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(key_text(std::uint8_t{65}), "65") << "a number, no letter";
  EXPECT_EQ(key_text(true), "1");
  EXPECT_EQ(key_text(Colour::green), "1");
  EXPECT_EQ(key_text(0.5), "0.5");
  EXPECT_EQ(key_text(std::string("left")), "left");
  EXPECT_EQ(key_text(std::tuple(1, std::string("a"), 2.5)), "(1, a, 2.5)");
  EXPECT_EQ(key_text(std::pair(1, std::array{2, 3})), "(1, (2, 3))");
  EXPECT_EQ(key_text(std::tuple<>()), "()");
  EXPECT_EQ(key_text(Position{1, 2}), "?");
}

TEST(Payload, CarriesWhatFits) {
  const std::array<std::int64_t, 3> three{1, -2, 3};
  const auto carried = Payload::of(three).as<std::array<std::int64_t, 3>>();
  EXPECT_EQ(carried, three);
  EXPECT_EQ(Payload::of(std::uint8_t{200}).as<std::uint8_t>(), 200);
  static_assert(Payload::fits<int> && Payload::fits<double> && Payload::fits<Position>);
  static_assert(!Payload::fits<std::string> && !Payload::fits<std::array<std::int64_t, 4>>);
}

TEST(Payload, CarriesSmallTuplesToo) {
  static_assert(Payload::fits<std::tuple<int, int>> && Payload::fits<std::tuple<int, int, int>>);
  static_assert(Payload::fits<std::pair<std::int64_t, std::int64_t>> && !Payload::fits<std::tuple<int, std::string>>);
  const std::tuple<int, std::int64_t> key(1, -2);
  const auto carried = Payload::of(key).as<std::tuple<int, std::int64_t>>();
  EXPECT_EQ(carried, key);
}

}  // namespace
}  // namespace taskgrain::rt::detail
