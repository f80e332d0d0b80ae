/// Sequences across ranks, which are processes that a test forks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "random_programs.hpp"
#include "rt/comm/ranks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {
namespace {

using namespace random_programs;
using testing::HasSubstr;

class SequenceOn : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SequenceOn, testing::Values(1, 2, 3, 4), testing::PrintToStringParamName());

TEST_P(SequenceOn, DoesWhatItsTasksDoOneAfterTheOther) {
  const std::int64_t programs = rounds(10);
  on_ranks(GetParam(), [&](int) {
    Communicator comm;
    for (const int workers : {1, 2}) {
      Runtime runtime(with(comm, workers));
      for (std::int64_t n = 0; n < programs; ++n) {
        const RandomProgram program(static_cast<std::uint64_t>(1000 * workers + n));
        const std::string seed = "seed " + std::to_string(1000 * workers + n);
        Given given(runtime, &comm, program, std::size_t{1} << (n % 8));
        for (int k = 0; k < 3; ++k) given.give();
        given.wait();
        ASSERT_EQ(given.memory, serial(program, 3, false)) << seed;
        Given looped(runtime, &comm, program, std::size_t{1} << (n % 8));
        looped.sequence().loop(5, [&] { looped.give(); });
        looped.wait();
        ASSERT_EQ(looped.memory, serial(program, 5, true)) << seed << " in a loop";
        Given traced(runtime, &comm, program, 16);
        for (int k = 0; k < 4; ++k) traced.sequence().trace(7, [&] { traced.give(); });
        traced.wait();
        ASSERT_EQ(traced.memory, serial(program, 4, false)) << seed << " in a trace";
        EXPECT_EQ(traced.sequence().statistics().replayed, 3U) << seed;
        Given between(runtime, &comm, program, 16);
        random_programs::Memory expected;
        for (std::size_t k = 0; k < 6; ++k) {
          const std::size_t all = program.steps().size(), some = k % 2 == 0 ? 0 : (7 * k) % all;
          between.sequence().trace(7, [&] { between.give(); });
          between.give(some);
          if (k == 3) between.wait(k % program.data());
          run_serially(program, all, expected, 0);
          run_serially(program, some, expected, 0);
        }
        between.wait();
        ASSERT_EQ(between.memory, expected) << seed << " with tasks between calls of a trace";
        Given mixed(runtime, &comm, program, 8);
        mixed.give();
        mixed.sequence().trace(1, [&] { mixed.give(); });
        mixed.sequence().loop(1, [&] { mixed.give(); });
        mixed.sequence().trace(1, [&] { mixed.give(); });
        mixed.give();
        mixed.wait();
        ASSERT_EQ(mixed.memory, serial(program, 5, false)) << seed << " in all ways";
      }
    }
  });
}

/// In a loop and outside, with no copy of a future left where its value is still to be sent.
TEST_P(SequenceOn, BringsResultsToTheRanksThatReadThem) {
  on_ranks(GetParam(), [](int rank, Communicator& comm, Runtime& runtime) {
    std::vector<double> of_rank(static_cast<std::size_t>(comm.ranks()), 0.0);
    Sequence sequence(runtime, comm);
    std::vector<Data> data;
    for (int k = 0; k < comm.ranks(); ++k)
      data.push_back(sequence.data(of_rank[static_cast<std::size_t>(k)], {.rank = k}));
    const int last = comm.ranks() - 1;
    const auto step = [&] {
      const auto sum = sequence.task({read(data[0])}, [&] { return of_rank[0] + 1.0; }, {.rank = last});
      for (int k = 0; k < comm.ranks(); ++k)
        sequence.task({read(sum), read_write(data[static_cast<std::size_t>(k)])},
                      [&of_rank, sum, k] { of_rank[static_cast<std::size_t>(k)] += *sum + k; });
    };
    step();
    sequence.loop(2, step);
    for (int k = 0; k < 3; ++k) sequence.trace(0, step);
    const auto ran = sequence.task({read(data.back())}, [rank] { return rank; });
    EXPECT_EQ(sequence.wait(ran), last);  // where the data is
    int steps = 6;
    while (sequence.wait(sequence.task({read(data[0])}, [&] { return of_rank[0]; })) < 1000.0) step(), ++steps;
    EXPECT_EQ(steps, 10);
    for (const Data& one : data) sequence.wait(one);
    for (int k = 0; k < comm.ranks(); ++k) EXPECT_EQ(of_rank[static_cast<std::size_t>(k)], 1023.0 + 10.0 * k) << k;
  });
}

