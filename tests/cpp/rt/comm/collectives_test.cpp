/// Collective calls of the ranks of a host, and what goes wrong with them.

#include "rt/comm/collectives.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

static_assert(detail::is_view<std::tuple<std::string_view, int>> && detail::is_view<std::vector<view<int>>>);
static_assert(!detail::is_view<std::string> && !detail::is_view<std::vector<std::pair<std::string, int>>>);

class Collectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OfRanks, Collectives, testing::Range(1, 6), testing::PrintToStringParamName());

TEST_P(Collectives, AreTheFoldInTheOrderOfRanks) {
  on_ranks(GetParam(), [](int) {
    Communicator comm;
    check_collectives(comm, static_cast<std::uint64_t>(rounds(100)));
  });
}

TEST_P(Collectives, CombineWhatTasksReturnInTheOrderOfKeys) {
  for (const int workers : {1, 3})
    on_ranks(GetParam(), [workers](int) {
      Communicator comm;
      check_collector(comm, workers);
    });
}

TEST_P(Collectives, HaveARootThatThereIs) {
  on_ranks(GetParam(), [](int rank) {
    Communicator comm;
    int value = rank;
    const std::string allowed = ", allowed are 0 to " + std::to_string(comm.ranks() - 1);
    for (const int root : {-1, comm.ranks()}) {
      const std::string with_root = " with root " + std::to_string(root);
      EXPECT_THAT([&] { comm.broadcast(value, root); }, ThrowsMessage<UsageError>("broadcast" + with_root + allowed));
      EXPECT_THAT([&] { comm.reduce(value, std::plus<>(), root); },
                  ThrowsMessage<UsageError>("reduce" + with_root + allowed));
    }
    EXPECT_EQ(comm.all_reduce(1), comm.ranks());
  });
}

TEST(Collective, CallsThatDifferAreToldToAllRanks) {
  on_ranks(3, [](int rank) {
    Communicator comm;
    double number = 1;
    std::string text;
    const auto tells = [&](const auto& call, const std::string& what) {
      EXPECT_THAT(call, ThrowsMessage<UsageError>(HasSubstr(what)));
    };
    tells([&] { rank == 1 ? comm.barrier() : comm.broadcast(number); },
          rank == 1 ? "calls broadcast with root 0 of double where this rank calls barrier;"
                    : "rank 1 calls barrier where this rank calls broadcast with root 0 of double");
    tells([&] { comm.broadcast(number, rank == 2 ? 2 : 0); }, "with root 2 of double");
    tells([&] { comm.reduce(number, std::plus<>(), rank == 0 ? 7 : 0); }, "reduce with root 7 of double");
    tells([&] { rank == 1 ? comm.broadcast(text) : comm.broadcast(number); }, "broadcast with root 0 of ");
    EXPECT_EQ(comm.all_reduce(rank, std::ranges::max), 2);  // the communicator has not failed
  });
}

TEST(Collective, CallsThrowWhatTheirOperationThrows) {
  on_ranks(3, [](int rank) {
    Communicator comm;
    const auto bad = [](int, int b) -> int { throw std::runtime_error(std::to_string(b) + " is bad"); };
    EXPECT_THAT([&] { comm.all_reduce(rank, bad); }, ThrowsMessage<std::runtime_error>("1 is bad"));
    const auto reduces = [&] { comm.reduce(rank, bad, 2); };
    if (rank == 2) {
      EXPECT_THAT(reduces, ThrowsMessage<std::runtime_error>("1 is bad"));
    } else {
      reduces();
    }
    EXPECT_EQ(comm.all_reduce(1), 3);
  });
}

TEST(Collective, CallsAreNotMadeByTasksAndFunctions) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    const auto refused = [&] {
      EXPECT_THAT([&] { comm.all_reduce(1); }, ThrowsMessage<UsageError>(HasSubstr("cannot wait for all ranks")));
    };
    Taskflow<int> flow(runtime);
    flow.indegree([](int) { return 1; }).run([&](int) { refused(); });
    const auto message = comm.active_message([&] { refused(); });
    flow.fulfill(0);
    message.send(1 - rank);
    runtime.wait();
    EXPECT_EQ(comm.all_reduce(1), 2);
  });
}

/// Each is late in turn, so that the call comes before the others wait, and after.
TEST(Collective, CallsOfOneRankWhileAnotherWaitsForEverythingAreNamed) {
  for (const int late : {0, 1, 2})
    on_ranks(3, Workers{2}, [late](int rank, Communicator& comm, Runtime& runtime) {
      try {
        runtime.wait();  // which a rank that is slow to leave it may learn of the failure in
        if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        rank == 1 ? static_cast<void>(comm.all_reduce(1.0)) : runtime.wait();
        ADD_FAILURE() << "nobody has noticed";
      } catch (const RankFailed& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 1 calls all_reduce of double, and this rank Runtime::wait"));
        EXPECT_NE(error.rank(), 1);
      }
    });
}

TEST(Collective, CallsMayBeMadeByAThreadThatHoldsARuntimeInAWait) {
  on_ranks(2, Workers{2}, [](int rank, Communicator& comm, Runtime& runtime) {
    std::thread other([&, hold = runtime.hold()] {
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      EXPECT_EQ(comm.all_reduce(1), 2);
    });
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    runtime.wait();
    other.join();
  });
}

TEST(Collective, CallsNameARankThatHasLeft) {
  Ranks ranks(2, [](int rank) {
    Communicator comm;
    comm.barrier();
    if (rank == 1) return;
    EXPECT_THAT([&] { comm.all_gather(1); },
                ThrowsMessage<RankFailed>(HasSubstr("while this rank waits for it in all_gather of int")));
  });
  EXPECT_EQ(ranks.wait()[1], Ranks::well);
}

}  // namespace
}  // namespace taskgrain::rt
