/// Compiled graphs across ranks, against what a loop computes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "graphs_on_ranks.hpp"
#include "rt/comm/ranks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using Node = TaskGraph::Node;

class Ranked : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Of, Ranked, testing::Values(1, 2, 3, 4), testing::PrintToStringParamName());

TEST_P(Ranked, RandomBodiesComputeWhatALoopDoes) {
  const std::int64_t bodies = rounds(40);
  on_ranks(GetParam(), [&](int) {
    Communicator comm;
    run_random_bodies(comm, with, bodies, 0);
  });
}

/// What the ranks throw when each compiles its own graph.
void compile_in_vain(int ranks, const std::function<void(TaskGraph&, int rank)>& build, const std::string& said) {
  on_ranks(ranks, [&](int rank, Communicator& comm, Runtime& runtime) {
    TaskGraph graph(comm, "body");
    build(graph, rank);
    try {
      const CompiledGraph compiled(runtime, std::move(graph));
      ADD_FAILURE() << "it compiles";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(said));
    } catch (const RankFailed& error) {  // another rank has said it
      EXPECT_THAT(error.what(), HasSubstr(said));
    }
  });
}

TEST(RanksOfAGraph, AreRefusedWhereTheyDoNotMatch) {
  static std::byte bytes[16];
  const auto both = [](std::size_t sent, std::size_t received, std::uint64_t tag) {
    return [=](TaskGraph& graph, int rank) {
      if (rank == 0) graph.send(0, 1, 3, std::span(bytes).first(sent));
      if (rank == 1) graph.receive(0, tag, received);
    };
  };
  compile_in_vain(2, both(16, 8, 3), "tag 3 from rank 0 to rank 1 is sent with 16 bytes and received with 8");
  compile_in_vain(2, both(16, 16, 4), "is sent and not received");
  compile_in_vain(
      3,
      [](TaskGraph& graph, int rank) {
        if (rank == 2) graph.receive(1, 9, 8);
      },
      "tag 9 from rank 1 to rank 2 is received and not sent");
  compile_in_vain(
      2, [](TaskGraph& graph, int rank) { graph.send(0, rank, 5, bytes); },
      "tag 5 from rank 0 to rank 0 is sent and not received");
  compile_in_vain(
      2,
      [](TaskGraph& graph, int rank) {
        if (rank == 0) graph.send(0, 2, 0, bytes);
      },
      "names rank 2, allowed are 0 to 1");
  compile_in_vain(
      2,
      [](TaskGraph& graph, int rank) {
        for (int k = 0; k < 2; ++k) rank == 0 ? graph.send(0, 1, 0, bytes) : graph.receive(0, 0, 16);
      },
      "twice, allowed is once");
}

/// A halo that is periodic: on one rank both neighbours are the rank itself.
TEST_P(Ranked, MayBeTheirOwnNeighbours) {
  on_ranks(GetParam(), Workers{2}, [&](int, Communicator& comm, Runtime& runtime) {
    const int before = (comm.rank() + comm.ranks() - 1) % comm.ranks(), after = (comm.rank() + 1) % comm.ranks();
    std::int64_t value = comm.rank();
    std::optional<CompiledGraph> compiled;
    TaskGraph graph(comm, "halo");
    const Node left = graph.receive(before, 0, sizeof value), right = graph.receive(after, 1, sizeof value);
    const Node step = graph.task(0, [&](const Turn& turn) {
      for (const Node& from : {left, right})
        if (turn.iteration > 0)
          value += *reinterpret_cast<const std::int64_t*>(compiled->received(from, turn, 1).data());
    });
    for (const auto& [rank, tag] : {std::pair(after, 0), std::pair(before, 1)}) {
      const Node send = graph.send(tag, rank, static_cast<std::uint64_t>(tag), std::as_bytes(std::span(&value, 1)));
      graph.edge(step, send);
      graph.carried_edge(send, step);
    }
    for (const Node& from : {left, right}) graph.carried_edge(from, step);
    compiled.emplace(runtime, std::move(graph));
    EXPECT_EQ(compiled->statistics().tasks, 1);
    EXPECT_EQ(compiled->statistics().implied,
              comm.ranks() == 1 ? 2 : 0);  // what follows a receive also follows its send
    for (int launch = 0; launch < 2; ++launch) runtime.wait(compiled->launch({.iterations = 12}).done);
    std::vector<std::int64_t> all(static_cast<std::size_t>(comm.ranks()));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::int64_t>(k);
    for (int launch = 0; launch < 2; ++launch)
      for (int iteration = 1; iteration < 12; ++iteration) {
        const auto last = all;
        for (std::size_t k = 0; k < all.size(); ++k)
          all[k] += last[(k + all.size() - 1) % all.size()] + last[(k + 1) % all.size()];
      }
    EXPECT_EQ(value, all[static_cast<std::size_t>(comm.rank())]);
  });
}

