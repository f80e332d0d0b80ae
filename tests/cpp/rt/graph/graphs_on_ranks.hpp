#pragma once

/// What graphs do on the ranks of any transport.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "random_ranks.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {

/// Random bodies, against what a loop computes. \param with  options of a runtime, by its workers
inline void run_random_bodies(Communicator& comm, RuntimeOptions (&with)(Communicator&, int), std::int64_t bodies,
                              std::uint64_t first_seed) {
  for (const int workers : {1, 2}) {
    Runtime runtime(with(comm, workers));
    for (std::int64_t seed = 0; seed < bodies; ++seed) {
      const Body body(first_seed + static_cast<std::uint64_t>(1000 * workers + seed), comm.ranks(), workers);
      CompiledShare share(body, comm, runtime);
      for (const std::int64_t iterations : {1, 2, 7, 40}) {
        const auto launch = share.compiled().launch({.iterations = iterations});
        seed % 2 == 0 ? runtime.wait(launch.done) : runtime.wait();
        const auto expected = body.expected(iterations);
        for (std::size_t k = 0; k < body.tasks.size(); ++k)
          if (share.own(k)) {
            EXPECT_EQ(share.output(k, iterations - 1)[0], expected[k]) << "seed " << seed << " task " << k;
          }
      }
    }
  }
}

/// A ring: each rank sends what it has got, and what `step` says, to the next one.
class Ring {
 public:
  Ring(Communicator& comm, Runtime& runtime, std::size_t words, std::function<void(const Turn&)> step = nullptr,
       int worker = 0)
      : words_(words) {
    TaskGraph graph(comm, "ring");
    in_ = graph.receive((comm.rank() + comm.ranks() - 1) % comm.ranks(), 7, words * sizeof(std::int64_t));
    const TaskGraph::Node task = graph.task(
        worker,
        [this, step = std::move(step)](const Turn& turn) {
          if (step) step(turn);
          for (std::int64_t& word : words_) word = turn.iteration == 0 ? 1 : 1 + got(turn);
        },
        "step");
    const TaskGraph::Node out =
        graph.send(worker, (comm.rank() + 1) % comm.ranks(), 7, std::as_bytes(std::span(words_)));
    graph.carried_edge(in_, task);
    graph.edge(task, out);
    graph.carried_edge(out, task);
    compiled_.emplace(runtime, std::move(graph));
  }

  CompiledGraph& compiled() { return *compiled_; }
  /// What this rank has computed last; in iteration n that is n + 1.
  std::int64_t last() const { return words_.back(); }

 private:
  std::int64_t got(const Turn& turn) const {
    const auto bytes = compiled_->received(in_, turn, 1);
    std::int64_t word = 0;
    std::memcpy(&word, bytes.data() + bytes.size() - sizeof word, sizeof word);
    return word;
  }

  std::vector<std::int64_t> words_;
  TaskGraph::Node in_;
  std::optional<CompiledGraph> compiled_;
};

/// A task of rank 1 throws.
inline void fail_together(Communicator& comm, const RuntimeOptions& options, std::size_t words) {
  Runtime runtime(options);
  Ring ring(comm, runtime, words, [&](const Turn& turn) {
    if (comm.rank() == 1 && turn.iteration == 50) throw std::runtime_error("on purpose");
  });
  const auto launch = ring.compiled().launch({.iterations = 1000000});
  try {
    runtime.wait(launch.done);
    ADD_FAILURE() << "it has ended";
  } catch (const RankFailed& error) {
    EXPECT_NE(comm.rank(), 1);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("on purpose"));
  } catch (const TaskFailed& error) {
    EXPECT_EQ(comm.rank(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("step of iteration 50"));
  }
  EXPECT_THROW(ring.compiled().launch(), RankFailed);
}

}  // namespace taskgrain::rt
