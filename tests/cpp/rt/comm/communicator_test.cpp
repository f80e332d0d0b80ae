/// Active messages between ranks of one host, with a runtime and without.

#include "taskgrain/rt/communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rt/comm/flood.hpp"
#include "rt/comm/ranks.hpp"
#include "rt/refuse_calls.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/taskflow.hpp"

namespace taskgrain::rt {
namespace {

using std::chrono::milliseconds;

class NumberOfRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, NumberOfRanks, testing::Values(1, 2, 3, 4), testing::PrintToStringParamName());

TEST_P(NumberOfRanks, SendArgumentsOfAllKinds) {
  on_ranks(GetParam(), [](int rank, Communicator& comm, Runtime& runtime) {
    int calls = 0;
    const auto all = comm.active_message([&](int number, const std::string& text, view<const double> numbers,
                                             std::vector<std::string> words, std::pair<int, double> pair,
                                             std::tuple<int, std::string> tuple, char last) {
      ++calls;
      EXPECT_EQ(number, -1);
      EXPECT_EQ(text, "text");
      EXPECT_THAT(numbers, testing::ElementsAre(1.5, 2.5));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % alignof(double), 0u);
      EXPECT_THAT(words, testing::ElementsAre("a", ""));
      EXPECT_EQ(pair, std::pair(3, 4.0));
      EXPECT_EQ(tuple, std::tuple(5, std::string("six")));
      EXPECT_EQ(last, '7');
    });
    const auto nothing = comm.active_message([&] { ++calls; });
    const auto empty = comm.active_message([&](view<int> numbers) {
      EXPECT_TRUE(numbers.empty());
      ++calls;
    });
    const std::vector<double> numbers{1.5, 2.5};
    for (int to = 0; to < comm.ranks(); ++to) {
      all.send(to, -1, "text", view<const double>(numbers), {"a", ""}, {3, 4.0}, {5, "six"}, '7');
      nothing.send(to);
      empty.send(to, {});
    }
    runtime.wait();
    EXPECT_EQ(calls, 3 * comm.ranks()) << rank;
  });
}

/// Threads outside, tasks of all workers and functions of messages send at a time.
TEST(ActiveMessages, AreSentByAnyThread) {
  on_ranks(2, [](int rank) {
    Communicator comm;
    std::atomic<int> sum{0}, hops{0};
    {
      Runtime runtime(with(comm, 2));
      const auto add = comm.active_message([&](int number) { sum += number; });
      const ActiveMessage<int>* again = nullptr;
      const auto hop = comm.active_message([&](int left) {
        ++hops;
        if (left > 0) again->send(1 - rank, left - 1);
      });
      again = &hop;
      Taskflow<int> flow(runtime, "sends");
      flow.indegree([](int) { return 1; }).worker([](int k) { return k % 2; }).run([&](int k) {
        add.send(k % 4 / 2, 1);
      });
      std::vector<std::thread> outside;
      {
        const auto hold = runtime.hold();
        for (int t = 0; t < 2; ++t)
          outside.emplace_back([&, hold = runtime.hold()] {
            for (int k = 0; k < 500; ++k) add.send(k % 2, 1);
          });
        for (int k = 0; k < 1000; ++k) flow.fulfill(k);
        hop.send(1 - rank, 100);
      }
      runtime.wait();
      for (auto& thread : outside) thread.join();
      runtime.wait();
    }
    EXPECT_EQ(sum, 2000);
    EXPECT_EQ(hops, 101);
  });
}

