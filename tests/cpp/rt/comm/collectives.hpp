#pragma once

/// Collective calls over any transport, against the same fold by hand: every rank can compute what all have given.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rt/comm/ranks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/combinable.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {

/// A number whose sums depend on their order.
inline double double_of(std::uint64_t seed) { return static_cast<double>(mixed(seed) % 1000003) * 1e-3 + 1e9 / 3; }

inline void check_collectives(Communicator& comm, std::uint64_t rounds_of_it) {
  const auto ranks = static_cast<std::uint64_t>(comm.ranks()), rank = static_cast<std::uint64_t>(comm.rank());
  for (std::uint64_t round = 0; round < rounds_of_it; ++round) {
    const auto seed = [&](std::uint64_t of) { return mixed(round) + of; };
    const int root = static_cast<int>(mixed(round) % ranks);
    // Neither commutative nor associative.
    const auto op = [](double a, double b) { return a * 0.7 - b; };
    double expected = double_of(seed(0)), sum = expected, least = expected;
    std::string text;
    for (std::uint64_t r = 0; r < ranks; ++r) {
      if (r > 0) expected = op(expected, double_of(seed(r)));
      if (r > 0) sum += double_of(seed(r));
      least = std::min(least, double_of(seed(r)));
      text += std::string(mixed(seed(r)) % 100'000 / (round % 20 == 0 ? 1 : 1000), static_cast<char>('a' + r));
    }
    const double own = double_of(seed(rank));
    EXPECT_EQ(comm.all_reduce(own, op), expected);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(comm.all_reduce(own)), std::bit_cast<std::uint64_t>(sum));
    EXPECT_EQ(comm.all_reduce(own, std::ranges::min), least);
    const auto at_root = comm.reduce(own, op, root);
    EXPECT_EQ(at_root.has_value(), root == comm.rank());
    if (at_root) EXPECT_EQ(*at_root, expected);
    const std::string piece(mixed(seed(rank)) % 100'000 / (round % 20 == 0 ? 1 : 1000), static_cast<char>('a' + rank));
    EXPECT_EQ(comm.all_reduce(piece), text);
    const auto all = comm.all_gather(std::pair(comm.rank(), piece));
    ASSERT_EQ(all.size(), ranks);
    for (std::uint64_t r = 0; r < ranks; ++r) EXPECT_EQ(all[r].first, static_cast<int>(r));
    std::vector<double> values(mixed(seed(rank)) % 50, own);
    comm.broadcast(values, root);
    EXPECT_EQ(values, std::vector<double>(mixed(seed(static_cast<std::uint64_t>(root))) % 50,
                                          double_of(seed(static_cast<std::uint64_t>(root)))));
  }
  comm.barrier();
}

/// What tasks of all ranks and workers return, in the order of keys.
inline void check_collector(Communicator& comm, int workers) {
  Runtime runtime(with(comm, workers));
  constexpr int tasks = 500;
  double expected = 0;
  for (int k = 0; k < tasks; ++k) expected += double_of(static_cast<std::uint64_t>(k));
  Collector<int, double> values(runtime);
  Combinable<int> ran(runtime);
  Taskflow<int> flow(runtime, "returns");
  flow.indegree([](int) { return 1; }).run(values.collect([&](int k) {
    ++ran.local();
    return double_of(static_cast<std::uint64_t>(k));
  }));
  for (int round = 0; round < 3; ++round) {
    for (int k = comm.rank(); k < tasks; k += comm.ranks()) flow.fulfill(k);
    runtime.wait();
    EXPECT_EQ(std::bit_cast<std::uint64_t>(values.all_reduce(comm)), std::bit_cast<std::uint64_t>(expected));
  }
  EXPECT_EQ(comm.all_reduce(ran.combine()), 3 * tasks);

  // Functions of messages count, too, whichever thread runs them: here the main thread, in a collective call.
  Combinable<int> told(runtime);
  auto tell = comm.active_message([&](int number) { told.local() += number; }, "tell");
  for (int rank = 0; rank < comm.ranks(); ++rank) tell.send(rank, 1 + rank);
  comm.barrier();
  runtime.wait();
  EXPECT_EQ(told.combine(), comm.ranks() * (1 + comm.rank()));
}

}  // namespace taskgrain::rt
