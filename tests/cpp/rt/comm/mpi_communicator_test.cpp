/// Ranks of an MPI program that make a communicator: all of them, or none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/comm/collectives.hpp"
#include "rt/comm/flood.hpp"
#include "rt/comm/hosts.hpp"
#include "rt/global/random_checkouts.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/global_forks.hpp"
#include "taskgrain/rt/mpi.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/taskflow.hpp"

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
  OverHosts comm(2, {.queue_bytes = 1});
  flood_each_other(comm, 2);
}

TEST(MpiCommunicators, MakeCollectiveCalls) {
  for (const char* const transport : {"mpi", "shared"}) {
    MpiCommunicator comm(MPI_COMM_WORLD, {.transport = transport});
    check_collectives(comm, 30);
    for (const int workers : {1, 2}) check_collector(comm, workers);
  }
  OverHosts comm;
  check_collectives(comm, 30);
  check_collector(comm, 2);
}

TEST(MpiCommunicators, SendThroughMemoryToRanksOfTheirHost) {
  struct Counter : detail::Transport::Receiver {
    void packet(int, std::span<const std::byte>) override { ++packets; }
    Place place(int, std::span<const std::byte>, std::size_t bytes) override {
      body.resize(bytes);
      return {body.data(), nullptr};
    }
    void arrived(int, void*) override { ++bodies; }
    void reusable(void*) override {}
    void lost(int, const std::string&) noexcept override {}
    int packets = 0, bodies = 0;
    std::vector<std::byte> body;
  } got;
  const auto transport = over_hosts(2);
  if (transport->ranks() < 3) GTEST_SKIP() << "no host of two ranks";
  transport->watch(got);
  const std::vector<std::byte> packet(8);
  const std::size_t bytes = 1 << 20;
  int others = 0;
  for (int to = transport->rank() % 2; to < transport->ranks(); to += 2) {
    if (to == transport->rank()) continue;
    ++others;
    transport->send(to, packet);
    transport->send_large(to, packet, {transport->shared_memory()->allocate(bytes), bytes}, nullptr);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  transport->poll(got);  // once: what went by MPI would need a poll of the sender first
  EXPECT_EQ(got.packets, others);
  EXPECT_EQ(got.bodies, others);
  while (!transport->flush(got)) {
  }
  transport->leave();
}

TEST(MpiCommunicators, ShareMemoryWithRanksOfTheirHost) {
  OverHosts comm;
  if (comm.ranks() < 3) GTEST_SKIP() << "no host of two ranks";
  EXPECT_STREQ(comm.transport(), comm.ranks() == 3 && comm.rank() == 1 ? "mpi" : "shared and mpi");
  const auto ranks = static_cast<std::size_t>(comm.ranks());
  std::vector<std::vector<int>> got(3 * ranks);  // by the rank that has sent it, and its number there
  std::size_t came = 0, reusable = 0;
  const auto small = comm.active_message([&](int at, const std::vector<int>& elements) {
    got[static_cast<std::size_t>(at)] = elements;
    ++came;
  });
  const auto large = comm.large_active_message(
      [&](int at, std::size_t number) {
        got[static_cast<std::size_t>(at)].resize(number);
        return got[static_cast<std::size_t>(at)].data();
      },
      [&](int) { ++came; }, [&](int) { ++reusable; });
  const std::vector<int> few(10, comm.rank()), many(100'000, comm.rank());
  const auto shared = comm.memory<int>(many.size());
  std::ranges::fill(shared.elements(), comm.rank());
  for (int to = 0; to < comm.ranks(); ++to) {
    small.send(to, 3 * comm.rank(), few);
    large.send(to, many, 3 * comm.rank() + 1);
    large.send(to, shared.elements(), 3 * comm.rank() + 2);
  }
  while (came < got.size() || reusable < 2 * ranks) comm.progress();
  for (std::size_t k = 0; k < got.size(); ++k)
    EXPECT_EQ(got[k], std::vector<int>(k % 3 == 0 ? few.size() : many.size(), static_cast<int>(k / 3))) << k;
  comm.barrier();
}

/// Communicators that have failed, until the end: what is still on its way in one must not come in the next.
std::vector<std::unique_ptr<OverHosts>> failed;
struct EndOfFailed : testing::Environment {
  void TearDown() override { failed.clear(); }
};
testing::Environment* const end_of_failed = testing::AddGlobalTestEnvironment(new EndOfFailed);

TEST(MpiCommunicators, OfHostsFailTogether) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int culprit = 0; culprit < ranks; ++culprit) {
    OverHosts& comm = *failed.emplace_back(std::make_unique<OverHosts>());
    Runtime runtime({.workers = 1, .pin = false, .communicator = &comm});
    Taskflow<int> tasks(runtime, "tasks");
    tasks.indegree([](int) { return 1; }).run([&](int) {
      if (comm.rank() == culprit) throw std::runtime_error("no such luck");
    });
    tasks.fulfill(0);
    try {
      runtime.wait();
      ADD_FAILURE() << "rank " << comm.rank() << " has not heard of it";
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("no such luck"));
      const std::string who = "rank " + std::to_string(culprit);
      EXPECT_THAT(error.what(), HasSubstr(comm.rank() == culprit ? "" : who));
    }
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

/// Copies of what other hosts own, and calls that those take.
void check_global_memory(Communicator& comm) {
  Runtime runtime({.workers = 1, .pin = false, .communicator = &comm});
  GlobalMemory memory(runtime, {.cache_bytes = 4096});
  expect_one_memory(memory, 5);
  GlobalForks forks(memory);
  const GlobalArray<int> x(memory, 1000, {16});
  const GlobalFunction<void(std::size_t, std::size_t)> fill = forks.function(
      [&](std::size_t first, std::size_t count) -> void {
        if (count <= 20) {
          for (int& element : x.write(first, count)) element = static_cast<int>(first++);
          return;
        }
        auto left = fill.fork(first, count / 2);
        fill(first + count / 2, count - count / 2);
        left.join();
        EXPECT_EQ(x.read(first, count)[count / 2], static_cast<int>(first + count / 2));
      },
      "fill");
  forks.run(fill, 0U, x.size());
  for (std::size_t k = 0; const int element : x.read(0, x.size())) EXPECT_EQ(element, static_cast<int>(k++));
}

TEST(MpiCommunicators, HaveAGlobalMemory) {
  MpiCommunicator comm(MPI_COMM_WORLD, {.transport = "mpi"});
  check_global_memory(comm);
  OverHosts hosts;
  check_global_memory(hosts);
}

}  // namespace
}  // namespace taskgrain::rt
