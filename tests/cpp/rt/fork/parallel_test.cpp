/// Loops over ranges: each element once, in the order that counts, whoever takes part.

#include "taskgrain/rt/parallel.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<Grain> grains{{}, {.least = 7}, {.least = 1, .fixed = true}, {.least = 64, .fixed = true}};
const std::vector<std::size_t> sizes{0, 1, 2, 3, 63, 64, 65, 1000, 20011};

TEST(Parallel, EachElementIsVisitedOnce) {
  for (const int workers : {1, 2, 4}) {
    Runtime runtime({.workers = workers});
    for (const Grain grain : grains)
      for (const std::size_t size : sizes) {
        std::vector<std::atomic<int>> visits(size);
        parallel_for(runtime, visits, [](std::atomic<int>& one) { ++one; }, grain);
        parallel_for(runtime, std::views::iota(std::size_t{0}, size), [&](std::size_t k) { ++visits[k]; }, grain);
        ASSERT_TRUE(std::ranges::all_of(visits, [](const auto& one) { return one == 2; })) << size;
      }
  }
}

TEST(Parallel, AStepOfLoopsSeesAllOfTheStepBefore) {
  for (const int workers : {1, 2, 5}) {
    Runtime runtime({.workers = workers});
    const Race race(2000);
    std::int64_t steps = 0;
    std::vector<std::uint64_t> before(23), now(23), expected(23);
    const auto next = [](const std::vector<std::uint64_t>& of, std::size_t k) {
      return mixed(of[k] + 2 * of[(k + 1) % 23] + 3 * of[(k + 22) % 23] + k);
    };
    fork_join(runtime, [&] {
      for (; race.has(steps); ++steps) {
        parallel_for(runtime, std::views::iota(std::size_t{0}, now.size()), [&](std::size_t k) {
          if (steps % 16 == 0) Dice(k).tarry(4000);
          now[k] = next(before, k);
        });
        std::swap(before, now);
      }
    });
    for (; steps > 0; --steps) {
      std::vector<std::uint64_t> last = expected;
      for (std::size_t k = 0; k < last.size(); ++k) expected[k] = next(last, k);
    }
    ASSERT_EQ(before, expected) << workers << " workers";
  }
}

TEST(Parallel, AReductionKeepsTheOrder) {
  for (const int workers : {1, 3}) {
    Runtime runtime({.workers = workers});
    for (const Grain grain : grains)
      for (const std::size_t size : sizes) {
        const auto numbers = std::views::iota(std::size_t{0}, size);
        std::string expected;
        for (const std::size_t k : numbers) expected += std::to_string(k) + ",";
        const auto joined = parallel_reduce(
            runtime, numbers, std::string(), [](std::string a, const std::string& b) { return std::move(a) + b; },
            [](std::size_t k) { return std::to_string(k) + ","; }, grain);
        ASSERT_EQ(joined, expected);
      }
  }
}

TEST(Parallel, WithAFixedGrainTheSumIsTheSameOnAnyNumberOfWorkers) {
  std::mt19937_64 dice(1);
  std::vector<double> values(100003);
  for (double& one : values)
    one = std::ldexp(std::uniform_real_distribution<>(-1, 1)(dice), static_cast<int>(dice() % 40));
  std::vector<double> sums;
  for (const int workers : {1, 2, 4, 4, 4}) {
    Runtime runtime({.workers = workers});
    sums.push_back(
        parallel_reduce(runtime, values, 0.0, std::plus<>(), std::identity(), {.least = 100, .fixed = true}));
  }
  EXPECT_THAT(sums, testing::Each(sums[0]));
}

