/// Compiled graphs across ranks of MPI, against what a loop computes; that their messages are persistent ones, and what
/// becomes of these when a graph ends or fails.
///
/// All ranks run this program with the same argument: how it initialises MPI.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocations.hpp"
#include "comm/messenger.hpp"
#include "comm/mpi_transport.hpp"
#include "graphs_on_ranks.hpp"
#include "rt/comm/hosts.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using Node = TaskGraph::Node;

/// As MpiCommunicator, with any options of the transport and any implementation of MPI.
struct OverMpi : Communicator {
  explicit OverMpi(detail::MpiTransportOptions options = {})
      : Communicator(std::make_unique<detail::Messenger>(
            std::make_unique<detail::MpiTransport>(MPI_COMM_WORLD, options), CommunicatorOptions())) {}
};

RuntimeOptions with(Communicator& comm, int workers = 1) {
  RuntimeOptions options;
  options.workers = workers;
  options.pin = false;
  options.spin = std::chrono::microseconds(50);  // there are more ranks than cores
  options.communicator = &comm;
  return options;
}

TEST(MpiRanksOfAGraph, RandomBodiesComputeWhatALoopDoes) {
  OverMpi comm;
  run_random_bodies(comm, with, rounds(10), 0);
}

TEST(MpiRanksOfAGraph, ComputeWhatALoopDoesWhereSomeShareMemory) {
  OverHosts comm;
  run_random_bodies(comm, with, rounds(10), 0);
  run_random_bodies(comm, with, rounds(4), 5000);
}

TEST(MpiRanksOfAGraph, SendWhatIsTooLargeForOneMessageInPieces) {
  OverMpi comm({.piece_bytes = 48});
  run_random_bodies(comm, with, rounds(4), 5000);
}

TEST(MpiRanksOfAGraph, AllocateNothingInAnIteration) {
  OverMpi comm;
  Runtime runtime(with(comm, 2));
  struct alignas(128) Meter {
    std::int64_t first = 0, last = 0;
  };
  for (const int worker : {0, 1}) {
    std::array<Meter, 2> meters;
    const auto look = [&](const Turn& turn) {
      Meter& meter = meters[static_cast<std::size_t>(turn.worker)];
      meter.last = allocations();
      if (turn.iteration == 0) meter.first = meter.last;
    };
    Ring ring(comm, runtime, 100, look, worker);
    runtime.wait(ring.compiled().launch({.iterations = 300}).done);  // queues get their sizes
    meters = {};
    // Not for all ranks: that allocates when a rank is idle, to tell the others.
    runtime.wait(ring.compiled().launch({.iterations = 2000}).done);
    EXPECT_EQ(ring.last(), 2000);
    // Messages that wake a worker which has parked may need a longer queue than ever before.
    EXPECT_LT(meters[0].last - meters[0].first + meters[1].last - meters[1].first, 100) << "worker " << worker;
  }
}

TEST(MpiRanksOfAGraph, MayHaveManyGroupsAndEdgesWithoutBytes) {
  OverMpi comm;
  Runtime runtime(with(comm));
  constexpr std::size_t groups = 300;
  constexpr std::int64_t iterations = 20;
  const int next = (comm.rank() + 1) % comm.ranks(), before = (comm.rank() + comm.ranks() - 1) % comm.ranks();
  std::vector<std::int64_t> out(groups), sums(groups);
  std::vector<Node> in, makes;
  std::optional<CompiledGraph> compiled;
  TaskGraph graph(comm, "many");
  for (std::size_t k = 0; k < groups; ++k) {
    const Node make = graph.task(0, [&out, k](const Turn& turn) { out[k] = turn.iteration + static_cast<int>(k); });
    const auto bytes = std::as_bytes(std::span(out)).subspan(k * sizeof out[k], k % 3 == 0 ? 0 : sizeof out[k]);
    const Node send = graph.send(0, next, k, bytes);
    in.push_back(graph.receive(before, k, bytes.size()));
    const Node add = graph.task(0, [&, k](const Turn& turn) {
      std::int64_t got = 0;
      const auto came = compiled->received(in[k], turn);
      if (!came.empty()) std::memcpy(&got, came.data(), came.size());
      sums[k] += got;
    });
    if (k > 0) graph.edge(makes.back(), make);  // sends of one level would be one group
    makes.push_back(make);
    graph.edge(make, send);
    graph.carried_edge(send, make);
    graph.edge(in[k], add);
  }
  compiled.emplace(runtime, std::move(graph));
  runtime.wait(compiled->launch({.iterations = iterations}).done);
  for (std::size_t k = 0; k < groups; ++k)
    EXPECT_EQ(sums[k], k % 3 == 0 ? 0 : iterations * static_cast<int>(k) + iterations * (iterations - 1) / 2) << k;
  runtime.wait();
}

