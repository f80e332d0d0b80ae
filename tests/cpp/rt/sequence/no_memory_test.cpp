/// Every face where an allocation fails: each of them, of all threads, one after the other. What was given runs once or
/// is dropped once, the failure is told once, all is freed, and the face can be used again.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "allocations.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {
namespace {

/// What the functions of a program own, and how often each has run.
struct Runs {
  std::array<std::atomic<int>, 400> of{};
  int given = 0;

  /// A function that owns `token`.
  auto next(const std::shared_ptr<int>& token) {
    return [token, ran = &of.at(static_cast<std::size_t>(given++))] { ++*ran; };
  }
  bool all(int times) const {
    for (int k = 0; k < given; ++k)
      if (of[static_cast<std::size_t>(k)] != times) return false;
    return true;
  }
};

/// What it tells the user.
template <typename Call>
std::string told(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// Runs `program(token, number)` once for each allocation that it makes, the number of which fails. It returns what it
/// threw; empty if all has run.
template <typename Program>
void without_memory(const Program& program) {
  std::int64_t number = 0;
  for (bool any = true; any; ++number) {
    const auto token = std::make_shared<int>(0);
    testing::internal::CaptureStderr();
    refuse_allocation(number);
    const std::string thrown = program(token, number);
    any = has_refused_allocation();
    refuse_allocation(-1);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(printed.empty()) << "allocation " << number << ", thrown: " << thrown << ", printed: " << printed;
    EXPECT_EQ(token.use_count(), 1) << "allocation " << number << ", thrown: " << thrown;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(number, 3);
}

RuntimeOptions two_workers(bool check = false) {
  return {.workers = 2, .pin = false, .spin = std::chrono::microseconds(20), .check = check};
}

// -- the runtime

TEST(WithoutMemory, ARuntimeIsNotMadeOrEndsWell) {
  without_memory([](const std::shared_ptr<int>& token, std::int64_t) {
    std::atomic<int> ran{0};
    std::string thrown = told([&] {
      Runtime runtime({.workers = 3, .pin = false, .check = true});
      Taskflow<std::string> flow(runtime);
      flow.indegree([](const std::string&) { return 1; });
      flow.run([&ran, token](const std::string&) { ++ran; });
      for (int k = 0; k < 10; ++k) flow.fulfill(std::string(40, 'k') + std::to_string(k));
      flow.wait();
      runtime.join();
    });
    EXPECT_TRUE(ran == 10 || !thrown.empty());
    return thrown;
  });
}

// -- flows

/// Where the runtime checks, it allocates for each task.
class FlowWithoutMemory : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Checked, FlowWithoutMemory, testing::Bool(), testing::PrintToStringParamName());

TEST_P(FlowWithoutMemory, FailsAndCanBeUsedAgain) {
  Runtime runtime(two_workers(GetParam()));
  without_memory([&](const std::shared_ptr<int>& token, std::int64_t) {
    std::array<std::atomic<int>, 64> runs{};
    std::string thrown;
    std::optional<Taskflow<int>> flow;
    thrown = told([&] {
      flow.emplace(runtime, "tree");
      flow->indegree([](int) { return 1; });
      flow->worker([](int k) { return k % 2; });
      flow->run([&, token](int k) {
        ++runs[static_cast<std::size_t>(k)];
        for (const int child : {2 * k, 2 * k + 1})
          if (child < 64) flow->fulfill(child);
      });
      flow->fulfill(1);
      flow->wait();
    });
    refuse_allocation(has_refused_allocation() ? -1 : 1'000'000);
    const auto all = [&](int times) {
      for (std::size_t k = 1; k < 64; ++k)
        if (runs[k] != times) return false;
      return true;
    };
    EXPECT_TRUE(!thrown.empty() || all(1));
    for (auto& one : runs) {
      EXPECT_LE(one, 1);
      one = 0;
    }
    if (!flow || (thrown.find("tree") == std::string::npos && !thrown.empty())) return thrown;
    flow->fulfill(1);
    flow->wait();
    EXPECT_TRUE(all(1)) << "after: " << thrown;
    return thrown;
  });
}

// -- compiled graphs

TEST(WithoutMemory, ALaunchFailsAndTheGraphCanBeLaunchedAgain) {
  Runtime runtime(two_workers());
  for (const Policy policy : {Policy::in_order, Policy::ready_queue, Policy::stealing})
    without_memory([&](const std::shared_ptr<int>& token, std::int64_t) {
      std::array<std::atomic<int>, 8> runs{};
      std::optional<CompiledGraph> graph;
      const auto launch = [&](int number) {
        for (auto& one : runs) one = 0;
        std::optional<CompiledGraph::Launch> last;
        for (int k = 0; k < number; ++k) {
          CompiledGraph::LaunchOptions how{.iterations = 3};
          if (last) how.after = {last->done};
          last = graph->launch(std::move(how));
        }
        runtime.wait(last->done);
        for (const auto& one : runs) EXPECT_EQ(one, 3 * number);
      };
      const std::string thrown = told([&] {
        TaskGraph tasks("graph");
        std::vector<TaskGraph::Node> nodes;
        for (std::size_t k = 0; k < runs.size(); ++k) {
          if (k == 5)
            nodes.push_back(tasks.async_task<int>(1, [&, token](const Turn&, const Issue<int>& issue) {
              ++runs[5];
              issue.done();
              return 0;
            }));
          else
            nodes.push_back(tasks.task(static_cast<int>(k) % 2, [&runs, token, k] { ++runs[k]; }));
          if (k > 0) tasks.edge(nodes[k - 1], nodes[k]);
        }
        tasks.carried_edge(nodes.back(), nodes.front());
        graph.emplace(runtime, std::move(tasks), policy);
        launch(3);
      });
      refuse_allocation(has_refused_allocation() ? -1 : 1'000'000);
      told([&] { runtime.wait(); });  // for what was launched beside what failed
      if (graph) launch(2);
      return thrown;
    });
}

// -- sequences

/// What is given, and whether the runtime checks.
class SequenceWithoutMemory : public testing::TestWithParam<std::tuple<const char*, bool>> {};
INSTANTIATE_TEST_SUITE_P(In, SequenceWithoutMemory,
                         testing::Combine(testing::Values("tasks", "automatic", "commutative", "futures", "sums",
                                                          "devices", "loops", "traces"),
                                          testing::Bool()),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) + (std::get<1>(one.param) ? "Checked" : "");
                         });

