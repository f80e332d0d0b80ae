/// Taskflows with keys of every kind: a chain over all workers, and a grid whose tasks have two dependences.

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

/// A structure without == and without a constructor that takes nothing.
struct Cell {
  explicit Cell(int at) : row(at / 100), column(at % 100) {}
  std::int32_t row, column;
};

/// One with std::hash and a part that does not count.
struct Labelled {
  int id;
  std::string label;
  bool operator==(const Labelled& other) const { return id == other.id; }
};

struct alignas(32) Aligned {
  std::int64_t words[4];
};

enum class Number : std::int16_t {};

}  // namespace
}  // namespace taskgrain::rt

template <>
struct std::hash<taskgrain::rt::Labelled> {
  std::size_t operator()(const taskgrain::rt::Labelled& key) const noexcept { return static_cast<std::size_t>(key.id); }
};

namespace taskgrain::rt {
namespace {

constexpr int side = 30, last = side * side - 1;

/// A grid of tasks, each after its upper and its left neighbour; `key_of` and `number_of` are each other's inverse.
template <typename K, typename KeyOf, typename NumberOf>
void run_grid(const KeyOf& key_of, const NumberOf& number_of) {
  for (const int workers : {1, 3}) {
    Runtime runtime({.workers = workers});
    std::vector<int> ran(side * side), value(side * side);
    Taskflow<K> grid(runtime, "grid");
    grid.indegree([&](const K& key) { return (number_of(key) / side > 0) + (number_of(key) % side > 0); });
    grid.run([&](const K& key) {
      const int k = number_of(key), row = k / side, column = k % side;
      ++ran[static_cast<std::size_t>(k)];
      const int up = row > 0 ? value[static_cast<std::size_t>(k - side)] : 0,
                left = column > 0 ? value[static_cast<std::size_t>(k - 1)] : 0;
      value[static_cast<std::size_t>(k)] = 1 + std::max(up, left);
      if (row + 1 < side) grid.fulfill(key_of(k + side));
      if (column + 1 < side) grid.fulfill(key_of(k + 1));
    });
    for (int again = 1; again <= 3; ++again) {
      grid.fulfill(key_of(0));
      runtime.wait();
      EXPECT_THAT(ran, testing::Each(again));
      EXPECT_EQ(value[last], 2 * side - 1);
    }
  }
}

TEST(Keys, MayBeIntegers) {
  run_grid<int>([](int k) { return k; }, [](int key) { return key; });
  run_grid<std::uint64_t>([](int k) { return std::uint64_t{1} << 63 | static_cast<unsigned>(k); },
                          [](std::uint64_t key) { return static_cast<int>(key & 0xffff); });
  run_grid<std::int16_t>([](int k) { return static_cast<std::int16_t>(-k); }, [](std::int16_t key) { return -key; });
  run_grid<Number>([](int k) { return static_cast<Number>(k); }, [](Number key) { return static_cast<int>(key); });
}

TEST(Keys, MayBePairsAndTuples) {
  run_grid<std::pair<int, int>>([](int k) { return std::pair(k / side, k % side); },
                                [](const std::pair<int, int>& key) { return key.first * side + key.second; });
  using Step = std::tuple<char, std::int64_t, int>;
  run_grid<Step>([](int k) { return Step('x', k / side, k % side); },
                 [](const Step& key) { return static_cast<int>(std::get<1>(key)) * side + std::get<2>(key); });
}

TEST(Keys, MayBeArrays) {
  using Point = std::array<int, 3>;
  run_grid<Point>([](int k) { return Point{k / side, k % side, 7}; },
                  [](const Point& key) { return key[0] * side + key[1]; });
}

TEST(Keys, MayBeStructures) {
  run_grid<Cell>([](int k) { return Cell(k); }, [](const Cell& key) { return key.row * 100 + key.column; });
  run_grid<Aligned>([](int k) { return Aligned{{k, 0, 0, -k}}; },
                    [](const Aligned& key) { return static_cast<int>(key.words[0]); });
}

TEST(Keys, MayBeStructuresWithTheirOwnEquality) {
  std::atomic<int> note{0};
  run_grid<Labelled>([&](int k) { return Labelled{k, "note " + std::to_string(++note)}; },
                     [](const Labelled& key) { return key.id; });
}

TEST(Keys, MayBeStrings) {
  run_grid<std::string>([](int k) { return std::to_string(k); }, [](const std::string& key) { return std::stoi(key); });
  run_grid<std::string>([](int k) { return std::string(100, '0') + std::to_string(k); },
                        [](const std::string& key) { return std::stoi(key); });
  using Named = std::tuple<std::string, int>;
  run_grid<Named>([](int k) { return Named("a name that is too long for a small string", k); },
                  [](const Named& key) { return std::get<1>(key); });
}

TEST(Keys, MayBeLarge) {
  using Large = std::array<std::int64_t, 100>;
  run_grid<Large>(
      [](int k) {
        Large key{};
        key.front() = key.back() = k;
        return key;
      },
      [](const Large& key) {
        EXPECT_EQ(key.front(), key.back());
        return static_cast<int>(key.front());
      });
}

TEST(Keys, MayBeReferencesToTheTaskThatRuns) {
  // The key that `run` gets lives until `run` ends, also while it is what others are made from.
  Runtime runtime({.workers = 2});
  Taskflow<std::string> flow(runtime);
  std::vector<std::string> order;
  flow.indegree([](const std::string&) { return 1; }).worker([](const std::string&) { return 0; });
  flow.bound([](const std::string&) { return true; });
  flow.run([&](const std::string& key) {
    if (key.size() < 200) flow.fulfill(key + "x");
    order.push_back(key);
  });
  flow.fulfill("");
  runtime.wait();
  ASSERT_EQ(order.size(), 201U);
  for (std::size_t n = 0; n < order.size(); ++n) EXPECT_EQ(order[n], std::string(n, 'x'));
}

struct Unshown {
  int number = 0;
  friend std::ostream& operator<<(std::ostream&, Unshown) { throw std::runtime_error("cannot be shown"); }
};

TEST(Keys, ThatThrowWhenTheyAreShownAreNamedByTheirFlow) {
  Runtime runtime({.workers = 2});
  Taskflow<Unshown> flow(runtime, "flow");
  bool fails = true;
  flow.indegree([&](Unshown) { return fails ? 1 : 2; }).run([](Unshown) { throw std::runtime_error("no"); });
  flow.fulfill({1});
  EXPECT_THAT([&] { runtime.wait(); }, testing::ThrowsMessage<TaskFailed>(
                                           testing::HasSubstr("flow with a key that cannot be shown failed: no")));
  fails = false;
  flow.fulfill({1});
  EXPECT_THAT([&] { runtime.wait(); }, testing::ThrowsMessage<Stuck>(testing::HasSubstr("flow with a key that")));
}

}  // namespace
}  // namespace taskgrain::rt
