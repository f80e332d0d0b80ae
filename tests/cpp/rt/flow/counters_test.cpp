/// The table of waiting tasks: held to std::map, with keys of every kind and with homes that collide.

#include "taskgrain/rt/detail/counters.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "taskgrain/rt/detail/numbered_counters.hpp"

namespace taskgrain::rt::detail {
namespace {

template <typename K, typename Counters>
std::map<K, int> contents(const Counters& counters) {
  std::map<K, int> found;
  counters.for_each(
      [&](const K& key, int count) { EXPECT_TRUE(found.emplace(key, count).second) << "twice in the table"; });
  EXPECT_EQ(found.size(), counters.size());
  return found;
}

/// Random first, next and last fulfilments of tasks whose keys are `key_of(0)`, …, `key_of(different - 1)`.
template <typename K, typename KeyOf, typename Counters = Counters<K>>
void compare_with_map(int different, int operations, const KeyOf& key_of, Counters&& counters = {}) {
  std::mt19937 random(static_cast<unsigned>(different));
  std::map<K, int> expected;
  for (int n = 0; n < operations; ++n) {
    const K key = key_of(static_cast<int>(random() % static_cast<unsigned>(different)));
    std::int32_t* count = counters.find(key);
    const auto known = expected.find(key);
    ASSERT_EQ(count != nullptr, known != expected.end());
    if (count == nullptr) {
      const int first = 1 + static_cast<int>(random() % 3);
      counters.insert(key, first);
      expected.emplace(key, first);
    } else {
      ASSERT_EQ(*count, known->second);
      --known->second;
      if (--*count == 0) {
        counters.remove(count);
        expected.erase(known);
      }
    }
    ASSERT_EQ(counters.size(), expected.size());
    if (n % 97 == 0) {
      ASSERT_EQ(contents<K>(counters), expected);
    }
  }
  EXPECT_EQ(contents<K>(counters), expected);
}

template <typename K, typename KeyOf>
void compare_small_and_large(const KeyOf& key_of) {
  compare_with_map<K>(5, 2000, key_of);
  compare_with_map<K>(30, 5000, key_of);     // below the first growth
  compare_with_map<K>(1000, 20000, key_of);  // beyond several
}

TEST(Counters, OfIntegersAreThoseOfAMap) {
  compare_small_and_large<int>([](int n) { return n; });
  compare_small_and_large<std::int64_t>([](int n) { return std::int64_t{n} << 40; });
  compare_small_and_large<std::int8_t>([](int n) { return static_cast<std::int8_t>(n); });
  compare_small_and_large<std::uint64_t>([](int n) { return ~static_cast<std::uint64_t>(n); });
}

TEST(Counters, OfStringsAreThoseOfAMap) {
  compare_small_and_large<std::string>(
      [](int n) { return "a task with a name that no small string holds " + std::to_string(n); });
  compare_small_and_large<std::string>(
      [](int n) { return std::string(static_cast<std::size_t>(n % 40), 'x') + std::to_string(n); });
}

TEST(Counters, OfTuplesAreThoseOfAMap) {
  compare_small_and_large<std::tuple<int, int>>([](int n) { return std::tuple(n % 10, n / 10); });
  compare_small_and_large<std::tuple<char, std::int64_t>>(
      [](int n) { return std::tuple(static_cast<char>(n % 3), std::int64_t{n}); });
  compare_small_and_large<std::tuple<int, std::string>>([](int n) { return std::tuple(n % 7, std::to_string(n)); });
  compare_small_and_large<std::pair<std::string, double>>(
      [](int n) { return std::pair(std::to_string(n % 5), 0.5 * n); });
}

TEST(Counters, OfArraysAreThoseOfAMap) {
  compare_small_and_large<std::array<int, 3>>([](int n) { return std::array{n % 4, n / 4, 7}; });
  compare_small_and_large<std::array<std::int64_t, 12>>([](int n) {  // larger than what is compared by bytes
    return std::array<std::int64_t, 12>{n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -n};
  });
}

struct alignas(64) Aligned {
  std::int64_t words[8];
  auto operator<=>(const Aligned&) const = default;
};

/// Numbers keys by themselves, modulo so many.
struct Numbers {
  int modulo;
  std::size_t number(int key) const { return static_cast<std::size_t>(key % modulo); }
  std::size_t number(const std::pair<char, int>& key) const { return static_cast<std::size_t>(key.second % modulo); }
};

TEST(Counters, OfNumberedKeysAreThoseOfAMap) {
  for (const int modulo : {1, 2, 7, 100, 1 << 20})
    for (const int different : {5, 60, 70, 1000}) {
      const Numbers numbers{modulo};
      NumberedCounters<int, Numbers> integers;
      integers.number_by(numbers);
      compare_with_map<int>(different, 20000, [](int n) { return n; }, integers);
      integers.clear();
      EXPECT_EQ(contents<int>(integers).size(), 0U);
      NumberedCounters<std::pair<char, int>, Numbers> pairs;
      pairs.number_by(numbers);
      compare_with_map<std::pair<char, int>>(
          different, 5000, [](int n) { return std::pair(static_cast<char>(n % 3), n * 64); }, pairs);
    }
}

TEST(Counters, KeepTheAlignmentOfKeys) {
  compare_small_and_large<Aligned>([](int n) { return Aligned{{n, 1, 2, 3, 4, 5, 6, 7}}; });
  Counters<Aligned> counters;
  for (int n = 0; n < 100; ++n) counters.insert(Aligned{{n}}, 1);
  counters.for_each([](const Aligned& key, int) { EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&key) % 64, 0U); });
}