/// Everybody sends to everybody, and to itself, of random sizes; each message is checked by its bytes.
TEST_P(NumberOfRanks, StormEachOther) {
  on_ranks(GetParam(), [](int rank) {
    Communicator comm;
    EXPECT_EQ(comm.rank(), rank);
    Runtime runtime(with(comm, 2));
    std::atomic<std::int64_t> came{0};
    const auto check = comm.active_message([&](std::uint64_t seed, view<const std::uint8_t> bytes) {
      ++came;
      for (std::size_t k = 0; k < bytes.size(); k += 61)
        if (bytes[k] != static_cast<std::uint8_t>(mixed(seed) + k)) {
          ADD_FAILURE() << "byte " << k << " of " << bytes.size();
          break;
        }
    });
    Dice dice(static_cast<std::uint64_t>(rank));
    const std::int64_t each = rounds(2000);
    std::vector<std::uint8_t> bytes;
    for (std::int64_t k = 0; k < each; ++k)
      for (int to = 0; to < comm.ranks(); ++to) {
        const std::uint64_t seed = dice.below(1 << 30);
        const std::uint64_t kind = dice.below(200);
        bytes.resize(dice.below(kind == 0 ? 1 << 20 : kind < 20 ? 1 << 14 : 200));
        for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::uint8_t>(mixed(seed) + b);
        check.send(to, seed, view<const std::uint8_t>(bytes));
      }
    runtime.wait();
    EXPECT_EQ(came, each * comm.ranks());
  });
}

TEST(ActiveMessages, WaitForNoMoreRoomThanIsAllowed) {
  constexpr std::size_t record = 32;  // what keeps a message, beside its 16 + 8 + 100 bytes
  for (const std::size_t bound : {std::size_t{1}, std::size_t{64} << 10, SIZE_MAX})
    on_ranks(2, [bound](int rank) {
      Communicator comm({.queue_bytes = bound});
      const int messages = 20'000;
      const std::size_t most = most_queued(comm, messages, std::string(100, 'x'));
      if (rank != 0) return;
      if (bound == SIZE_MAX) {
        EXPECT_GT(most, messages * std::size_t{124} / 2);
      } else {
        EXPECT_LT(most, bound + 128 + record);
      }
    });
}