TEST_P(SequenceWithoutMemory, FailsAndCanBeUsedAgain) {
  const std::string kind = std::get<0>(GetParam());
  Runtime runtime(two_workers(std::get<1>(GetParam())));
  without_memory([&](const std::shared_ptr<int>& token, std::int64_t) {
    std::array<long, 6> values{}, others{};
    std::optional<Sequence> sequence;
    std::vector<Data> data;
    Runs runs;
    const auto body = [&] {
      for (std::size_t k = 0; k < 6; ++k) {
        const Access x = read_write(data[k % 3]), y = read(data[(k + 1) % 3]);
        if (kind == "futures") {
          const auto future = sequence->task({x}, [run = runs.next(token)] { return run(), 1L; });
          sequence->task({read(future), read_write(data[4])}, [&values, future] { values[4] += *future; });
        } else if (kind == "sums") {
          sequence->reduce(data[k % 2], values[k % 2], std::plus<>(), {read(data[3])},
                           [run = runs.next(token)] { return run(), 1L; });
          if (k % 3 == 2) sequence->task({read(data[0]), read_write(data[4])}, [&values] { values[4] = values[0]; });
        } else if (kind == "devices") {
          sequence->async_task<int>({x}, [run = runs.next(token)](const Turn&, const Issue<int>& issue) {
            run();
            issue.done();
            return 0;
          });
        } else if (kind == "commutative") {
          sequence->task({commutative(data[k % 2]), commutative(data[2])}, runs.next(token));
        } else {
          sequence->task({x, y}, runs.next(token));
        }
      }
    };
    const auto give = [&] {
      for (int turn = 0; turn < 5; ++turn) {
        if (kind == "loops")
          sequence->loop(3, body);
        else if (kind == "traces")
          sequence->trace(1, body);
        else
          body();
      }
      sequence->wait(data[0]);
      sequence->wait();
    };
    std::string thrown = told([&] {
      sequence.emplace(runtime, SequenceOptions{.window = 16, .automatic_traces = kind == "automatic" ? 32U : 0U});
      for (long& value : values) data.push_back(sequence->data(value));
      give();
    });
    refuse_allocation(has_refused_allocation() ? -1 : 1'000'000);
    const int times = kind == "loops" ? 3 : 1;
    EXPECT_TRUE(!thrown.empty() || runs.all(times)) << "something was dropped, and nobody told";
    if (!sequence) return thrown;
    const std::string late = told([&] { sequence->wait(); });
    EXPECT_TRUE(late.empty() || thrown.empty() || thrown == "std::bad_alloc") << thrown << ", and then " << late;
    for (const auto& ran : runs.of) EXPECT_LE(ran, times);
    std::vector<Data> again;
    for (long& value : others) again.push_back(sequence->data(value));
    const auto count = [&] {
      for (std::size_t k = 0; k < 12; ++k)
        sequence->task({read_write(again[k % 6])}, [&others, k] { ++others[k % 6]; });
    };
    count();
    for (int k = 0; k < 3; ++k) sequence->trace(1, count);
    sequence->loop(2, count);
    sequence->reduce(again[0], others[0], std::plus<>(), {}, [] { return 1L; });
    sequence->wait();
    EXPECT_EQ(others, (std::array<long, 6>{13, 12, 12, 12, 12, 12})) << "after: " << thrown;
    sequence.reset();
    return thrown;
  });
}

// -- messages

/// A failure of a rank is one of all, and the communicator cannot be used after it.
TEST(WithoutMemory, MessagesComeOrTheRankFails) {
  without_memory([](const std::shared_ptr<int>& token, std::int64_t number) {
    refuse_allocation(-1);
    Communicator comm;
    RuntimeOptions options = two_workers();
    options.communicator = &comm;
    Runtime runtime(options);
    std::atomic<int> came{0};
    const auto message = comm.active_message(
        [&came, token](std::string text) { came += text == std::string(100, 'x') ? 1 : 1000; }, "text");
    refuse_allocation(number);
    int sent = 0;
    const std::string thrown = told([&] {
      for (; sent < 5; ++sent) message.send(0, std::string(100, 'x'));
    });
    const std::string waited = told([&] { runtime.wait(); });
    refuse_allocation(has_refused_allocation() ? -1 : 1'000'000);
    EXPECT_TRUE(came == sent || !waited.empty()) << came << " of " << sent << ", thrown: " << thrown;
    EXPECT_LE(came, 5);
    return thrown + waited;
  });
}

}  // namespace
}  // namespace taskgrain::rt
