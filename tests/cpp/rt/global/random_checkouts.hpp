#pragma once

/// Programs of checkouts that do not race, which all ranks draw, and of which each does its part.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "taskgrain/rt/global_array.hpp"

namespace taskgrain::rt {

/// What they read is what one memory would have. By all ranks.
inline void expect_one_memory(GlobalMemory& memory, std::int64_t programs) {
  for (std::int64_t program = 0; program < programs; ++program) {
    std::mt19937_64 random(static_cast<std::uint64_t>(program));
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
    const std::size_t size = 1 + draw(200);
    const Blocks blocks{std::vector<std::size_t>{0, 1, 3, 17}[draw(4)]};
    const GlobalArray<std::uint64_t> array(memory, size, blocks, "x");
    std::vector<std::uint64_t> model(size);
    for (int phase = 0; phase < 6; ++phase) {
      const std::vector<std::uint64_t> before = model;
      for (std::size_t first = 0; first < size;) {
        const std::size_t count = 1 + draw(std::min<std::size_t>(size - first, 40));
        const int writer = static_cast<int>(draw(static_cast<std::size_t>(memory.ranks()) + 1)) - 1;
        const std::size_t times = 1 + draw(3), from = draw(count), number = 1 + draw(count - from);
        const std::uint64_t value = random();
        if (writer == -1) {
          if (draw(2) == 0) array.prefetch(first + from, number);
          for (std::size_t time = 0; time < times; ++time) {
            const auto read = array.read(first + from, number);
            EXPECT_TRUE(std::ranges::equal(read, std::span(before).subspan(first + from, number)));
          }
        } else {
          std::fill_n(&model[first], count, value);
          for (std::size_t k = 0; k < times * number; ++k) model[first + from + k % number] += k;
          if (writer == memory.rank()) {
            std::ranges::fill(array.write(first, count), value);
            for (std::size_t time = 0; time < times; ++time) {
              const auto part = array.read_write(first + from, number);
              for (std::size_t k = 0; k < number; ++k) part[k] += time * number + k;
            }
            const auto read = array.read(first, count);
            EXPECT_TRUE(std::ranges::equal(read, std::span(model).subspan(first, count)));
          }
        }
        first += count;
      }
      memory.fence();
    }
    EXPECT_TRUE(std::ranges::equal(array.read(0, size), model));
  }
}

}  // namespace taskgrain::rt
