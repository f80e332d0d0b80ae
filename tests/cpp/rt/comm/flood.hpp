#pragma once

/// Ranks that send faster than others take it, over any transport.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "comm/messenger.hpp"
#include "rt/comm/ranks.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {

inline std::size_t queued_bytes(Communicator& comm, int to) {
  return static_cast<detail::Messenger&>(comm.messages()).queued_bytes(to);
}

/// A task of rank 0 sends messages to rank 1, which takes some 100 times as long for each as rank 0.
/// \returns on rank 0, the most bytes that waited after a send
inline std::size_t most_queued(Communicator& comm, int messages, const std::string& text) {
  std::atomic<int> came{0};
  std::size_t most = 0;
  const auto slow = comm.active_message([&](std::string_view what) {
    EXPECT_EQ(what, text);
    ++came;
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
         std::chrono::steady_clock::now() < until;) {
    }
  });
  Runtime runtime(with(comm, 1));
  Taskflow<int> flow(runtime, "floods");
  flow.indegree([](int) { return 1; }).run([&](int) {
    for (int k = 0; k < messages; ++k) {
      slow.send(1, text);
      most = std::max(most, queued_bytes(comm, 1));
    }
  });
  comm.barrier();  // from now on all ranks take messages
  if (comm.rank() == 0) flow.fulfill(0);
  runtime.wait();
  EXPECT_EQ(came, comm.rank() == 1 ? messages : 0);
  EXPECT_EQ(queued_bytes(comm, comm.ranks() - 1), 0u);
  return most;
}

/// Each rank sends far more than there is room for to all others: in tasks, which wait, and in functions of messages,
/// which do not; small messages, such that are longer than a packet, and large ones.
inline void flood_each_other(Communicator& comm, int workers) {
  const int ranks = comm.ranks(), tasks = 20, each = 50;
  std::atomic<int> came{0}, answers{0}, large_ones{0}, reused{0};
  const std::vector<double> body(5000, 1.0);
  std::vector<double> place(5000);
  const auto answer = comm.active_message([&](view<const double>) { ++answers; }, "answer");
  const auto ask = comm.active_message(
      [&](int from, view<const double> numbers) {
        ++came;
        for (int k = 0; k < 2; ++k) answer.send(from, numbers);
      },
      "ask");
  const auto large = comm.large_active_message([&](std::size_t) { return place.data(); }, [&] { ++large_ones; },
                                               [&] { ++reused; }, "large");
  Runtime runtime(with(comm, workers));
  const auto send = [&](int k) {
    for (int to = 0; to < ranks; ++to) {
      ask.send(to, comm.rank(), view<const double>(body.data(), k % 25 == 0 ? 20000 / sizeof(double) : 20));
      if (k % 10 == 0) large.send(to, view<const double>(body.data(), body.size()));
    }
  };
  Taskflow<int> flow(runtime, "floods");
  flow.indegree([](int) { return 1; }).worker([workers](int k) { return k % workers; }).run([&](int) {
    for (int k = 0; k < each; ++k) send(k);
  });
  for (int round = 1; round <= 3; ++round) {
    for (int k = 0; k < tasks; ++k) flow.fulfill(round * tasks + k);
    for (int k = 0; k < each; ++k) send(k);  // by the program, between its waits
    runtime.wait();
    const int all = round * ranks * (tasks + 1) * each;
    EXPECT_EQ(came, all);
    EXPECT_EQ(answers, 2 * all);
    EXPECT_EQ(large_ones, all / 10);
    EXPECT_EQ(reused, all / 10);
    for (int to = 0; to < ranks; ++to) EXPECT_EQ(queued_bytes(comm, to), 0u);
    comm.barrier();  // nobody sends yet
  }
}

}  // namespace taskgrain::rt
