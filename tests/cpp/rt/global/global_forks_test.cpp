/// Forks that other ranks take. Ranks are processes that a test forks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "rt/comm/ranks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;

/// Ranks, workers of each, and whether they are of one host.
class GlobalForksOn : public testing::TestWithParam<std::tuple<int, int, bool>> {
 protected:
  void run(const std::function<void(GlobalForks&, GlobalMemory&)>& body) const {
    const auto [ranks, workers, in_place] = GetParam();
    on_ranks(ranks, Workers{workers},
             [&, workers = workers, in_place = in_place](int, Communicator&, Runtime& runtime) {
               GlobalMemory memory(runtime, {.in_place = in_place});
               GlobalForks forks(memory);
               body(forks, memory);
             });
  }
};
std::string name_of_forks(const testing::TestParamInfo<std::tuple<int, int, bool>>& info) {
  const auto [ranks, workers, in_place] = info.param;
  return std::to_string(ranks) + "x" + std::to_string(workers) + (in_place ? "OfAHost" : "Apart");
}
INSTANTIATE_TEST_SUITE_P(Ranks, GlobalForksOn,
                         testing::Values(std::tuple(1, 1, true), std::tuple(2, 1, true), std::tuple(3, 2, false)),
                         name_of_forks);

/// A call whose forks depend on a number; a few take longer than others.
struct Node {
  std::uint64_t seed;
  int depth;
};
std::uint64_t serial(Node node) {
  std::uint64_t sum = node.seed % 1000;
  if (node.depth > 0)
    for (std::uint64_t k = 0; k < node.seed % 4; ++k)
      sum += serial({node.seed * 6364136223846793005U + k, node.depth - 1});
  return sum;
}

TEST_P(GlobalForksOn, DoWhatTheirSerialElisionDoes) {
  run([](GlobalForks& forks, GlobalMemory& memory) {
    const GlobalFunction<std::uint64_t(Node)> visit = forks.function(
        [&](Node node) -> std::uint64_t {
          if (node.depth == 0) return node.seed % 1000;
          const auto child = [&](std::uint64_t k) {
            return Node{node.seed * 6364136223846793005U + k, node.depth - 1};
          };
          const std::uint64_t children = node.seed % 4;
          std::uint64_t sum = node.seed % 1000;
          if (node.depth % 3 == 1) {  // forks of this rank among those of all
            std::vector<std::uint64_t> found(children);
            parallel_for(memory.runtime(), std::views::iota(std::uint64_t{0}, children),
                         [&](std::uint64_t k) { found[k] = visit(child(k)); });
            return std::accumulate(found.begin(), found.end(), sum);
          }
          if (children == 0) return sum;
          if (children == 1) return sum + visit(child(0));
          auto first = visit.fork(child(0));
          if (children == 2) {
            sum += visit(child(1));
            return sum + first.join();
          }
          auto second = visit.fork(child(1));
          sum += visit(child(2));
          if (node.seed % 5 == 0) sum += first.join();  // not the newest first
          sum += second.join();
          return node.seed % 5 == 0 ? sum : sum + first.join();
        },
        "visit");
    std::mt19937_64 random(1);
    for (std::int64_t k = rounds(20); k > 0; --k) {
      const Node root{random() | 3, 9};
      EXPECT_EQ(forks.run(visit, root), serial(root));
    }
  });
}

/// Merge sort whose calls make what they merge into, where they run.
TEST_P(GlobalForksOn, MakeArraysWhereverTheyRun) {
  run([](GlobalForks& forks, GlobalMemory& memory) {
    const GlobalFunction<void(GlobalReference<int>, std::size_t, std::size_t)> sort = forks.function(
        [&](GlobalReference<int> of, std::size_t first, std::size_t count) -> void {
          const GlobalElements<int> x(memory, of);
          if (count <= 50) {
            std::ranges::sort(x.read_write(first, count).elements());
            return;
          }
          const std::size_t half = count / 2;
          const OwnArray<int> left(memory, half), right(memory, count - half);
          std::ranges::copy(x.read(first, half), left.write(0, half).begin());
          std::ranges::copy(x.read(first + half, count - half), right.write(0, count - half).begin());
          auto other = sort.fork(left.reference(), 0, half);
          sort(right.reference(), 0, count - half);
          other.join();
          std::ranges::merge(left.read(0, half), right.read(0, count - half), x.write(first, count).begin());
        },
        "sort");
    const GlobalArray<int> x(memory, 1500, {32});
    for (std::int64_t round = rounds(4); round > 0; --round) {
      std::vector<int> expected(x.size());
      std::mt19937 random(static_cast<unsigned>(round));
      for (int& one : expected) one = static_cast<int>(random() % 1000);
      if (memory.rank() == 0) std::ranges::copy(expected, x.write(0, x.size()).begin());
      memory.fence();
      forks.run(sort, x.reference(), 0U, x.size());
      std::ranges::sort(expected);
      EXPECT_TRUE(std::ranges::equal(x.read(0, x.size()), expected));
      memory.fence();
    }
  });
}

