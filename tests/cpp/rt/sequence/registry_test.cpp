/// Which data overlaps which.

#include "sequence/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace taskgrain::rt::detail {
namespace {

std::set<std::uintptr_t> bytes(const Region& region) {
  std::set<std::uintptr_t> found;
  for (std::size_t row = 0; row < region.rows; ++row)
    for (std::size_t k = 0; k < region.row_bytes; ++k) found.insert(region.begin + row * region.stride + k);
  return found;
}

Region any_region(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::size_t stride = 1 + below(12);
  return {1000 + below(60), 1 + below(stride), 1 + below(6), stride};
}

TEST(RtRegions, OverlapWhereTheyHaveAByteInCommon) {
  std::mt19937 random(1);
  int overlapping = 0;
  for (int k = 0; k < 20'000; ++k) {
    const Region a = any_region(random), b = any_region(random);
    const auto of_a = bytes(a), of_b = bytes(b);
    const bool common = std::ranges::any_of(of_a, [&](std::uintptr_t byte) { return of_b.contains(byte); });
    ASSERT_EQ(overlap(a, b), common) << a.begin << ' ' << a.row_bytes << ' ' << a.rows << ' ' << a.stride << " and "
                                     << b.begin << ' ' << b.row_bytes << ' ' << b.rows << ' ' << b.stride;
    overlapping += common;
  }
  EXPECT_GT(overlapping, 2'000);
  EXPECT_LT(overlapping, 18'000);
}

TEST(RtRegions, ARegistryKnowsWhatOverlapsWhatWhileDataComesAndGoes) {
  std::mt19937 random(2);
  DataRegistry registry;
  std::vector<std::uint32_t> alive;
  for (int k = 0; k < 2'000; ++k) {
    if (random() % 3 == 0 && !alive.empty()) {
      const std::size_t which = random() % alive.size();
      registry.release(alive[which]);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
      registry.reclaim([](std::uint32_t) { return false; });
    } else if (alive.size() < 40) {
      std::vector<Region> regions(random() % 4);
      for (Region& region : regions) region = any_region(random);
      alive.push_back(registry.add(regions, "", 0));
    }
  }
  for (const std::uint32_t a : alive)
    for (const std::uint32_t b : alive) {
      if (a == b) continue;
      bool common = false;
      for (const Region& of_a : registry[a].regions)
        for (const Region& of_b : registry[b].regions) common = common || overlap(of_a, of_b);
      EXPECT_EQ(std::ranges::count(registry[a].overlaps, b), common ? 1 : 0) << a << ' ' << b;
    }
  EXPECT_LT(registry.size(), 120U) << "places of what is gone are used again";
}

TEST(RtRegions, AWholeMayHaveVeryManyParts) {
  // Minutes, where each part looks at all others.
  constexpr std::uintptr_t begin = 4096, parts = 100'000, bytes = 8;
  for (const bool whole_first : {false, true}) {
    DataRegistry registry;
    const auto add = [&](std::uintptr_t at, std::size_t size) {
      const Region region{at, size, 1, 0};
      return registry.add({&region, 1}, "", 0);
    };
    std::uint32_t whole = 0;
    std::vector<std::uint32_t> of_parts;
    if (whole_first) whole = add(begin, parts * bytes);
    for (std::uintptr_t k = 0; k < parts; ++k) of_parts.push_back(add(begin + k * bytes, bytes));
    if (!whole_first) whole = add(begin, parts * bytes);
    EXPECT_EQ(registry[whole].overlaps.size(), parts);
    EXPECT_EQ(registry[of_parts[7]].overlaps, std::vector{whole});
    const auto used = [&](std::uint32_t index) { return index % 2 == 0; };
    std::ranges::for_each(of_parts, [&](std::uint32_t index) { registry.release(index); });
    registry.reclaim(used);
    EXPECT_EQ(registry[whole].overlaps.size(), static_cast<std::size_t>(std::ranges::count_if(of_parts, used)));
  }
}

TEST(RtRegions, AnObjectOrdersWhereItsRegionsDoNotMeet) {
  DataRegistry registry;
  const Region object{100, 24, 1, 0}, elements{1000, 8, 1, 0}, grown{2000, 16, 1, 0}, part{2008, 8, 1, 0};
  const std::uint32_t first = registry.add({&elements, 1}, "", 0, {&object, 1}),
                      second = registry.add({&grown, 1}, "", 0, {&object, 1}), third = registry.add({&part, 1}, "", 0);
  EXPECT_EQ(registry[first].overlaps, std::vector{second});
  EXPECT_EQ(registry[second].overlaps, (std::vector{first, third}));
  EXPECT_EQ(registry[second].regions.size(), 1U) << "what other ranks get";
}

}  // namespace
}  // namespace taskgrain::rt::detail