TEST(MpiRanksOfAGraph, WaitForAFastRankThatHasNoReaders) {
  OverMpi comm;
  Runtime runtime(with(comm));
  for (const std::size_t bytes : {16u, 200000u}) {
    std::vector<std::byte> out(bytes);
    TaskGraph graph(comm, "unread");
    if (comm.rank() == 0)
      for (int to = 1; to < comm.ranks(); ++to) graph.send(0, to, 0, out);
    else
      graph.receive(0, 0, bytes);
    CompiledGraph compiled(runtime, std::move(graph));
    runtime.wait(compiled.launch({.iterations = 200}).done);
  }
}

TEST(MpiRanksOfAGraph, EndWhatACancelHasLeft) {
  for (const std::size_t words : {2u, 30000u}) {
    OverMpi comm;
    Runtime runtime(with(comm));
    {
      Ring ring(comm, runtime, words);
      ring.compiled().launch({.iterations = 1'000'000'000});
      ring.compiled().cancel();
      runtime.wait();
      EXPECT_THROW(ring.compiled().launch(), UsageError);
    }
    Ring next(comm, runtime, words);
    next.compiled().launch({.iterations = 10});
    runtime.wait();
    EXPECT_EQ(next.last(), 10);
  }
}

/// Communicators that have failed, until the end: what is still on its way in one must not come in the next.
std::vector<std::unique_ptr<OverMpi>> failed;

TEST(MpiRanksOfAGraph, FailToCompileOnAllRanksIfThereAreNoTagsLeft) {
  OverMpi& comm = *failed.emplace_back(
      std::make_unique<OverMpi>(detail::MpiTransportOptions{.most_tag = 90}));  // enough for the first graphs
  Runtime runtime(with(comm, 1));
  const auto compile = [&] {
    for (int k = 0; k < 90; ++k) Ring(comm, runtime, 100);
  };
  EXPECT_THAT(compile,
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("of its 90 (MPI_TAG_UB), earlier graphs")));
  EXPECT_THROW(runtime.wait(), RankFailed);
}

TEST(MpiRanksOfAGraph, FailTogether) {
  for (const std::size_t words : {2u, 30000u}) {
    OverMpi& comm = *failed.emplace_back(std::make_unique<OverMpi>());
    fail_together(comm, with(comm), words);
  }
}

TEST(MpiRanksOfAGraph, AreStuckIfOneDoesNotLaunch) {
  OverMpi& comm = *failed.emplace_back(std::make_unique<OverMpi>());
  Runtime runtime(with(comm));
  Ring ring(comm, runtime, 30000);
  if (comm.rank() == 0) ring.compiled().launch({.iterations = 10});
  if (comm.rank() == 0)
    EXPECT_THROW(runtime.wait(), Stuck);
  else
    EXPECT_THROW(runtime.wait(), RankFailed);
}

TEST(MpiRanksOfAGraph, AreNotStuckWhileAMessageIsOnItsWay) {
  OverMpi comm;
  Runtime runtime(with(comm));
  Ring ring(comm, runtime, 2, [&](const Turn& turn) {
    if (turn.iteration % 20 == comm.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  });
  for (int k = 0; k < 3; ++k) {
    ring.compiled().launch({.iterations = rounds(100)});
    runtime.wait();
    EXPECT_EQ(ring.last(), rounds(100));
  }
}

/// Runs the tests with MPI initialised like this.
int run(const std::string& how) {
  const int wanted = how == "funneled" ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, wanted, &given);
  if (given < wanted) std::printf("MPI does not give %s\n", how.c_str());
  const int result = given < wanted ? 0 : RUN_ALL_TESTS();
  failed.clear();
  MPI_Finalize();
  return result;
}

}  // namespace
}  // namespace taskgrain::rt

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return taskgrain::rt::run(argc > 1 ? argv[1] : "multiple");
}
