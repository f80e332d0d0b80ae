/// Ranks of an MPI program that make a communicator: all of them, or none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <thread>

#include "rt/comm/collectives.hpp"
#include "rt/comm/flood.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/mpi.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// What making one throws on this rank; empty if it throws nothing.
std::string refusal(CommunicatorOptions options) {
  try {
    const MpiCommunicator comm(MPI_COMM_WORLD, std::move(options));
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(MpiCommunicators, AreRefusedTogetherIfTransportsDiffer) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int last = ranks - 1, rank = own_rank();
  if (last == 0) GTEST_SKIP() << "one rank cannot differ";
  const std::string unlike = refusal({.transport = rank == last ? "mpi" : "shared"});
  EXPECT_THAT(unlike, HasSubstr(rank == last ? "transport is mpi on this rank, and on rank 0 shared"
                                             : "another rank has chosen"));
  for (const int culprit : {0, last}) {
    const std::string unknown = refusal({.transport = rank == culprit ? "pigeon" : "auto"});
    EXPECT_THAT(unknown, HasSubstr(rank == culprit ? "transport is 'pigeon', allowed are auto, shared, mpi"
                                   : culprit == 0  ? "on rank 0 none that is allowed"
                                                   : "another rank has chosen no transport that is allowed"));
  }
  EXPECT_EQ(refusal({}), "");  // and then they may be made
}

TEST(MpiCommunicators, AreRefusedTogetherIfOneHasAThreadThatMayNotCallMpi) {
  int level = 0;
  MPI_Query_thread(&level);
  const bool differs = own_rank() == 0;
  const std::string why = refusal({.transport = "mpi", .progress_thread = differs});
  if (level == MPI_THREAD_MULTIPLE) {
    EXPECT_EQ(why, "");
  } else {
    EXPECT_THAT(why, HasSubstr("progress_thread is true, but the level of MPI's threads is below"));
    EXPECT_EQ(why.starts_with("on another rank, "), !differs) << why;
  }
}

TEST(MpiCommunicators, AreMadeByTheThreadThatMayCallMpi) {
  int level = 0;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_FUNNELED) GTEST_SKIP() << "any thread may";
  std::string why;
  std::thread([&] { why = refusal({}); }).join();
  EXPECT_THAT(why, HasSubstr("is MPI_THREAD_FUNNELED, and this is not the thread that has initialised MPI"));
}

TEST(MpiCommunicators, QueueNoMoreThanIsAllowed) {
  constexpr std::size_t message = 9000;  // of MPI
  for (const std::size_t bound : {std::size_t{1}, std::size_t{100'000}, SIZE_MAX}) {
    MpiCommunicator comm(MPI_COMM_WORLD, {.transport = "mpi", .queue_bytes = bound});
    if (comm.ranks() == 1) GTEST_SKIP() << "no other rank";
    const int messages = 20'000;
    const std::size_t most = most_queued(comm, messages, std::string(100, 'x'));
    if (bound != SIZE_MAX) {
      EXPECT_LT(most, bound + message);
    } else if (comm.rank() == 0) {
      EXPECT_GT(most, messages * std::size_t{100} / 2);
    }
  }
}

TEST(MpiCommunicators, MayFloodEachOther) {
  for (const char* const transport : {"mpi", "shared"})
    for (const int workers : {1, 2}) {
      MpiCommunicator comm(MPI_COMM_WORLD, {.transport = transport, .queue_bytes = 1});
      flood_each_other(comm, workers);
    }
}

TEST(MpiCommunicators, MakeCollectiveCalls) {
  for (const char* const transport : {"mpi", "shared"}) {
    MpiCommunicator comm(MPI_COMM_WORLD, {.transport = transport});
    check_collectives(comm, 30);
    for (const int workers : {1, 2}) check_collector(comm, workers);
  }
}

TEST(MpiCommunicators, MayBeSeveralAtATimeAndOneAfterAnother) {
  for (const char* const transport : {"mpi", "shared"})
    for (int round = 0; round < 5; ++round) {
      MpiCommunicator one(MPI_COMM_WORLD, {.transport = transport}), two(MPI_COMM_WORLD, {.transport = transport});
      int came_one = 0, came_two = 0;
      const auto to_one = one.active_message([&](int of) { came_one += of == round ? 1 : 1000; });
      const auto to_two = two.active_message([&](int of) { came_two += of == round ? 1 : 1000; });
      for (int to = 0; to < one.ranks(); ++to) {
        to_one.send(to, round);
        to_two.send(to, round);
      }
      while (came_one < one.ranks() || came_two < two.ranks()) {
        one.progress();
        two.progress();
      }
      EXPECT_EQ(came_one, one.ranks());
      EXPECT_EQ(came_two, two.ranks());
      one.barrier();
      two.barrier();
    }
}

}  // namespace
}  // namespace taskgrain::rt