TEST(RanksOfAGraph, TellWhoHasNotLaunched) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    static std::byte bytes[16];
    TaskGraph graph(comm, "halo");
    if (rank == 0)
      graph.send(0, 1, 3, bytes);
    else
      graph.edge(graph.receive(0, 3, 16), graph.task(0, [] {}));
    CompiledGraph compiled(runtime, std::move(graph));
    for (int k = 0; k <= rank; ++k) compiled.launch();
    const auto wait = [&] { runtime.wait(); };
    if (rank == 1)
      EXPECT_THAT(wait, testing::ThrowsMessage<Stuck>(HasSubstr("halo: a launch, which rank 0 has not made")));
    else
      EXPECT_THAT(wait, testing::ThrowsMessage<RankFailed>(HasSubstr("which rank 0 has not made")));
  });
}

TEST(RanksOfAGraph, AreRefusedIfTheyWaitForEachOther) {
  compile_in_vain(
      2,
      [](TaskGraph& graph, int rank) {
        static std::byte bytes[16];
        const Node in = graph.receive(1 - rank, 0, 16), task = graph.task(0, [] {}, "echo");
        graph.edge(in, task);
        graph.edge(task, graph.send(0, 1 - rank, 0, bytes));
      },
      "a cycle that leads through several ranks");
}

TEST(RanksOfAGraph, LeaveACommunicatorThatWorksIfAllKnowWhatIsWrong) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    static std::byte bytes[16];
    TaskGraph wrong(comm, "wrong");
    if (rank == 0) wrong.send(0, 1, 3, bytes);
    EXPECT_THROW(CompiledGraph(runtime, std::move(wrong)), UsageError);
    comm.barrier();
    runtime.wait();
  });
}

TEST(RanksOfAGraph, RefuseWhatADeviceWouldReadTooLate) {
  compile_in_vain(
      2,
      [](TaskGraph& graph, int rank) {
        static std::byte bytes[16];
        struct Event {};
        if (rank == 0) return static_cast<void>(graph.send(0, 1, 0, bytes));
        const Node task = graph.async_task<Event>(0, [](const Turn&, const Issue<Event>& issue) {
          issue.done();
          return Event();
        });
        graph.edge(graph.receive(0, 0, 16), task);
      },
      "asynchronous and comes after");
}

TEST(RanksOfAGraph, RefuseSizesThatCannotBe) {
  compile_in_vain(
      2,
      [](TaskGraph& graph, int rank) {
        static std::byte bytes[16];
        const std::size_t much = std::size_t{1} << 62;
        if (rank == 0) graph.send(0, 1, 0, std::span<const std::byte>(bytes, much));
        if (rank == 1) graph.receive(0, 0, much);
      },
      "allowed are up to 2^48");
}

TEST(RanksOfAGraph, FailTogetherIfOneCannotBeCompiled) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    TaskGraph graph(comm, "body");
    graph.task(rank == 0 ? 5 : 0, [] {});
    if (rank == 0)
      EXPECT_THROW(CompiledGraph(runtime, std::move(graph)), UsageError);
    else
      EXPECT_THROW(CompiledGraph(runtime, std::move(graph)), RankFailed);
  });
}

TEST(RanksOfAGraph, NeedACommunicatorAndTheirOrder) {
  on_ranks(2, [](int) {
    static std::byte bytes[16];
    TaskGraph alone("alone");
    EXPECT_THROW(alone.send(0, 1, 0, bytes), UsageError);
    EXPECT_THROW(alone.receive(1, 0, 16), UsageError);
    Communicator comm;
    Runtime runtime(with(comm));
    EXPECT_THROW(CompiledGraph(runtime, TaskGraph(comm), Policy::stealing), UsageError);
    RuntimeOptions options = with(comm);
    options.communicator = nullptr;
    Runtime other(options);
    EXPECT_THROW(CompiledGraph(other, TaskGraph(comm)), UsageError);
  });
}