/// A task after a trace reads what has come in it, and not before it has.
TEST(SequenceAcrossRanks, HasResultsOfTracesAfterThese) {
  on_ranks(2, Workers{2}, [](int, Communicator& comm, Runtime& runtime) {
    Sequence sequence(runtime, comm);
    for (int k = 0; k < 4; ++k) {
      std::optional<Future<int>> late;
      sequence.trace(0, [&] {
        const auto sleep_first = [k] {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          return k;
        };
        late = sequence.task({}, sleep_first, {.rank = 0});
        sequence.task({read(*late)}, [] {}, {.rank = 1});
      });
      EXPECT_EQ(sequence.wait(sequence.task({read(*late)}, [late] { return **late; }, {.rank = 1})), k);
    }
    EXPECT_EQ(sequence.statistics().replayed, 3U);
  });
}

/// Ranks number their data and their workers in their own way, as memory comes free at different times.
TEST(SequenceAcrossRanks, MayDifferInNumbers) {
  on_ranks(2, [](int rank) {
    Communicator comm;
    Runtime runtime(with(comm, 1 + rank));
    double values[40] = {}, first = 0.0, second = 0.0;
    int calls = 0;
    Sequence sequence(runtime, comm);
    {
      std::vector<Data> gone;
      for (double& value : values) gone.push_back(sequence.data(value, {.rank = 1}));
      for (const Data& one : gone) sequence.task({read_write(one)}, [] {}, {.rank = 1});
    }
    const Data of_first = sequence.data(first, {.rank = 0}), of_second = sequence.data(second, {.rank = 0});
    const auto one = [] { return 1.0; };
    sequence.reduce(of_first, first, std::plus<>(), {}, one, {.rank = 0});
    sequence.reduce(of_second, second, std::plus<>(), {}, one, {.rank = 1});
    sequence.wait();
    const Data of_calls = sequence.data(calls, {.rank = 0});
    for (int k = 0; k < 6; ++k)
      sequence.trace(
          0, [&] { sequence.task({read_write(of_calls)}, [&] { ++calls; }, {.worker = k % runtime.workers()}); });
    for (const Data* const data : {&of_first, &of_second, &of_calls}) sequence.wait(*data);
    EXPECT_EQ(first, 1.0);
    EXPECT_EQ(second, 1.0);
    EXPECT_EQ(calls, 6);
  });
}

TEST(SequenceAcrossRanks, OrdersWhatHasNoMemory) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    std::uint64_t at = 0;  // in a token's order, rank 1 comes after rank 0
    Sequence sequence(runtime, comm);
    const Data token = sequence.token(), data = sequence.data(at, {.rank = 0});
    for (int k = 0; k < 20; ++k)
      sequence.task({read_write(token)}, [&, k] { at = static_cast<std::uint64_t>(k); }, {.rank = k % 2});
    sequence.wait();
    EXPECT_EQ(at, 18 + rank);
  });
}

/// New data has its own first value, whatever tasks have done to data in the same memory.
TEST(SequenceAcrossRanks, ForgetsDataThatIsGone) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    std::vector<int> memory(8, -1);
    Sequence sequence(runtime, comm);
    for (const int owner : {0, 1, 0, 1}) {
      for (int& one : memory) one = rank;
      const Data whole = sequence.data(memory, {.rank = owner});
      const Data half = sequence.data(std::span(memory).first(4));
      const auto seen = sequence.task({read(whole)}, [&] { return memory[0] + memory[7]; }, {.rank = 1 - owner});
      EXPECT_EQ(sequence.wait(seen), 2 * owner);
      sequence.task({write(half)}, [&] { memory[0] = 7; }, {.rank = 1 - owner});
      sequence.wait(whole);
      EXPECT_EQ(memory[0], 7);
    }
  });
}

