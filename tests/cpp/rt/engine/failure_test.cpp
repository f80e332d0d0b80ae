/// Tasks that throw, in flows and in graphs: the exception arrives with the name of the task, nothing runs after it
/// has, nothing leaks, and the runtime goes on.

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::chrono_literals;

struct OutOfPaper : std::runtime_error {
  OutOfPaper() : std::runtime_error("out of paper") {}
};

/// Where tasks run: in a flow, or in a compiled graph.
using Place = std::optional<Policy>;

/// So many tasks, "NAME 0" and so on, one after another or side by side. Task k is worker k's, modulo their number.
class Tasks {
 public:
  enum Order { in_a_row, side_by_side };

  Tasks(Place place, Runtime& runtime, const std::string& name, int number, Order order,
        const std::function<void(int)>& body)
      : runtime_(runtime) {
    const auto worker = [&runtime](int k) { return k % runtime.workers(); };
    if (!place) {
      flow_.emplace(runtime, name);
      flow_->indegree([](int) { return 1; }).worker(worker).run([=, this](int k) {
        body(k);
        if (order == in_a_row && k + 1 < number) flow_->fulfill(k + 1);
      });
      start = [=, this] {
        for (int k = 0; k < (order == in_a_row ? 1 : number); ++k) flow_->fulfill(k);
        done = flow_->done();
      };
      wait = [this] { flow_->wait(); };
      return;
    }
    TaskGraph tasks(name);
    std::vector<TaskGraph::Node> nodes;
    for (int k = 0; k < number; ++k) {
      nodes.push_back(tasks.task(worker(k), [=] { body(k); }));
      if (order == in_a_row && k > 0) tasks.edge(nodes[nodes.size() - 2], nodes.back());
    }
    graph_.emplace(runtime, std::move(tasks), *place);
    start = [this] { done = graph_->launch().done; };
    wait = [this, &runtime] { runtime.wait(done); };
  }
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  std::function<void()> start, wait;
  Event done;  // of the last start

  /// Starts them, and returns when they have failed, although no wait has said so.
  std::exception_ptr fail() {
    start();
    runtime_.work_until([this] { return done.failure() != nullptr; });
    return done.failure();
  }

 private:
  Runtime& runtime_;
  std::optional<Taskflow<int>> flow_;
  std::optional<CompiledGraph> graph_;
};

class FailureOfATask : public testing::TestWithParam<Place> {};
std::string place_name(const testing::TestParamInfo<Place>& info) {
  return std::array{"AFlow", "InOrder", "ReadyQueue", "Stealing"}[info.index];
}
INSTANTIATE_TEST_SUITE_P(In, FailureOfATask,
                         testing::Values(Place(), Policy::in_order, Policy::ready_queue, Policy::stealing), place_name);

TEST_P(FailureOfATask, ArrivesWithItsNameAndWhateverWasThrown) {
  for (const int workers : {1, 2, 5}) {
    for (const bool is_exception : {true, false}) {
      Runtime runtime({.workers = workers});
      Tasks tasks(GetParam(), runtime, "print", 1, Tasks::in_a_row, [=](int) {
        if (is_exception) throw OutOfPaper();
        throw 42;
      });
      tasks.start();
      try {
        runtime.wait();
        FAIL() << "nothing was thrown";
      } catch (const TaskFailed& failure) {
        EXPECT_EQ(failure.task(), "print 0");
        EXPECT_THAT(failure.what(), HasSubstr(is_exception ? "print 0 failed: out of paper" : "print 0 failed"));
        if (is_exception)
          EXPECT_THROW(failure.rethrow_nested(), OutOfPaper);
        else
          EXPECT_THROW(failure.rethrow_nested(), int);
      }
      runtime.wait();
    }
  }
}