TEST(RanksOfAGraph, AreRefusedTogetherIfOneHasAnotherPolicy) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    for (int k = 0; k < 2; ++k) {  // all know what is wrong, and go on
      TaskGraph graph(comm, "pair");
      graph.task(0, [] {});
      EXPECT_THROW(CompiledGraph(runtime, std::move(graph), rank == 1 ? Policy::stealing : Policy::in_order),
                   UsageError);
    }
    runtime.wait();
  });
}

/// A task of rank 0, whose number rank 1 receives.
TaskGraph pair(Communicator& comm, std::int64_t& number, Node* precondition = nullptr) {
  TaskGraph graph(comm, "pair");
  if (comm.rank() == 0) {
    const Node count = graph.task(0, [&] { ++number; });
    const Node out = graph.send(0, 1, 0, std::as_bytes(std::span(&number, 1)));
    graph.edge(count, out);
    graph.carried_edge(out, count);
    if (precondition != nullptr) graph.edge(*precondition = graph.precondition(), count);
  } else {
    graph.edge(graph.receive(0, 0, sizeof number), graph.task(0, [&] { ++number; }));
  }
  return graph;
}

TEST(RanksOfAGraph, FailTogetherIfAnEventDoes) {
  for (const bool before : {false, true})
    on_ranks(2, [before](int rank, Communicator& comm, Runtime& runtime) {
      std::int64_t number = 0;
      Node precondition;
      CompiledGraph graph(runtime, pair(comm, number, before ? nullptr : &precondition));
      const Event event;
      CompiledGraph::LaunchOptions options;
      if (rank == 0 && before) options.after = {event};
      if (rank == 0 && !before) options.preconditions = {{precondition, event}};
      EXPECT_THAT(
          [&] {
            const auto launch = graph.launch(std::move(options));
            if (rank == 0) event.fail(std::make_exception_ptr(std::runtime_error("no butter")));
            runtime.wait(launch.done);
          },
          throws_of_rank(0, "pair: an event that a launch waits for has failed: no butter"));
    });
}

TEST(RanksOfAGraph, FailTogetherIfAnotherThreadFailsAnEvent) {
  for (std::int64_t round = 0; round < rounds(100); ++round)
    on_ranks(2, [](int rank) {
      std::optional<std::thread> fails;
      {
        Communicator comm;
        Runtime runtime(with(comm));
        std::int64_t number = 0;
        Node precondition;
        CompiledGraph graph(runtime, pair(comm, number, &precondition));
        const Event event;
        CompiledGraph::LaunchOptions options;
        if (rank == 0) options.preconditions = {{precondition, event}};
        EXPECT_ANY_THROW({
          const auto launch = graph.launch(std::move(options));
          if (rank == 0)
            fails.emplace([event] { event.fail(std::make_exception_ptr(std::runtime_error("no butter"))); });
          runtime.wait(launch.done);
        });
      }  // all of this may end before that thread has
      if (fails) fails->join();
    });
}

TEST(RanksOfAGraph, MayBeCancelledBeforeTheyAreLaunched) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    std::int64_t number = 0;
    std::optional<CompiledGraph> graph;
    graph.emplace(runtime, pair(comm, number));
    const Event never;
    CompiledGraph::LaunchOptions options;
    if (rank == 0) comm.barrier();  // the other one has ended it
    if (rank == 1) options.after = {never};
    graph->launch(std::move(options));
    graph->cancel();
    graph.reset();
    if (rank == 1) comm.barrier();
    comm.barrier();
    comm.progress();  // which throws if the ranks have failed
  });
}

TEST(RanksOfAGraph, FailIfOneLaunchesWhatAnotherHasEnded) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    std::int64_t number = 0;
    std::optional<CompiledGraph> graph;
    graph.emplace(runtime, pair(comm, number));
    runtime.wait(graph->launch({.iterations = 3}).done);
    if (rank == 1) graph.reset();
    comm.barrier();
    const auto launch_again = [&] {
      if (rank == 0) graph->launch({.iterations = 3});
      runtime.wait();
    };
    EXPECT_THAT(launch_again,
                throws_of_rank(1, "pair: launch 2 of rank 0 has come, and this rank has ended the graph after 1;"));
  });
}

