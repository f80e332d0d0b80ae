/// Arrays of all ranks, which are processes that a test forks: on one host, and each as if on a host of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "global/fence_counter.hpp"
#include "global/layout.hpp"
#include "random_checkouts.hpp"
#include "rt/comm/ranks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename Error, typename Function>
std::string message(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// -- where elements are

TEST(GlobalLayout, FindsEachElementOnce) {
  for (const std::size_t size : {0, 1, 2, 7, 12, 31})
    for (const std::size_t block : {1, 2, 5, 40})
      for (const int ranks : {1, 2, 3, 5}) {
        const detail::GlobalLayout layout{size, block, ranks, static_cast<int>(size) % ranks};
        std::vector<std::size_t> seen(static_cast<std::size_t>(ranks));
        for (std::size_t k = 0; k <= size; ++k) {
          for (int rank = 0; rank < ranks; ++rank)
            EXPECT_EQ(layout.before(rank, k), seen[static_cast<std::size_t>(rank)]);
          if (k == size) break;
          auto& number = seen[static_cast<std::size_t>(layout.owner(k))];
          EXPECT_EQ(layout.index(layout.owner(k), number++), k);
        }
      }
}

TEST(GlobalHosts, DivideARangeIntoRunsOfOneHost) {
  const detail::GlobalHosts hosts({0, 1, 0, 1, 4}, 3);
  EXPECT_EQ(hosts.number(), 3);
  EXPECT_EQ(hosts.here(), 1);
  const detail::GlobalLayout layout{40, 3, 5};
  for (std::size_t first = 0; first < 40; ++first)
    for (std::size_t end = first; end <= 40; ++end) {
      std::size_t at = first;
      int before = -1;
      std::vector<std::size_t> of_host(3);
      hosts.each_run(layout, first, end - first, [&](int host, std::size_t begin, std::size_t count) {
        EXPECT_EQ(begin, at);
        EXPECT_NE(host, before);
        EXPECT_GT(count, 0U);
        for (; at < begin + count; ++at) EXPECT_EQ(hosts.of(layout.owner(at)), host);
        of_host[static_cast<std::size_t>(host)] += count;
        before = host;
      });
      EXPECT_EQ(at, end);
      for (int host = 0; host < 3; ++host)
        EXPECT_EQ(hosts.before(layout, host, end) - hosts.before(layout, host, first),
                  of_host[static_cast<std::size_t>(host)]);
    }
}

/// Threads as ranks, some of which lose patience. All find the same of each fence.
TEST(FenceCounter, IsSlowForAllOrForNobody) {
  constexpr int ranks = 3;
  using State = detail::FenceCounter::State;
  const auto fences = static_cast<std::size_t>(rounds(20'000));
  std::atomic<std::uint64_t> word{0};
  std::vector<std::vector<State>> found(ranks);
  std::vector<std::atomic<std::size_t>> come(ranks), counted(ranks);  // set before and after `arrive`
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::mt19937 random(static_cast<unsigned>(rank));
      detail::FenceCounter counter(word, ranks);
      for (std::size_t fence = 1; fence <= fences; ++fence) {
        come[rank].store(fence, std::memory_order_relaxed);
        counter.arrive();
        counted[rank].store(fence);
        const bool hasty = random() % 4 == 0;
        State state = State::waiting;
        while ((state = counter.state()) == State::waiting) hasty ? counter.make_slow() : std::this_thread::yield();
        if (state == State::slow)  // then they exchange
          for (const auto& other : counted)
            while (other.load() < fence) std::this_thread::yield();
        for (const auto& other : come) ASSERT_GE(other.load(std::memory_order_relaxed), fence);
        found[rank].push_back(state);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

// -- one memory

/// Ranks, workers of each, and whether they are of one host.
class GlobalArrays : public testing::TestWithParam<std::tuple<int, int, bool>> {
 protected:
  void run(const std::function<void(GlobalMemory&, Communicator&)>& body, GlobalMemoryOptions options = {}) const {
    const auto [ranks, workers, in_place] = GetParam();
    options.in_place = in_place;
    on_ranks(ranks, Workers{workers}, [&, workers = workers](int, Communicator& comm, Runtime& runtime) {
      GlobalMemory memory(runtime, options);
      body(memory, comm);
    });
  }
};
std::string name_of_ranks(const testing::TestParamInfo<std::tuple<int, int, bool>>& info) {
  const auto [ranks, workers, in_place] = info.param;
  return std::to_string(ranks) + "x" + std::to_string(workers) + (in_place ? "OfAHost" : "Apart");
}
INSTANTIATE_TEST_SUITE_P(On, GlobalArrays,
                         testing::Values(std::tuple(1, 1, true), std::tuple(2, 1, true), std::tuple(3, 2, true),
                                         std::tuple(2, 1, false), std::tuple(3, 2, false)),
                         name_of_ranks);

TEST_P(GlobalArrays, AreOneMemory) {
  const auto programs = rounds(8);
  run([&](GlobalMemory& memory, Communicator&) { expect_one_memory(memory, programs); }, {.cache_bytes = 2048});
}

TEST_P(GlobalArrays, AreDealtOutInALoopWithAFence) {
  run([](GlobalMemory& memory, Communicator& comm) {
    constexpr std::size_t size = 100;
    const GlobalArray<int> x(memory, size, {1}), y(memory, size, {7}), calls(memory, size);
    parallel_for(x, [&](std::size_t k) { x.write(k, 1)[0] = static_cast<int>(k); });
    for (int step = 0; step < 5; ++step) {
      const GlobalArray<int>&from = step % 2 == 0 ? x : y, &to = step % 2 == 0 ? y : x;
      parallel_for(to, [&](std::size_t k) {
        EXPECT_EQ(to.owner(k), comm.rank());
        const std::size_t first = k - std::min<std::size_t>(k, 1), last = std::min(k + 2, size);
        const auto near = from.read(first, last - first);
        to.write(k, 1)[0] = std::accumulate(near.begin(), near.end(), 0);
      });
    }
    std::vector<int> now(size), next(size);
    std::iota(now.begin(), now.end(), 0);
    for (int step = 0; step < 5; ++step, now.swap(next))
      for (std::size_t k = 0; k < size; ++k)
        next[k] = (k > 0 ? now[k - 1] : 0) + now[k] + (k + 1 < size ? now[k + 1] : 0);
    EXPECT_TRUE(std::ranges::equal(y.read(0, size), now));
    EXPECT_EQ(parallel_reduce(y, 0, std::plus<>()), std::accumulate(now.begin(), now.end(), 0));
    EXPECT_EQ(parallel_reduce(calls, std::string(), std::plus<>(), [](int) { return std::string("x"); }).size(), size);
    EXPECT_EQ(std::ranges::distance(x.own()),
              std::ranges::count_if(std::views::iota(std::size_t{0}, size),
                                    [&](std::size_t k) { return x.owner(k) == comm.rank(); }));
  });
}

TEST_P(GlobalArrays, GiveTheirMemoryBack) {
  run([](GlobalMemory& memory, Communicator& comm) {
    for (int round = 0; round < 50; ++round) {
      std::deque<GlobalArray<std::array<char, 1000>>> arrays;
      for (int k = 0; k < 3; ++k) arrays.emplace_back(memory, 1000);
      const auto part = arrays.back().write(static_cast<std::size_t>(comm.rank()), 1);
    }
  });
}

TEST_P(GlobalArrays, SayWhatIsWrong) {
  run(
      [](GlobalMemory& memory, Communicator& comm) {
        const GlobalArray<double> x(memory, 10, {}, "x");
        EXPECT_THAT(message<UsageError>([&] { auto _ = x.read(8, 3); }),
                    HasSubstr("x: elements 8 to 8 + 3, allowed are 0 to 10"));
        EXPECT_THAT(message<UsageError>([&] { auto _ = x.read(SIZE_MAX, 2); }), HasSubstr("allowed are 0 to 10"));
        EXPECT_EQ(x.read(10, 0).size(), 0U);
        if (comm.ranks() > 1) {
          EXPECT_THAT(message<UsageError>([&] { GlobalArray<int> y(memory, comm.rank() == 0 ? 5U : 6U, {}, "y"); }),
                      HasSubstr("y: rank 1 gives 6 and rank 0 5 as the number of elements"));
        }
        EXPECT_THAT(message<std::bad_alloc>([&] { GlobalArray<int> y(memory, SIZE_MAX / 2, {}, "y"); }),
                    HasSubstr("y of 9223372036854775807 elements of 4 bytes"));
        EXPECT_THAT(message<std::exception>([&] { parallel_for(x, [&](std::size_t) { memory.fence(); }); }),
                    HasSubstr("a task cannot wait for all ranks"));
      },
      {.cache_bytes = 40});
}

/// Each rank makes arrays when it likes, and the others find them by references.
TEST_P(GlobalArrays, AreMadeByOneRankForAll) {
  run([](GlobalMemory& memory, Communicator& comm) {
    const auto ranks = static_cast<std::size_t>(comm.ranks()), rank = static_cast<std::size_t>(comm.rank());
    const GlobalArray<GlobalReference<int>> all(memory, ranks, {1});
    for (std::size_t round = 1; round < 4; ++round) {
      std::deque<OwnArray<int>> own;
      for (std::size_t k = 0; k < round + rank; ++k) own.emplace_back(memory, (round + 1) * ranks + k);
      const OwnArray<int>& last = own.back();
      EXPECT_EQ(last.owner(last.size() - 1), comm.rank());
      all.write(rank, 1)[0] = last.reference();
      memory.fence();
      for (std::size_t of = 0; of < ranks; ++of) {
        const GlobalElements<int> there(memory, all.read(of, 1)[0]);
        EXPECT_EQ(there.size(), (round + 1) * ranks + round + of - 1);
        EXPECT_EQ(there.owner(0), static_cast<int>(of));
        there.write(rank, 1)[0] = static_cast<int>(100 * rank + of + 1);
        EXPECT_EQ(there.read(there.size() - 1, 1)[0], 0);
      }
      memory.fence();
      for (std::size_t by = 0; by < ranks; ++by) EXPECT_EQ(last.read(by, 1)[0], 100 * by + rank + 1);
      const GlobalElements<int> next(memory, all.read((rank + 1) % ranks, 1)[0]);
      for (int turn = 0; turn < 2; ++turn) {  // also after a fence
        for (std::size_t by = 0; by < ranks; ++by) EXPECT_EQ(next.read(by, 1)[0], 100 * by + (rank + 1) % ranks + 1);
        memory.fence();
      }
    }
    const GlobalArray<GlobalReference<int>> nobodys(memory, 1);
    EXPECT_THAT(message<UsageError>([&] { GlobalElements<int>(memory, nobodys.read(0, 1)[0]); }),
                HasSubstr("not taken from an array"));
    const auto other = std::bit_cast<GlobalReference<std::int64_t>>(GlobalArray<int>(memory, 8).reference());
    EXPECT_THAT(message<UsageError>([&] { GlobalElements<std::int64_t>(memory, other); }), HasSubstr("of 8 bytes"));
    EXPECT_THAT(message<std::bad_alloc>([&] { OwnArray<int>(memory, SIZE_MAX, "x"); }), HasSubstr("x of 184467"));
    std::optional<OwnArray<int>> gone;
    const GlobalReference<int> reference = gone.emplace(memory, 0U).reference();
    gone.reset();
    EXPECT_THAT(message<UsageError>([&] { GlobalElements<int>(memory, reference); }), HasSubstr("that has ended"));
  });
}

/// In what `fork_join` calls arrays are made and fences stand; in what another worker could take they do not.
TEST_P(GlobalArrays, AreMadeAndFencedInTheProgramOfForkJoin) {
  run([](GlobalMemory& memory, Communicator& comm) {
    const auto refused = [](const auto& call) {
      EXPECT_THAT(message<UsageError>(call), HasSubstr("a task cannot wait for all ranks"));
    };
    fork_join(memory.runtime(), [&] {
      for (int round = 0; round < 3; ++round) {
        const GlobalArray<int> x(memory, 30);
        const auto fence = [&] { memory.fence(); };
        Fork first([&] { refused(fence); });
        Fork second([&] { refused(fence); });
        first.join();  // which runs both
        second.join();
        parallel_for(memory.runtime(), std::views::iota(0, 3), [&](int) {
          refused([&] { memory.fence(); });
          refused([&] { const GlobalArray<int> y(memory, 5); });
        });
        x.write(static_cast<std::size_t>(comm.rank()), 1)[0] = comm.rank() + 1;
        memory.fence();
        EXPECT_EQ(x.read(static_cast<std::size_t>(comm.ranks() - 1), 1)[0], comm.ranks());
      }
    });
  });
}

TEST_P(GlobalArrays, DoNotCopyMoreThanThereIsRoomFor) {
  const auto [ranks, workers, in_place] = GetParam();
  if (in_place) GTEST_SKIP() << "nothing is copied";
  run(
      [](GlobalMemory& memory, Communicator& comm) {
        const GlobalArray<char> x(memory, 300, {1}, "x");
        {
          const auto held = x.read(0, 60);
          EXPECT_THAT(message<UsageError>([&] { auto _ = x.read(100, 50); }),
                      HasSubstr("x [100, 150) are 50 bytes, and 60 of cache_bytes = 100 are in use"));
          EXPECT_THAT(message<UsageError>([&] { auto _ = x.write(0, 101); }), HasSubstr("cache_bytes = 100"));
        }
        for (std::size_t k = 0; k < 100; ++k)
          if (static_cast<int>(k) % comm.ranks() == comm.rank())
            std::ranges::fill(x.write(100 + 2 * k, 2), static_cast<char>(k));
        memory.fence();
        for (std::size_t k = 0; k < 100; ++k) EXPECT_EQ(x.read(101 + 2 * k, 1)[0], static_cast<char>(k));
      },
      {.cache_bytes = 100});
}

TEST_P(GlobalArrays, AreNotUsedOverAFenceOrInAMessage) {
  const auto [ranks, workers, in_place] = GetParam();
  if (in_place) GTEST_SKIP() << "nothing is copied, and nobody waits";
  run(
      [](GlobalMemory& memory, Communicator& comm) {
        const GlobalArray<int> x(memory, 30, {1}, "x");
        {
          const auto held = x.write(0, 10);
          EXPECT_THAT(message<UsageError>([&] { memory.fence(); }),
                      HasSubstr("a fence while x [0, 10) are checked out"));
        }
        bool refused = false;
        const auto reads = comm.active_message([&] {
          refused = message<UsageError>([&] { auto _ = x.read(10, 5); }).find("the function of a message") == 0;
          EXPECT_TRUE(refused);
        });
        reads.send(comm.rank());
        while (!refused) comm.progress();
        x.prefetch(0, 30);  // more than there is room for, so nothing
        memory.fence();
      },
      {.cache_bytes = 60});
}

// -- races

TEST_P(GlobalArrays, NameBothUsesOfARace) {
  run(
      [](GlobalMemory& memory, Communicator& comm) {
        const GlobalArray<int> x(memory, 12, {}, "x");
        const auto quiet = [&](const std::function<void()>& uses) {
          return message<UsageError>([&] { uses(), memory.fence(); });
        };
        EXPECT_EQ(quiet([&] { auto _ = x.read(0, 12); }), "nothing was thrown");
        EXPECT_EQ(quiet([&] {
                    auto a = x.write(static_cast<std::size_t>(comm.rank()), 1);
                    auto b = x.read_write(static_cast<std::size_t>(comm.rank()), 1);
                  }),
                  "nothing was thrown");
        if (comm.ranks() > 1) {
          EXPECT_THAT(quiet([&] {
                        if (comm.rank() == 0) auto _ = x.write(2, 3);
                        if (comm.rank() == 1) auto _ = x.read(4, 4);
                      }),
                      AllOf(HasSubstr("a race: rank 0 writes x [2, 5) at "), HasSubstr("rank 1 reads x [4, 8) at "),
                            HasSubstr("global_array_test.cpp:")));
        }
        EXPECT_THAT(message<UsageError>([&] {
                      parallel_for(x, [&](std::size_t k) {
                        if (k == 3) auto _ = x.write(0, 4);
                        auto mine = x.read(k, 1);
                      });
                    }),
                    HasSubstr("writes x [0, 4)"));
      },
      {.check = true});
}

// -- ranks that do something else, or end

class GlobalFence : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OneHost, GlobalFence, testing::Bool(),
                         [](const auto& info) { return info.param ? "OfAHost" : "Apart"; });

TEST_P(GlobalFence, FindsARankThatMakesAnotherCall) {
  on_ranks(2, [&](int rank, Communicator& comm, Runtime& runtime) {
    GlobalMemory memory(runtime, {.in_place = GetParam()});
    EXPECT_THAT(message<UsageError>([&] { rank == 0 ? memory.fence() : comm.barrier(); }),
                HasSubstr("all ranks make the same calls"));
  });
}

TEST_P(GlobalFence, FindsARankThatWaits) {
  on_ranks(2, [&](int rank, Communicator&, Runtime& runtime) {
    GlobalMemory memory(runtime, {.in_place = GetParam()});
    EXPECT_THROW(rank == 0 ? memory.fence() : runtime.wait(), RankFailed);
  });
}

TEST_P(GlobalFence, FindsARankThatEnds) {
  Ranks ranks(3, [&](int rank) {
    Communicator comm;
    Runtime runtime(with(comm));
    GlobalMemory memory(runtime, {.in_place = GetParam()});
    const GlobalArray<int> x(memory, 100);
    if (rank == 2) raise(SIGKILL);
    EXPECT_THAT(message<RankFailed>([&] {
                  for (;;) {
                    static_cast<void>(x.read_write(static_cast<std::size_t>(rank), 90));
                    memory.fence();
                  }
                }),
                HasSubstr("rank 2 failed"));
  });
  EXPECT_THAT(ranks.wait(), testing::ElementsAre(Ranks::well, Ranks::well, 1000 + SIGKILL));
}

TEST_P(GlobalFence, FailsAllForABodyThatThrows) {
  on_ranks(2, [&](int rank, Communicator&, Runtime& runtime) {
    GlobalMemory memory(runtime, {.in_place = GetParam()});
    const GlobalArray<int> x(memory, 10);
    const auto body = [&](std::size_t k) {
      if (k == 7) throw std::runtime_error("seven");
    };
    if (rank == 1)
      EXPECT_THROW(parallel_for(x, body), std::runtime_error);
    else
      EXPECT_THAT(message<RankFailed>([&] { parallel_for(x, body); }), HasSubstr("rank 1 failed: seven"));
  });
}

}  // namespace
}  // namespace taskgrain::rt