TEST_P(GlobalForksOn, ThrowInTheJoin) {
  run([](GlobalForks& forks, GlobalMemory& memory) {
    const GlobalFunction<int(int)> call = forks.function(
        [&](int n) -> int {
          if (n == 0) throw std::out_of_range("nothing left");
          auto below = call.fork(n - 1);
          auto other = call.fork(n / 2);  // dropped, if the first throws before anybody has begun it
          return other.join() + below.join();
        },
        "call");
    const GlobalFunction<int(int)> calm = forks.function(
        [&](int n) {
          try {
            return call.fork(n).join();
          } catch (const std::exception& error) {
            EXPECT_THAT(error.what(), HasSubstr("nothing left"));
            return 7;
          }
        },
        "calm");
    for (std::int64_t round = rounds(10); round > 0; --round) {
      EXPECT_THROW(
          {
            try {
              forks.run(call, 8);
            } catch (const ThrownElsewhere& thrown) {
              EXPECT_THAT(thrown.what(), HasSubstr("nothing left"));
              throw std::out_of_range("");
            }
          },
          std::out_of_range);
      EXPECT_EQ(forks.run(calm, 7), 7);
    }
    static_cast<void>(memory);
  });
}

TEST_P(GlobalForksOn, AreJoinedOnce) {
  run([](GlobalForks& forks, GlobalMemory&) {
    const auto one = forks.function([](int n) { return n; }, "one");
    EXPECT_THROW(static_cast<void>(one.fork(1)), UsageError);  // nothing runs
    const auto twice = forks.function(
        [&] {
          auto fork = one.fork(5);
          const int first = fork.join();
          EXPECT_THROW(fork.join(), UsageError);
          return first;
        },
        "twice");
    EXPECT_EQ(forks.run(twice), 5);
  });
}

TEST_P(GlobalForksOn, CallNothingThatWaitsForAllRanks) {
  run([](GlobalForks& forks, GlobalMemory& memory) {
    const auto fences = forks.function([&](int) { EXPECT_THROW(memory.fence(), UsageError); }, "fences");
    forks.run(fences, 1);
  });
}

/// A rank that was given a call may have found something else to do, or be deep, or leave a scope by an exception.
TEST(GlobalForks, GiveBackWhatTheyDoNotBegin) {
  on_ranks(3, Workers{2}, [](int, Communicator&, Runtime& runtime) {
    GlobalMemory memory(runtime);
    GlobalForks forks(memory);
    const GlobalFunction<int(int)> tree = forks.function(
        [&](int n) -> int {
          if (n < 2) return n;
          auto left = tree.fork(n - 1);
          try {
            auto dropped = tree.fork(n / 2);
            if (n % 3 == 0) throw std::runtime_error("dropped");
            static_cast<void>(dropped.join());
          } catch (const std::runtime_error&) {
          }
          Fork other([&] { return tree(n - 2); });  // so that both workers fork
          const int right = other.join();
          return left.join() + right;
        },
        "tree");
    for (std::int64_t round = rounds(20); round > 0; --round) EXPECT_EQ(forks.run(tree, 13), 233);
  });
}

TEST(GlobalForks, TellAllRanksWhatIsThrown) {
  on_ranks(3, [](int rank) {
    std::string said;
    try {
      Communicator comm;
      Runtime runtime(with(comm));
      GlobalMemory memory(runtime);
      GlobalForks forks(memory);
      const auto number = forks.function([](int n) { throw n; }, "number");
      try {
        forks.run(number, 42);
      } catch (int n) {
        EXPECT_EQ(rank, 0);
        EXPECT_EQ(n, 42);
      } catch (const ThrownElsewhere& thrown) {
        EXPECT_STREQ(thrown.what(), "rank 0: an exception that is no std::exception");
      }
      forks.run(forks.function([] { throw std::runtime_error("no convergence"); }, "iterate"));
    } catch (const std::exception& thrown) {  // no communicator is left
      said = thrown.what();
    }
    EXPECT_EQ(said, rank == 0 ? "no convergence" : "rank 0: no convergence");
  });
}

TEST(GlobalForks, NameFunctionsThatAreNotTheSame) {
  on_ranks(2, [](int rank, Communicator&, Runtime& runtime) {
    GlobalMemory memory(runtime);
    GlobalForks forks(memory);
    const auto call = forks.function([](int n) { return n; }, rank == 0 ? "left" : "right");
    EXPECT_THROW(forks.run(call, 1), UsageError);
    GlobalForks same(memory);
    const auto one = same.function([](int n) { return n; }, "one"), two = same.function([](int n) { return n; }, "two");
    EXPECT_THROW(same.run(rank == 0 ? one : two, 1), UsageError);
    EXPECT_THROW(GlobalArray<int>(memory, 5, {}, rank == 0 ? "x" : "y"), UsageError);
    EXPECT_THROW(GlobalMemory(runtime, {.in_place = rank == 0}), UsageError);
  });
}

TEST(GlobalForks, FailAllWhereARankEnds) {
  Ranks ranks(3, [&](int) {
    Communicator comm;
    Runtime runtime(with(comm));
    GlobalMemory memory(runtime);
    GlobalForks forks(memory);
    const GlobalFunction<int(int)> call = forks.function(
        [&](int n) -> int {
          if (comm.rank() == 2) raise(SIGKILL);
          if (n == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return 1;
          }
          auto fork = call.fork(n - 1);
          return call(n - 1) + fork.join();
        },
        "call");
    EXPECT_THROW(forks.run(call, 30), RankFailed);
  });
  EXPECT_THAT(ranks.wait(), testing::ElementsAre(Ranks::well, Ranks::well, 1000 + SIGKILL));
}

}  // namespace
}  // namespace taskgrain::rt