TEST(SequenceAcrossRanks, NamesWhatCannotBe) {
  on_ranks(2, [](int rank) {
    Communicator comm;
    Runtime runtime(with(comm)), alone({.workers = 1, .pin = false});
    EXPECT_THROW(Sequence(alone, comm), UsageError);
    std::string text = "on rank 0";
    Sequence sequence(runtime, comm);
    const Data data = sequence.data(text, {.name = "text", .rank = 0});
    const auto refused = [](const auto& call, const char* said) {
      EXPECT_THAT(call, testing::ThrowsMessage<UsageError>(HasSubstr(said)));
    };
    refused([&] { sequence.data(comm, {.rank = 2}); }, "rank is 2, allowed are 0 to 1");
    refused([&] { sequence.task({}, [] {}, {.rank = 2}); }, "rank is 2, allowed are 0 to 1");
    struct Elsewhere {
      std::string text;
      char at;
    } object{"x", 'y'};
    const Data others = sequence.data(object, {.name = "object", .rank = 0});
    refused([&] { sequence.task({read(others)}, [] {}, {.name = "reader", .rank = 1}); },
            "task reader of rank 1 uses 'object' of another rank, which cannot be copied as bytes");
    refused([&] { sequence.task({read(data)}, [] {}, {.rank = 1}); }, "a task of rank 1 uses 'text' of another rank");
    int number = rank == 0 ? 42 : 0;  // a task that was refused has brought nothing
    const Data of_number = sequence.data(number, {.rank = 0});
    refused([&] { sequence.task({read(of_number), read(others)}, [] {}, {.rank = 1}); }, "uses 'object'");
    EXPECT_EQ(sequence.wait(sequence.task({read(of_number)}, [&] { return number; }, {.rank = 1})), 42);
    sequence.task({write(others)}, [] {});
    sequence.wait();
  });
}

TEST(SequenceAcrossRanks, FailsTogether) {
  for (const bool looped : {false, true})
    on_ranks(2, [looped](int rank) {
      testing::internal::CaptureStderr();
      const std::unique_ptr<void, void (*)(void*)> at_end(
          &rank, [](void*) { EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "it was waited for"; });
      Communicator comm;
      Runtime runtime(with(comm));
      int value = 0;
      Sequence sequence(runtime, comm);
      const Data data = sequence.data(value, {.rank = 1});
      const std::string task = looped ? "sequence loop thrower of iteration 2" : "sequence thrower";
      const auto step = [&] {
        sequence.task({read_write(data)},
                      [&](const Turn& turn) {
                        ++value;
                        if (value == 3 || turn.iteration == 3) throw std::runtime_error("on purpose");
                      },
                      {.name = "thrower"});
        sequence.task({read(data)}, [] {}, {.rank = 0});
      };
      try {
        for (int k = 0; k < 5 && !looped; ++k) step();
        if (looped) sequence.loop(1000000, step);
        sequence.wait();
        ADD_FAILURE() << "it has ended";
      } catch (const RankFailed& error) {
        EXPECT_EQ(rank, 0);
        EXPECT_EQ(error.what(), "rank 1 failed: " + task + " failed: on purpose");
      } catch (const TaskFailed& error) {
        EXPECT_EQ(rank, 1);
        EXPECT_EQ(error.task(), task);
      }
    });
}

TEST(SequenceAcrossRanks, ThatABodyHasThrownIsToldByItsRank) {
  for (const int ranks : {2, 3})
    for (int thrower = 0; thrower < ranks; ++thrower)
      on_ranks(ranks, [thrower](int rank, Communicator& comm, Runtime& runtime) {
        std::array<int, 2> values{};
        Sequence sequence(runtime, comm);
        const Data a = sequence.data(values[0], {.rank = 0}), b = sequence.data(values[1], {.rank = 1});
        try {
          sequence.loop(20, [&] {
            sequence.task({read(a), read_write(b)}, [&] { values[1] += values[0]; });
            if (rank == thrower) throw std::runtime_error("no bread");
            sequence.task({read(b), read_write(a)}, [&] { values[0] += values[1]; });
          });
          ADD_FAILURE() << "it is not found";
        } catch (const RankFailed& error) {
          EXPECT_NE(rank, thrower) << error.what();
        } catch (const std::runtime_error&) {
          EXPECT_EQ(rank, thrower);
        }
        EXPECT_THAT(
            [&] {
              sequence.wait(a);
              sequence.wait(b);
            },
            throws_of_rank(thrower, "no bread"));
      });
}