/// Keys with few different hashes; `hash` becomes the home.
struct Colliding {
  std::string name;  // so that std::hash is asked
  std::uint64_t hash;
  auto operator<=>(const Colliding&) const = default;
};

}  // namespace
}  // namespace taskgrain::rt::detail

template <>
struct std::hash<taskgrain::rt::detail::Colliding> {
  std::size_t operator()(const taskgrain::rt::detail::Colliding& key) const noexcept { return key.hash; }
};

namespace taskgrain::rt::detail {
namespace {

TEST(Counters, OfKeysThatCollideAreThoseOfAMap) {
  for (const unsigned different_hashes : {1U, 2U, 5U})
    compare_with_map<Colliding>(
        60, 5000, [&](int n) { return Colliding{std::to_string(n), static_cast<unsigned>(n) % different_hashes}; });
}

/// What std::hash must give so that a key's home in a table of 64 slots is `slot`.
std::uint64_t hash_for_home(std::uint64_t slot) {
  for (std::uint64_t hash = 0;; ++hash)
    if (hash_key(Colliding{"", hash}) >> 58 == slot) return hash;
}

TEST(Counters, GoRoundTheEndOfTheTable) {
  const std::array homes{hash_for_home(61), hash_for_home(62), hash_for_home(63), hash_for_home(0), hash_for_home(1)};
  for (int different = 2; different <= 30; ++different)
    compare_with_map<Colliding>(different, 1000, [&](int n) {
      return Colliding{std::to_string(n), homes[static_cast<std::size_t>(n) % homes.size()]};
    });
}

/// A key that counts its objects, and knows if it is used after its end.
class Counted {
 public:
  static inline int alive = 0;

  explicit Counted(int value) : value_(value) { ++alive; }
  Counted(const Counted& other) : value_(other.value()) { ++alive; }
  Counted(Counted&& other) noexcept : value_(other.value()) { ++alive; }
  Counted& operator=(const Counted& other) = default;
  ~Counted() {
    EXPECT_EQ(state_, constructed) << "destroyed twice";
    state_ = destroyed;
    --alive;
  }
  int value() const {
    EXPECT_EQ(state_, constructed) << "used after its end";
    return value_;
  }
  bool operator==(const Counted& other) const { return value() == other.value(); }
  bool operator<(const Counted& other) const { return value() < other.value(); }

 private:
  static constexpr std::uint32_t constructed = 0x600d600d, destroyed = 0xdeaddead;
  volatile std::uint32_t state_ = constructed;  // volatile, or the compiler leaves out the last write
  int value_;
};

}  // namespace
}  // namespace taskgrain::rt::detail

template <>
struct std::hash<taskgrain::rt::detail::Counted> {
  std::size_t operator()(const taskgrain::rt::detail::Counted& key) const noexcept {
    return static_cast<std::size_t>(key.value());
  }
};

namespace taskgrain::rt::detail {
namespace {

TEST(Counters, HoldOneObjectForEachKey) {
  {
    Counters<Counted> counters;
    std::mt19937 random(7);
    for (int n = 0; n < 20000; ++n) {
      const Counted key(static_cast<int>(random() % 300));
      std::int32_t* count = counters.find(key);
      if (count == nullptr) {
        counters.insert(key, 1);
      } else {
        *count = 0;
        counters.remove(count);
      }
      ASSERT_EQ(Counted::alive, static_cast<int>(counters.size()) + 1);
    }
    EXPECT_GT(Counted::alive, 0);
  }
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Counters, DestroyEachKeyOnceWhenCleared) {
  Counters<Counted> counters;
  for (int n = 0; n < 500; ++n) counters.insert(Counted(n), 2);
  EXPECT_EQ(Counted::alive, 500);
  counters.clear();
  EXPECT_EQ(Counted::alive, 0);
  EXPECT_EQ(counters.size(), 0U);
  EXPECT_EQ(counters.find(Counted(3)), nullptr);
  counters.insert(Counted(3), 1);
  EXPECT_EQ(Counted::alive, 1);
  counters.clear();
  counters.clear();
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Counters, StayFastWithKeysInOrder) {
  // The keys of rows, columns and grids: a search that ran through half the table would take minutes here.
  Counters<std::tuple<int, int>> counters;
  constexpr int side = 700;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) counters.insert({i, j}, 1);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      std::int32_t* count = counters.find({i, j});
      ASSERT_NE(count, nullptr);
      *count = 0;
      counters.remove(count);
    }
  EXPECT_EQ(counters.size(), 0U);
}

}  // namespace
}  // namespace taskgrain::rt::detail