TEST(ActiveMessages, OfMoreThanAPacketWaitForRoom) {
  on_ranks(2, [](int rank) {
    Communicator comm({.queue_bytes = 1});
    const std::size_t most = most_queued(comm, 300, std::string(200'000, 'x'));
    EXPECT_LT(most, 201'000u) << rank;
  });
}

TEST_P(NumberOfRanks, MayFloodEachOther) {
  for (const int workers : {1, 2})
    for (const std::size_t bound : {1, 10'000})
      on_ranks(GetParam(), [&](int) {
        Communicator comm({.queue_bytes = bound});
        flood_each_other(comm, workers);
      });
}

TEST(ActiveMessages, DoNotWaitForRoomWhereNothingWouldGoOn) {
  on_ranks(2, [](int rank) {
    Communicator comm({.queue_bytes = 1});
    int came = 0, answers = 0;
    const auto answer = comm.active_message([&](view<const int>) { ++answers; }, "answer");
    const auto ask = comm.active_message(
        [&](view<const int> numbers) {
          ++came;
          for (int k = 0; k < 100; ++k) answer.send(1 - rank, numbers);
          EXPECT_GT(queued_bytes(comm, 1 - rank), came == 100 ? 100'000u : 0u);
        },
        "ask");
    const std::vector<int> numbers(1000);
    for (int k = 0; k < 100; ++k) ask.send(1 - rank, numbers);  // nobody takes messages yet
    EXPECT_GT(queued_bytes(comm, 1 - rank), 100'000u);
    Runtime runtime(with(comm));
    runtime.wait();
    EXPECT_EQ(came, 100);
    EXPECT_EQ(answers, 10'000);
  });
}

/// The sender sleeps, or waits, when the last of what found no room goes on its way.
TEST(ActiveMessages, ThatFoundNoRoomReachARankThatSleeps) {
  for (int round = 0; round < 3; ++round)
    on_ranks(2, [](int rank) {
      Communicator comm;
      RuntimeOptions options = with(comm);
      options.spin = std::chrono::microseconds(10);
      Runtime runtime(options);
      int came = 0;
      const auto slow = comm.active_message([&](view<const std::uint8_t>) {
        if (++came % 50 == 0) std::this_thread::sleep_for(milliseconds(5));
      });
      const std::vector<std::uint8_t> bytes(10'000);
      if (rank == 0)
        for (int k = 0; k < 200; ++k) slow.send(1, bytes);
      runtime.wait();
      EXPECT_EQ(came, rank == 0 ? 0 : 200);
    });
}

// -- large ones

/// How the body comes to the receiver.
enum class By { arena, kernel, pieces };

struct LargeCase {
  By by;
  std::size_t number;
};

class Large : public testing::TestWithParam<LargeCase> {};
std::string name_of(const testing::TestParamInfo<LargeCase>& info) {
  const char* const names[] = {"Arena", "Kernel", "Pieces"};
  return names[static_cast<int>(info.param.by)] + std::to_string(info.param.number);
}
constexpr LargeCase large_cases[] = {{By::arena, 0},  {By::arena, 1},        {By::arena, 300'000},
                                     {By::kernel, 1}, {By::kernel, 300'000}, {By::pieces, 0},
                                     {By::pieces, 1}, {By::pieces, 300'000}};
INSTANTIATE_TEST_SUITE_P(Messages, Large, testing::ValuesIn(large_cases), name_of);

TEST_P(Large, Arrive) {
  on_ranks(3, [](int rank) {
    const auto [by, number] = GetParam();
    if (by == By::pieces && !refuse_calls({SYS_process_vm_readv})) return;
    Communicator comm;
    Runtime runtime(with(comm));
    int processed = 0, reused = 0;
    std::vector<std::vector<double>> places(3, std::vector<double>(number));
    const auto send = comm.large_active_message(
        [&](int from, const std::string& text, std::size_t elements) {
          EXPECT_EQ(text, "head");
          EXPECT_EQ(elements, places[0].size());
          return elements == 0 ? nullptr : places[static_cast<std::size_t>(from)].data();
        },
        [&](int from, const std::string& text) {
          EXPECT_EQ(text, "head");
          ++processed;
          for (std::size_t k = 0; k < places[0].size(); ++k)
            ASSERT_EQ(places[static_cast<std::size_t>(from)][k], static_cast<double>(k) + from);
        },
        [&](int from, const std::string& text) {
          EXPECT_EQ(from, rank);
          EXPECT_EQ(text, "head");
          ++reused;
        });
    const auto body = comm.memory<double>(by == By::arena ? number : 0);
    std::vector<double> own(number);
    const view<double> numbers = by == By::arena ? body.elements() : view<double>(own);
    for (std::size_t k = 0; k < number; ++k) numbers[k] = static_cast<double>(k) + rank;
    for (int to = 0; to < 3; ++to) send.send(to, numbers, rank, "head");
    runtime.wait();
    EXPECT_EQ(processed, 3);
    EXPECT_EQ(reused, 3);
  });
}

TEST(LargeMessages, StormEachOtherInPiecesAndWithout) {
  for (const bool in_pieces : {false, true})
    on_ranks(3, [in_pieces](int rank) {
      if (in_pieces && !refuse_calls({SYS_process_vm_readv})) return;
      Communicator comm;
      Runtime runtime(with(comm, 2));
      std::atomic<std::int64_t> processed{0}, reused{0};
      const std::int64_t each = rounds(60);
      std::vector<std::vector<std::uint32_t>> places(static_cast<std::size_t>(3 * each)), bodies = places;
      const auto send = comm.large_active_message(
          [&](std::uint32_t which, std::size_t number) {
            places[which].resize(number);
            return places[which].data();
          },
          [&](std::uint32_t which) {
            ++processed;
            for (std::size_t k = 0; k < places[which].size(); ++k)
              ASSERT_EQ(places[which][k], which + 17 * static_cast<std::uint32_t>(k));
          },
          [&](std::uint32_t) { ++reused; });
      Dice dice(static_cast<std::uint64_t>(rank));
      for (std::int64_t k = 0; k < each; ++k)
        for (std::uint32_t to = 0; to < 3; ++to) {
          const auto which = static_cast<std::uint32_t>(rank * each + k);
          auto& body = bodies[static_cast<std::size_t>(to * each + k)];
          body.resize(1 + dice.below(100'000));
          for (std::size_t b = 0; b < body.size(); ++b) body[b] = which + 17 * static_cast<std::uint32_t>(b);
          send.send(static_cast<int>(to), body, which);
        }
      runtime.wait();
      EXPECT_EQ(processed, 3 * each);
      EXPECT_EQ(reused, 3 * each);
    });
}

TEST(LargeMessages, BeyondTwoGiB) {
  if (std::getenv("TASKGRAIN_TEST_LARGE") == nullptr)
    GTEST_SKIP() << "needs 8 GiB of memory; TASKGRAIN_TEST_LARGE=1 runs it";
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    constexpr std::size_t number = (std::size_t{5} << 29) + 3;
    std::vector<std::uint8_t> place(rank == 1 ? number : 0);
    int processed = 0;
    const auto send = comm.large_active_message(
        [&](std::size_t bytes) {
          EXPECT_EQ(bytes, number);
          return place.data();
        },
        [&] { ++processed; }, [] {});
    std::vector<std::uint8_t> body(rank == 0 ? number : 0, 3);
    if (rank == 0) body.back() = 4, send.send(1, body);
    runtime.wait();
    if (rank == 0) return;
    EXPECT_EQ(processed, 1);
    EXPECT_EQ(place[number / 2], 3);
    EXPECT_EQ(place.back(), 4);
  });
}

// -- kinds

/// Of another name, or never made: see simulated_messengers.cpp.
TEST(ActiveMessages, OfOneNameAndOtherTypesAreAnErrorThatNamesBoth) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    EXPECT_THAT(
        [&] {
          if (rank == 1)
            comm.active_message([](double) { FAIL(); }, "apple").send(0, 1.0);
          else
            comm.active_message([](int) { FAIL(); }, "apple").send(1, 1);
          runtime.wait();
        },
        testing::ThrowsMessage<RankFailed>(testing::AllOf(testing::HasSubstr("apple"), testing::HasSubstr("double"))));
  });
}

TEST(ActiveMessages, ToARankThatThereIsNotAreRefused) {
  on_ranks(2, [](int) {
    Communicator comm;
    const auto am = comm.active_message([](int) {});
    EXPECT_THROW(am.send(2, 1), UsageError);
    EXPECT_THROW(am.send(-1, 1), UsageError);
    comm.barrier();
  });
}

// -- ranks

TEST(Ranks, AThreadMayTakeWhatComes) {
  on_ranks(2, [](int rank) {
    Communicator comm({.progress_thread = true});
    for (const int workers : {1, 3}) {
      RuntimeOptions options = with(comm, workers);
      options.spin = std::chrono::microseconds(20);
      Runtime runtime(options);
      std::atomic<int> ran{0};
      Taskflow<int> flow(runtime, "pong");
      std::atomic<const ActiveMessage<int>*> next{nullptr};  // ThreadSanitizer sees no order through another process
      flow.indegree([](int) { return 1; }).run([&](int k) {
        ++ran;
        if (k < 100) next.load()->send(1 - rank, k + 1);
      });
      const auto arrive = comm.active_message([&](int k) { flow.fulfill(k); });
      next = &arrive;
      comm.barrier();  // the first message may come as soon as the other rank has the handler
      if (rank == 0) flow.fulfill(0);
      runtime.wait();
      EXPECT_EQ(ran, rank == 0 ? 51 : 50);
      runtime.wait();
    }
  });
}

TEST(Ranks, HaveSeveralRuntimesOneAfterAnother) {
  on_ranks(3, [](int rank) {
    Communicator comm;
    std::atomic<int> came{0};  // ThreadSanitizer sees no order that leads through the barrier of another process
    const auto am = comm.active_message([&] { ++came; });
    for (int round = 1; round <= 10; ++round) {
      Runtime runtime(with(comm, 1 + round % 3));
      EXPECT_THROW(Runtime second(with(comm)), UsageError);
      am.send((rank + 1) % 3);
      runtime.wait();
      EXPECT_EQ(came, round);
      comm.barrier();  // a message of the next round may run as soon as this rank has waited
    }
  });
}

TEST_P(NumberOfRanks, HaveSeveralCommunicatorsOneAfterAnother) {
  on_ranks(GetParam(), [](int rank) {
    for (int round = 0; round < 20; ++round) {
      Communicator comm;
      const int ranks = comm.ranks();
      std::atomic<int> came{0};
      // Its number and its text are the same each time; only the round tells whose message it is.
      const auto am = comm.active_message([&](int of, view<const int> numbers) {
        EXPECT_EQ(of, round);
        EXPECT_EQ(numbers[0], of);
        ++came;
      });
      const Memory<int> numbers = comm.memory<int>(1000);
      std::ranges::fill(numbers.elements(), round);
      {
        Runtime runtime(with(comm));
        for (int to = 0; to < ranks; ++to)
          for (std::size_t k = 0; k < 40; ++k) am.send(to, round, numbers.elements().first(1 + k % 2 * 999));
        runtime.wait();
        EXPECT_EQ(came, 40 * ranks);
      }
      // Some are still in this one while others begin the next, and do not take what nobody has waited for.
      if (round % 2 == 0)
        for (int to = 0; to < ranks; ++to) am.send(to, round, numbers.elements());
      if ((round + rank) % 3 == 0) std::this_thread::sleep_for(milliseconds(5));
    }
  });
}

TEST(Ranks, HaveOneCommunicatorAtATime) {
  on_ranks(2, [](int) {
    const auto refusal = [] {
      try {
        Communicator second;
        return std::string();
      } catch (const UsageError& error) {
        return std::string(error.what());
      }
    };
    {
      Communicator comm;
      EXPECT_THAT(refusal(), testing::HasSubstr("end that one first, or use it for both"));
      comm.barrier();  // the first has not suffered
    }
    EXPECT_EQ(refusal(), "");
  });
}

TEST_P(NumberOfRanks, NeedNoRuntime) {
  on_ranks(GetParam(), [](int rank) {
    Communicator comm;
    std::atomic<int> came{0};
    const auto am = comm.active_message([&](view<const int> numbers) { came += numbers[0]; });
    const std::vector<int> large(300'000, 1);
    for (int round = 1; round <= 20; ++round) {
      for (int to = 0; to < comm.ranks(); ++to) am.send(to, view<const int>(large.data(), to == 0 ? large.size() : 3));
      while (came < comm.ranks() * round) comm.progress();
      comm.barrier();
    }
    EXPECT_EQ(came, 20 * comm.ranks()) << rank;
  });
}

/// Sandboxes refuse calls that come late in Linux' history.
TEST(Ranks, WorkWhereTheKernelRefuses) {
  for (const int error : {EPERM, ENOSYS})
    on_ranks(3, [error](int rank) {
      if (!refuse_calls({SYS_futex_waitv, SYS_membarrier, SYS_process_vm_readv, SYS_pidfd_open}, error)) return;
      Communicator comm;
      RuntimeOptions options = with(comm, 2);
      options.spin = std::chrono::microseconds(10);
      Runtime runtime(options);
      std::atomic<int> ran{0};
      Taskflow<int> flow(runtime, "ring");
      const ActiveMessage<int, view<const char>>* next = nullptr;
      const std::string large(100'000, 'x');
      flow.indegree([](int) { return 1; }).worker([](int k) { return k % 2; }).run([&](int k) {
        ++ran;
        if (k < 150) next->send((rank + 1) % 3, k + 1, view<const char>(large.data(), k % 10 == 0 ? large.size() : 1));
      });
      const auto arrive = comm.active_message([&](int k, view<const char>) { flow.fulfill(k); });
      next = &arrive;
      if (rank == 0) flow.fulfill(0);
      runtime.wait();
      EXPECT_EQ(ran, rank == 0 ? 51 : 50);
    });
}

}  // namespace
}  // namespace taskgrain::rt