/// In a loop, where each takes itself, or the other, for the one that has the data, and where only sizes differ.
TEST(SequenceAcrossRanks, FindsThatARankWasGivenOtherTasks) {
  for (const int way : {0, 1, 2, 3})
    on_ranks(2, [way](int rank, Communicator& comm, Runtime& runtime) {
      std::array<int, 2> values{};
      Sequence sequence(runtime, comm);
      const Data data = sequence.data(std::span(values).first(way == 3 && rank == 1 ? 2 : 1), {.rank = 1});
      const auto step = [&] {
        sequence.task({read_write(data)}, [&] { ++values[0]; }, {.rank = way == 3 ? 1 : way == 1 ? rank : 1 - rank});
      };
      EXPECT_THAT(
          [&] {
            if (way == 0) sequence.loop(3, step);
            step();
            sequence.task({read(data)}, [] {}, {.rank = way == 3 ? 0 : rank});
            sequence.wait(data);
            runtime.wait();  // until what the ranks have told each other has come
          },
          testing::ThrowsMessage<std::exception>(
              HasSubstr("was given other tasks, or data of other sizes, than rank")));
    });
}

/// The numbers differ at once, or after the graphs of both were compiled.
TEST(SequenceAcrossRanks, NamesTheTracesInWhichTheyDiffer) {
  for (const std::vector<std::vector<std::uint64_t>>& ids :
       {std::vector<std::vector<std::uint64_t>>{{0, 0, 0, 0}, {0, 1, 0, 1}}, {{3, 3, 4, 4, 3}, {3, 3, 4, 4, 4}}})
    on_ranks(2, [&ids](int rank, Communicator& comm, Runtime& runtime) {
      double x = 0, y = 0;
      Sequence sequence(runtime, comm);
      const Data a = sequence.data(x, {.rank = 0}), b = sequence.data(y, {.rank = 1});
      try {
        for (const std::uint64_t id : ids[static_cast<std::size_t>(rank)])
          sequence.trace(id, [&] {
            sequence.task({read(b), read_write(a)}, [&] { x += y + 1; });
            sequence.task({read(a), read_write(b)}, [&] { y += x + 1; });
          });
        sequence.wait(a);
        runtime.wait();
        ADD_FAILURE() << "it is not found";
      } catch (const RankFailed& error) {
        EXPECT_EQ(error.rank(), 1) << "both name one";
        const auto [own, other] = std::ranges::mismatch(ids[0], ids[1]);
        EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("trace " + std::to_string(*own)), HasSubstr("rank 0"),
                                                 HasSubstr("trace " + std::to_string(*other)), HasSubstr("rank 1")));
      }
    });
}

/// What cannot travel is found when the sum is to be added, and tasks still write its parts.
TEST(SequenceAcrossRanks, ASumThatIsRefusedIsDroppedAndNotWritten) {
  on_ranks(2, [](int) {
    struct Text {
      std::string text;
    } sum{"x"};
    double a = 0, b = 0;
    int after = 0;
    Communicator comm;
    Runtime runtime(with(comm, 2));
    Sequence sequence(runtime, comm);
    const Data of_sum = sequence.data(sum, {.rank = 0}), of_after = sequence.data(after, {.rank = 1});
    const Data parts[] = {sequence.data(a, {.rank = 0}), sequence.data(b, {.rank = 1})};
    for (int k = 0; k < 8; ++k)
      sequence.reduce(
          of_sum, sum, [](Text l, const Text& r) { return Text{l.text + r.text}; }, {read(parts[k % 2])},
          [k] {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return Text{std::string(100, static_cast<char>('a' + k))};
          },
          {.rank = k % 2});
    EXPECT_THROW(sequence.wait(of_sum), UsageError);
    sequence.wait();
    EXPECT_EQ(sum.text, "x");
    sequence.task({write(of_after)}, [&] { after = 7; });
    sequence.wait(of_after);
    EXPECT_EQ(after, 7);
  });
}

}  // namespace
}  // namespace taskgrain::rt
