/// The table of waiting tasks: held to std::map, with keys of every kind and with homes that collide.

#include "taskgrain/rt/detail/counters.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <map>
#include <new>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "allocations.hpp"
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
    if (word_of(Colliding{"", hash}) * odd >> 58 == slot) return hash;
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
  compare_small_and_large<Counted>([](int n) { return Counted(n); });
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

/// What a number must be multiplied by to give 1, modulo 2^64.
constexpr std::uint64_t inverse(std::uint64_t odd_number) {
  std::uint64_t found = 1;
  for (int k = 0; k < 6; ++k) found *= 2 - odd_number * found;  // Newton's method
  return found;
}

/// A key with this word. Counts how often keys were compared and their homes asked for: a search or a removal does
/// either for each slot that it walks.
struct Walked {
  static inline std::int64_t looks = 0;

  std::uint64_t word;
  int id = 0;
  bool operator==(const Walked& other) const { return ++looks, word == other.word && id == other.id; }
};

}  // namespace
}  // namespace taskgrain::rt::detail

template <>
struct std::hash<taskgrain::rt::detail::Walked> {
  std::size_t operator()(const taskgrain::rt::detail::Walked& key) const noexcept {
    ++key.looks;
    return __builtin_bswap64(key.word) * taskgrain::rt::detail::inverse(taskgrain::rt::detail::odd);
  }
};

namespace taskgrain::rt::detail {
namespace {

/// Looks at keys that a task takes, where `waiting` tasks wait at a time and the oldest runs. At least 4: two searches,
/// one of which compares a key, and the insertion.
template <typename WordOf>
double looks(int waiting, const WordOf& word_of_task) {
  Counters<Walked> counters;
  const int warm = 2 * waiting + 1000, tasks = 4000;
  for (int n = 0; n < warm + tasks; ++n) {
    if (n == warm) Walked::looks = 0;
    const Walked key{word_of_task(static_cast<std::uint64_t>(n))};
    if (counters.find(key) == nullptr) counters.insert(key, 1);
    if (n < waiting) continue;
    std::int32_t* oldest = counters.find({word_of_task(static_cast<std::uint64_t>(n - waiting))});
    *oldest = 0;
    counters.remove(oldest);
  }
  return static_cast<double>(Walked::looks) / tasks;
}

TEST(Counters, WalkLittleWhateverTheStride) {
  std::vector<std::uint64_t> strides{257, 718, 393, 20623, 249, 141};
  for (const std::uint64_t factor : {1, 3, -1, 1 << 8}) strides.push_back(inverse(odd) * factor);
  for (int bit = 0; bit < 50; ++bit) strides.push_back(std::uint64_t{1} << bit);
  for (std::uint64_t n = 3; n < 2000; n += 14) strides.push_back(n);
  double sum = 0;
  for (const std::uint64_t stride : strides)
    for (const int waiting : {60, 250, 1000}) {
      const double found = looks(waiting, [&](std::uint64_t n) { return n * stride; });
      EXPECT_LE(found, 24) << stride << " " << waiting;
      sum += found;
    }
  EXPECT_LE(sum / static_cast<double>(3 * strides.size()), 5.5);
}

TEST(Counters, LayGridsApart) {
  double sum = 0;
  int number = 0;
  for (const std::uint64_t width : {1, 7, 8, 32, 50, 64, 100, 128, 256})
    for (const int waiting : {60, 250, 1000}) {
      sum += looks(waiting, [&](std::uint64_t n) { return n % width | n / width << 32; });
      sum += looks(waiting, [&](std::uint64_t n) { return n / width | n % width << 32; });
      number += 2;
    }
  EXPECT_LE(sum / number, 4.6);  // places drawn by chance: 5.0
}

TEST(Counters, WalkLittleWhereWordsAreRandom) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> words(20000);
  for (std::uint64_t& word : words) word = random();
  EXPECT_LE(looks(1000, [&](std::uint64_t n) { return words[n]; }), 6);
}

TEST(Counters, OfEqualWordsEndTheirSearchForAnotherFactor) {
  Counters<Walked> counters;
  constexpr int many = 3000;
  Walked::looks = 0;
  for (int n = 0; n < many; ++n)
    if (const Walked key{7, n}; counters.find(key) == nullptr) counters.insert(key, 1);
  EXPECT_LE(Walked::looks - many * (many - 1) / 2, 20 * many);
}

TEST(Counters, ChangeAFactorThatClumpsEachTime) {
  Counters<Walked> counters;
  const auto looks_of = [&](std::uint64_t stride, int waiting) {
    constexpr int tasks = 20000;
    Walked::looks = 0;
    for (int n = 0; n < tasks + waiting; ++n) {
      if (n < tasks) counters.insert({stride * static_cast<std::uint64_t>(n)}, 1);
      if (n < waiting) continue;
      std::int32_t* oldest = counters.find({stride * static_cast<std::uint64_t>(n - waiting)});
      *oldest = 0;
      counters.remove(oldest);
    }
    return static_cast<double>(Walked::looks) / tasks;
  };
  looks_of(1, 1000);  // now there are 4096 slots
  std::uint64_t factor = odd;
  for (int k = 0; k < 10; ++k, factor *= odd)
    EXPECT_LE(looks_of(inverse(factor), 60), 24) << "all have one home, " << k;
  for (int k = 0; k < 3; ++k, factor *= odd)
    EXPECT_LE(looks_of(inverse(factor) << 52, 250), 24) << "each has its own, side by side, " << k;
}

/// Numbers that are all the same, so that all keys but one are in the table.
struct OneNumber {
  std::size_t number(std::uint64_t) const { return 0; }
};

/// Inserts keys without any memory, so that nothing but a growth may fail, and that without a trace.
template <typename Counters>
void insert_without_memory(Counters& counters) {
  const auto refused = [&](std::uint64_t key) {
    bool thrown = false;
    refuse_next_allocation();
    try {
      counters.insert(key, 2);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    try {
      ::operator delete(::operator new(1));  // if it has not been refused yet
    } catch (const std::bad_alloc&) {
      EXPECT_FALSE(thrown);
    }
    EXPECT_EQ(counters.find(key) == nullptr, thrown);
    return thrown;
  };
  for (std::uint64_t n = 1; n <= 600; ++n) counters.insert(n, 1);  // memory for these, and for no more
  for (std::uint64_t n = 1; n <= 600; ++n) {
    std::int32_t* count = counters.find(n);
    *count = 0;
    counters.remove(count);
  }
  std::size_t size = 0;
  for (std::uint64_t n = 1; n <= 600; ++n) {
    EXPECT_FALSE(refused(n * inverse(odd)));
    EXPECT_EQ(counters.size(), ++size);
  }
  for (std::uint64_t n = 601; n <= 5000; ++n) {
    const std::uint64_t key = n * inverse(odd);
    if (refused(key)) counters.insert(key, 2);
    EXPECT_EQ(counters.size(), ++size);
  }
  EXPECT_EQ((contents<std::uint64_t>(counters).size()), size);
}

TEST(Counters, LoseNothingWhereMemoryEnds) {
  Counters<std::uint64_t> counters;
  insert_without_memory(counters);
  const OneNumber numbers;
  NumberedCounters<std::uint64_t, OneNumber> numbered;
  numbered.number_by(numbers);
  insert_without_memory(numbered);
}

}  // namespace
}  // namespace taskgrain::rt::detail
