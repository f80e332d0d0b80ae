/// The table of handlers: a number leads to its handler while others come and go.

#include "taskgrain/rt/detail/handlers.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <thread>

#include "rt/stress.hpp"
#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt::detail {
namespace {

struct Nobody final : MessageHandler {
  void deliver(Worker&, const Payload&) noexcept override {}
};

TEST(Handlers, HaveDifferentNumbers) {
  Handlers table;
  std::deque<Nobody> all(1000);
  std::set<std::uint32_t> numbers;
  for (Nobody& one : all) {
    table.add(one);
    numbers.insert(one.number());
  }
  EXPECT_EQ(numbers.size(), all.size());
  for (Nobody& one : all) EXPECT_EQ(&table[one.number()], &one);
}

TEST(Handlers, GiveANumberAgain) {
  Handlers table;
  Nobody stays;
  table.add(stays);
  std::set<std::uint32_t> numbers;
  for (int n = 0; n < 10'000; ++n) {
    Nobody one;
    table.add(one);
    numbers.insert(one.number());
    ASSERT_EQ(&table[one.number()], &one);
    table.remove(one);
  }
  EXPECT_EQ(numbers.size(), 1);
  EXPECT_EQ(&table[stays.number()], &stays);
}

TEST(Handlers, AreFoundWhileTheTableGrows) {
  for (int n = 0; n < rounds(100); ++n) {
    Handlers table;
    std::deque<Nobody> all(300);
    std::atomic<Nobody*> newest{nullptr};
    std::jthread reader([&] {
      for (Backoff backoff; newest != &all.back(); backoff.wait()) {
        Nobody* const one = newest.load(std::memory_order_acquire);
        if (one == nullptr) continue;
        ASSERT_EQ(&table[one->number()], one);
      }
    });
    for (Nobody& one : all) {
      table.add(one);
      newest.store(&one, std::memory_order_release);
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt::detail