TEST(Parallel, PrefixSums) {
  Runtime runtime({.workers = 3});
  for (const std::size_t size : sizes) {
    std::vector<std::int64_t> values(size);
    std::iota(values.begin(), values.end(), -5);
    std::vector<std::int64_t> expected(size);
    std::inclusive_scan(values.begin(), values.end(), expected.begin());
    std::vector<std::int64_t> found(size);
    parallel_scan(runtime, values, found.begin(), std::int64_t{0});
    EXPECT_EQ(found, expected);
    parallel_scan(runtime, values, values.begin(), std::int64_t{0});
    EXPECT_EQ(values, expected) << "in place";
    std::vector<char> any(size);
    if (size > 2) any[size / 2] = 1;
    std::vector<char> seen(size);
    parallel_scan(runtime, any, seen.begin(), false, std::logical_or<bool>());
    EXPECT_EQ(std::ranges::count(seen, 1), size > 2 ? static_cast<std::ptrdiff_t>(size - size / 2) : 0);
  }
}

TEST(Parallel, SortsWhateverThereIs) {
  Runtime runtime({.workers = 3});
  std::mt19937_64 dice(2);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{20000}})
    for (const std::uint64_t different : {1UL, 2UL, 100UL, 1UL << 60}) {
      std::vector<std::uint64_t> values(size);
      for (auto& one : values) one = dice() % different;
      for (int order = 0; order < 4; ++order) {
        if (order == 1) std::ranges::sort(values);
        if (order == 2) std::ranges::reverse(values);
        if (order == 3) std::ranges::rotate(values, values.begin() + static_cast<std::ptrdiff_t>(size / 2));
        std::vector<std::uint64_t> sorted = values, expected = values;
        std::ranges::sort(expected);
        parallel_sort(runtime, sorted);
        ASSERT_EQ(sorted, expected);
        std::ranges::sort(expected, std::greater<>());
        parallel_sort(runtime, sorted, std::greater<>());
        ASSERT_EQ(sorted, expected);
      }
    }
}

TEST(Parallel, LoopsAndForksNest) {
  Runtime runtime({.workers = 4});
  std::function<std::int64_t(int)> tree = [&](int depth) -> std::int64_t {
    if (depth == 0) return 1;
    Fork one([&] { return tree(depth - 1); });
    const auto others = parallel_reduce(runtime, std::views::iota(0, 3), std::int64_t{0}, std::plus<>(),
                                        [&](int) { return tree(depth - 1); });
    return others + one.join();
  };
  const Race race(50, 1);
  for (std::int64_t round = 0; race.has(round); ++round) {
    const auto leaves =
        parallel_reduce(runtime, std::views::iota(0, 4), std::int64_t{0}, std::plus<>(), [&](int) { return tree(4); });
    ASSERT_EQ(leaves, 4 * 256);
  }
}

TEST(Parallel, WhatABodyThrowsEndsTheLoop) {
  Runtime runtime({.workers = 3});
  for (const Grain grain : grains) {
    const auto loop = [&] {
      parallel_for(
          runtime, std::views::iota(0, 10000),
          [](int k) {
            if (k == 4321) throw std::runtime_error("body 4321");
          },
          grain);
    };
    EXPECT_THAT(loop, ThrowsMessage<std::runtime_error>("body 4321"));
    EXPECT_EQ(parallel_reduce(runtime, std::views::iota(0, 100), 0, std::plus<>()), 4950) << "it goes on";
    const auto all_throw = [&] {
      parallel_for(
          runtime, std::views::iota(0, 1000), [](int k) { throw std::runtime_error(std::to_string(k)); }, grain);
    };
    EXPECT_THAT(all_throw, ThrowsMessage<std::runtime_error>("0")) << "the first from the left";
  }
  std::atomic<int> visits{0};
  for (const bool fixed : {false, true})
    for (const std::size_t least : {SIZE_MAX, SIZE_MAX / 2 + 1})
      parallel_for(runtime, std::views::iota(0, 10), [&](int) { ++visits; }, {.least = least, .fixed = fixed});
  EXPECT_EQ(visits.load(), 40);
  EXPECT_THAT([&] { parallel_for(runtime, std::views::iota(0, 9), [](int) {}, {.least = 0}); },
              ThrowsMessage<UsageError>(HasSubstr("grain.least is 0")));
}

}  // namespace
}  // namespace taskgrain::rt