TEST_P(FailureOfATask, EndsItsRunAndLeavesARuntimeThatWorks) {
  Runtime runtime({.workers = 3});
  std::atomic<int> ran{0};
  std::atomic<bool> fails{false};
  Tasks tasks(GetParam(), runtime, "step", 30, Tasks::in_a_row, [&](int k) {
    ++ran;
    if (fails && k == 11) throw OutOfPaper();
  });
  for (int n = 0; n < rounds(100); ++n) {
    fails = n % 2 == 0;
    ran = 0;
    tasks.start();
    if (fails) {
      EXPECT_THROW(runtime.wait(), TaskFailed);
      EXPECT_EQ(ran, 12);
    } else {
      runtime.wait();
      EXPECT_EQ(ran, 30) << "something was left of the failed run";
    }
  }
}

TEST_P(FailureOfATask, IsTheFirstOfMany) {
  Runtime runtime({.workers = 4});
  Tasks tasks(GetParam(), runtime, "task", 500, Tasks::side_by_side,
              [](int k) { throw std::runtime_error("of task " + std::to_string(k)); });
  tasks.start();
  try {
    runtime.wait();
    FAIL() << "nothing was thrown";
  } catch (const TaskFailed& failure) {
    EXPECT_EQ(failure.what(), failure.task() + " failed: of " + failure.task());
  }
  runtime.wait();
}

TEST_P(FailureOfATask, WaitsForTasksThatRun) {
  Runtime runtime({.workers = 2});
  std::atomic<bool> started{false}, ended{false};
  Tasks tasks(GetParam(), runtime, "task", 2, Tasks::side_by_side, [&](int k) {
    if (k == 1) {
      started = true;
      std::this_thread::sleep_for(50ms);
      ended = true;
    } else {
      while (!started) std::this_thread::yield();
      throw OutOfPaper();
    }
  });
  tasks.start();
  EXPECT_THROW(runtime.wait(), TaskFailed);
  EXPECT_TRUE(ended);
}

TEST_P(FailureOfATask, BelongsToWhoWaitsForIt) {
  Runtime runtime({.workers = 2, .spin = 0ns});  // worker 0 sleeps, and worker 1 never becomes idle
  std::atomic<bool> go_on{true};
  Taskflow<int> endless(runtime, "endless");
  endless.indegree([](int) { return 0; }).worker([](int) { return 1; }).bound([](int) { return true; });
  endless.priority([](int) { return -1; });  // or it would go first
  endless.run([&](int k) {
    if (go_on) endless.fulfill(k + 1);
  });
  Tasks bad(GetParam(), runtime, "bad", 5, Tasks::in_a_row, [](int k) {
    if (k == 3) throw OutOfPaper();
  });
  endless.fulfill(0);
  for (int n = 0; n < 20; ++n) {  // the other flow never ends meanwhile
    bad.start();
    EXPECT_THAT([&] { bad.wait(); }, ThrowsMessage<TaskFailed>(HasSubstr("bad 3 failed")));
  }
  go_on = false;
  runtime.wait();
}

TEST_P(FailureOfATask, OfSeveralReachesEachThatWaits) {
  Runtime runtime({.workers = 3});
  for (int n = 0; n < rounds(100); ++n) {
    std::vector<std::jthread> callers;
    std::atomic<int> told{0};
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&, name = "tasks " + std::to_string(caller)] {
        Tasks tasks(GetParam(), runtime, name, 10, Tasks::side_by_side, [](int k) {
          if (k == 5) throw OutOfPaper();
        });
        tasks.start();
        try {
          tasks.wait();
        } catch (const TaskFailed& failure) {
          told += failure.task() == name + " 5";
        }
      });
    callers.clear();
    ASSERT_EQ(told, 4);
  }
  runtime.wait();
}