TEST(RanksOfAGraph, FailIfOneLaunchesOnceMoreThanAnotherThatEndsTheGraph) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    std::int64_t number = 0;
    TaskGraph tasks(comm, "pair");
    if (rank == 0)
      tasks.send(0, 1, 3, std::as_bytes(std::span(&number, 1)));
    else
      tasks.edge(tasks.receive(0, 3, sizeof number), tasks.task(0, [] {}));
    std::optional<CompiledGraph> graph(std::in_place, runtime, std::move(tasks));
    for (int k = rank; k < 2; ++k) runtime.wait(graph->launch().done);  // what the second sends finds room
    comm.barrier();
    if (rank == 1) graph.reset();
    EXPECT_THAT([&] { comm.barrier(); },
                testing::ThrowsMessage<RankFailed>(
                    HasSubstr("pair: launch 2 of rank 0 has come, and this rank has ended the graph after 1;")));
  });
}

TEST(RanksOfAGraph, FailTogether) {
  on_ranks(3, [](int) {
    Communicator comm;
    fail_together(comm, with(comm), 2);
  });
}

TEST(RanksOfAGraph, FailIfTheyLaunchUnlikeNumbersOfIterations) {
  on_ranks(2, [](int rank, Communicator& comm, Runtime& runtime) {
    Ring ring(comm, runtime, 2);
    runtime.wait(ring.compiled().launch({.iterations = 3}).done);
    EXPECT_THAT(
        [&] {
          ring.compiled().launch({.iterations = 5 + 10 * rank});
          runtime.wait();
        },
        testing::ThrowsMessage<RankFailed>(testing::AllOf(HasSubstr("after 8"), HasSubstr("after 18"))));
  });
}

TEST(RanksOfAGraph, WakeOneAnotherFromSleep) {
  on_ranks(2, [](int rank) {
    Communicator comm;
    RuntimeOptions options = with(comm, 2);
    options.spin = std::chrono::microseconds(10);
    Runtime runtime(options);
    const auto nap = [&](const Turn& turn) {
      if (turn.iteration % 2 == rank) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    Ring ring(comm, runtime, 2, nap, 1);
    for (int k = 0; k < 3; ++k) runtime.wait(ring.compiled().launch({.iterations = rounds(30)}).done);
  });
}

TEST_P(Ranked, LaunchAfterTheEventsOfTheirFlows) {
  on_ranks(GetParam(), Workers{2}, [ranks = GetParam()](int rank, Communicator& comm, Runtime& runtime) {
    std::atomic<int> ran{0};
    Taskflow<int> flow(runtime, "flow");
    flow.indegree([](int) { return 1; }).worker([](int key) { return key % 2; }).run([&](int key) {
      ++ran;
      if (key % 10 != 9) flow.fulfill(key + 1);
    });
    const auto go_on = comm.active_message([&](int key) { flow.fulfill(key); });
    int seen = 0;
    Ring ring(comm, runtime, 1, [&](const Turn&) { seen = ran; });
    for (int round = 1; round <= 20; ++round) {
      flow.fulfill(10 * round);
      const Event done = flow.done();
      runtime.wait(ring.compiled().launch({.iterations = 3, .after = {done}}).done);
      EXPECT_TRUE(done.is_set());
      EXPECT_EQ(seen, 10 * round);
    }
    runtime.wait();
    const Event none = flow.done();  // of this rank's tasks: what another rank sends comes after it, or before
    if (rank == 0) go_on.send(ranks - 1, 1000);
    runtime.wait(none);
    runtime.wait();
    EXPECT_EQ(ran, rank == ranks - 1 ? 210 : 200);
  });
}

TEST(RanksOfAGraph, FailTheEventOfAFlowWhereAnotherRankThrows) {
  on_ranks(2, [](int rank, Communicator&, Runtime& runtime) {
    Taskflow<int> flow(runtime, "flow");
    flow.indegree([](int) { return 2; }).run([](int) { throw std::runtime_error("no"); });
    flow.fulfill(1);
    const Event done = flow.done();
    if (rank == 1) flow.fulfill(1);
    EXPECT_ANY_THROW(runtime.wait(done));
    EXPECT_FALSE(done.is_set());
    EXPECT_NE(done.failure(), nullptr);
  });
}

}  // namespace
}  // namespace taskgrain::rt