/// What a call prints on stderr.
template <typename Call>
std::string printed(const Call& call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

TEST_P(FailureOfATask, ThatAnotherPassesOnIsToldOnce) {
  enum { nobody, before, inner_one, outer_one, inner_then_outer, outer_then_inner, all, waits };
  for (int who = nobody; who < waits; ++who) {
    for (const bool inner_ends_first : {false, true}) {
      const auto wait = [](auto& what) { EXPECT_THROW(what.wait(), TaskFailed); };
      const std::string text = printed([&] {
        Runtime runtime({.workers = 2});
        std::exception_ptr failure;
        std::optional<Tasks> inner, outer;
        inner.emplace(GetParam(), runtime, "inner", 1, Tasks::in_a_row, [](int) { throw OutOfPaper(); });
        outer.emplace(GetParam(), runtime, "outer", 1, Tasks::in_a_row, [&](int) { std::rethrow_exception(failure); });
        failure = inner->fail();
        if (who == before) wait(*inner);
        outer->fail();
        if (who == inner_one || who == inner_then_outer) wait(*inner);
        if (who == outer_one || who == inner_then_outer || who == outer_then_inner) wait(*outer);
        if (who == outer_then_inner) wait(*inner);
        if (who == all) wait(runtime);
        (inner_ends_first ? inner : outer).reset();
      });
      const bool is_printed = who == nobody || who == before;  // who caught it before the other passed it on
      EXPECT_EQ(std::ranges::count(text, '\n'), is_printed) << who << inner_ends_first << text;
    }
  }
}

TEST_P(FailureOfATask, ThatWasPrintedIsThrownAndNotPrintedAgainWhereItIsPassedOn) {
  for (const bool waits : {false, true}) {
    Runtime runtime({.workers = 2});
    std::exception_ptr failure;
    std::optional<Tasks> inner(std::in_place, GetParam(), runtime, "inner", 1, Tasks::in_a_row,
                               [](int) { throw OutOfPaper(); });
    failure = inner->fail();
    EXPECT_THAT(printed([&] { inner.reset(); }), HasSubstr("inner 0 failed: out of paper"));
    EXPECT_EQ(printed([&] {
                Tasks outer(GetParam(), runtime, "outer", 1, Tasks::in_a_row,
                            [&](int) { std::rethrow_exception(failure); });
                outer.fail();
                if (!waits) return;
                EXPECT_THROW(outer.wait(), TaskFailed);
              }),
              "");
  }
}

TEST(Failure, OfEachLaunchIsToldOnceWhereOneIsPassedOn) {
  const std::string text = printed([] {
    Runtime runtime({.workers = 2});
    Tasks inner(Policy::in_order, runtime, "inner", 1, Tasks::in_a_row, [](int) { throw OutOfPaper(); });
    const std::exception_ptr first = inner.fail();
    inner.fail();
    Tasks outer(Place(), runtime, "outer", 1, Tasks::in_a_row, [&](int) { std::rethrow_exception(first); });
    outer.fail();
  });
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
}

TEST(Failure, ThatATaskCatchesAndPassesOnIsTold) {
  for (const bool passes_on : {false, true}) {
    const std::string text = printed([&] {
      Runtime runtime({.workers = 2});
      Tasks outer(Place(), runtime, "outer", 1, Tasks::in_a_row, [&](int) {
        Runtime other({.workers = 1});
        Tasks inner(Policy::in_order, other, "inner", 1, Tasks::in_a_row, [](int) { throw OutOfPaper(); });
        inner.start();
        try {
          inner.wait();
        } catch (const TaskFailed&) {
          if (passes_on) throw;
        }
      });
      outer.start();
    });
    EXPECT_EQ(text,
              passes_on ? "taskgrain: nobody waited for this: outer 0 failed: inner 0 failed: out of paper\n" : "");
  }
}

TEST(Failure, DropsWhatWaitsForRoomInAMailbox) {
  constexpr int many = 5000;  // more than a mailbox holds; with keys on the heap, so that what is forgotten leaks
  Runtime runtime({.workers = 2});
  std::atomic<bool> at_work{false}, sent{false};
  std::atomic<int> ran{0};
  Taskflow<std::string> flow(runtime, "burst");
  flow.indegree([](const std::string&) { return 0; }).bound([](const std::string&) { return true; });
  flow.worker([](const std::string& key) { return key == "send" ? 0 : 1; });
  flow.run([&](const std::string& key) {
    if (key == "fail" || key == "wait") {
      at_work = true;
      while (!sent) std::this_thread::yield();
      if (key == "fail") throw OutOfPaper();
    } else if (key == "send") {
      while (!at_work) std::this_thread::yield();
      for (int n = 0; n < many; ++n) flow.fulfill("a key that is too long for a small string " + std::to_string(n));
      sent = true;
    } else {
      ++ran;
    }
  });
  flow.fulfill("send"), flow.fulfill("fail");
  EXPECT_THROW(runtime.wait(), TaskFailed);
  EXPECT_EQ(ran, 0);
  at_work = sent = false;
  flow.fulfill("send"), flow.fulfill("wait");
  runtime.wait();
  EXPECT_EQ(ran, many);
}

TEST(Failure, OfAnyFunctionNamesTheTask) {
  for (const int which : {0, 1, 2, 3}) {
    for (const int workers : {1, 2}) {
      Runtime runtime({.workers = workers});
      Taskflow<std::string> flow(runtime, "flow");
      const auto maybe = [=](int function, auto value) {
        return [=](const std::string& key) {
          if (which == function && key.starts_with("bad")) throw OutOfPaper();
          return value;
        };
      };
      flow.indegree(maybe(0, 0)).run(maybe(1, 0)).priority(maybe(2, 1)).bound(maybe(3, false));
      flow.fulfill("good, and so long that it must be in a box on the heap");
      flow.fulfill("bad, and so long that it must be in a box on the heap");
      EXPECT_THAT([&] { runtime.wait(); }, ThrowsMessage<TaskFailed>(HasSubstr("flow bad, and"))) << which;
      runtime.wait();
    }
  }
}

/// An exception of a library that has forgotten its words.
struct Wordless : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

TEST(Failure, WithoutWordsIsTold) {
  Runtime runtime({.workers = 1});
  Taskflow<int> flow(runtime, "flow");
  flow.indegree([](int) { return 1; }).run([](int) { throw Wordless(); });
  flow.fulfill(1);
  try {
    flow.wait();
    ADD_FAILURE() << "nobody was told";
  } catch (const TaskFailed& failed) {
    EXPECT_STREQ(failed.what(), "flow 1 failed: an exception without a message");
    EXPECT_THROW(failed.rethrow_nested(), Wordless);
  }
}

TEST(Failure, OfAWorkerFunctionReachesWhoFulfills) {
  Runtime runtime({.workers = 2});
  Taskflow<int> flow(runtime);
  flow.indegree([](int) { return 0; }).run([](int) {}).worker([](int) -> int { throw OutOfPaper(); });
  EXPECT_THROW(flow.fulfill(1), OutOfPaper);
  runtime.wait();
}

TEST(Failure, ThatNobodyWaitsForIsPrinted) {
  testing::internal::CaptureStderr();
  {
    Runtime runtime({.workers = 2});
    {
      Taskflow<int> flow(runtime, "lonely");
      flow.indegree([](int) { return 0; }).run([](int) { throw OutOfPaper(); });
      flow.fulfill(1);
    }
    runtime.wait();
    Taskflow<int> one(runtime, "one"), other(runtime, "other");
    for (auto* flow : {&one, &other})
      flow->indegree([](int) { return 0; }).run([](int) { throw OutOfPaper(); }).fulfill(1);
    EXPECT_THROW(runtime.wait(), TaskFailed);
    runtime.wait();
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("lonely 1 failed: out of paper"));
  EXPECT_THAT(printed, testing::ContainsRegex("(one|other) 1 failed: out of paper"));
  EXPECT_EQ(std::ranges::count(printed, '\n'), 2);
}

TEST(Failure, OfAFlowThatATaskDestroysIsTold) {
  Runtime runtime({.workers = 2});
  auto inner = std::make_unique<Taskflow<int>>(runtime, "inner");
  std::atomic<bool> thrown{false};
  inner->indegree([](int) { return 1; }).worker([](int) { return 1; }).run([&](int) {
    thrown = true;
    throw OutOfPaper();
  });
  {
    Taskflow<int> outer(runtime, "outer");
    outer.indegree([](int) { return 1; }).worker([](int) { return 1; }).run([&](int) {
      inner->fulfill(0);
      inner.reset();
    });
    outer.fulfill(0);
    outer.wait();
    while (!thrown) std::this_thread::yield();
  }
  EXPECT_THAT([&] { runtime.wait(); }, ThrowsMessage<TaskFailed>(HasSubstr("inner 0 failed")));
}

TEST(Failure, LeavesItsNameToNobodyElse) {
  // A flow and a launch that are stuck beside a flow that has failed.
  Runtime runtime({.workers = 2});
  Taskflow<int> bad(runtime, "bad"), pair(runtime, "pair");
  bad.indegree([](int) { return 1; }).run([](int) { throw OutOfPaper(); });
  pair.indegree([](int) { return 2; }).run([](int) {});
  TaskGraph tasks("graph");
  const auto fish = tasks.precondition("fish");
  tasks.edge(fish, tasks.task(0, [] {}));
  CompiledGraph graph(runtime, std::move(tasks));
  bad.fulfill(1);
  pair.fulfill(7);
  const auto launch = graph.launch({.preconditions = {{fish, Event()}}});
  testing::internal::CaptureStderr();
  EXPECT_THROW(runtime.wait(), TaskFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("pair 7: fulfilled 1 of 2 times"));
  EXPECT_THROW(std::rethrow_exception(launch.done.failure()), Stuck);
  runtime.wait();
}

TEST(Failure, OfAFlowConcernsNoEvent) {
  Runtime runtime({.workers = 2});
  Taskflow<int> bad(runtime, "bad");
  bad.indegree([](int) { return 1; }).run([](int) { throw OutOfPaper(); });
  bad.fulfill(1);
  EXPECT_THROW(runtime.wait(Event()), Stuck);
  EXPECT_THROW(runtime.wait(), TaskFailed);
}

TEST(Failure, MayBeOfAnIndegreeThatIsAskedForAStuckTask) {
  Runtime runtime({.workers = 1});
  bool throws = false;
  Taskflow<int> flow(runtime, "flow");
  flow.indegree([&](int) { return throws ? throw OutOfPaper() : 2; }).run([](int) {});
  Taskflow<int> last(runtime, "last");
  last.indegree([](int) { return 1; }).run([&](int) {
    flow.fulfill(1);
    throws = true;
  });
  last.fulfill(1);
  EXPECT_THAT([&] { runtime.wait(); }, ThrowsMessage<Stuck>(HasSubstr("flow 1, whose indegree throws")));
}

TEST(Cancel, DropsWhatHasNotStarted) {
  for (const int workers : {1, 3}) {
    Runtime runtime({.workers = workers});
    std::atomic<int> ran{0}, late{0};
    std::atomic<bool> other_ran{false}, cancelled{false};
    Taskflow<int> flow(runtime, "flow"), other(runtime, "other");
    flow.indegree([](int k) { return k % 2; }).run([&](int k) {
      if (cancelled) ++late;
      if (++ran == 50) {
        flow.cancel();
        cancelled = true;
      }
      flow.fulfill(k + 1);
      flow.fulfill(k + 2);
    });
    other.indegree([](int) { return 0; }).run([&](int k) {
      if (k < 1000)
        other.fulfill(k + 1);
      else
        other_ran = true;
    });
    flow.fulfill(0);
    other.fulfill(0);
    flow.wait();               // nothing is thrown
    EXPECT_LE(late, workers);  // each may have begun one just before
    runtime.wait();
    EXPECT_TRUE(other_ran);
    flow.cancel();
    runtime.wait();
    ran = 100;
    flow.run([&](int) { ++ran; });
    flow.fulfill(0);
    flow.wait();
    EXPECT_EQ(ran, 101);
  }
}

}  // namespace
}  // namespace taskgrain::rt
