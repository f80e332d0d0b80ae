/// Sequences: results, sums, what waits for what, errors, memory.

#include "taskgrain/rt/sequence.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allocations.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;

class RtSequence : public testing::Test {
 protected:
  /// What a call says that is refused.
  static std::string refused(const std::function<void()>& call) {
    try {
      call();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing is refused";
  }

  Runtime runtime_{{.workers = 2, .pin = false, .check = false}};
  Sequence sequence_{runtime_};
};

TEST_F(RtSequence, ResultsGoToLaterTasks) {
  double x = 0;
  const Data of_x = sequence_.data(x);
  const auto first = sequence_.task({write(of_x)}, [&] { return x = 3; });
  const auto second = sequence_.task({read(first), read(of_x)}, [&, first] { return std::to_string(*first + x); });
  EXPECT_EQ(sequence_.wait(second), std::to_string(6.0));
  sequence_.wait();
  EXPECT_EQ(*first, 3);
}

TEST_F(RtSequence, AWaitForDataWaitsForNothingElse) {
  std::atomic<bool> go{false};
  std::vector<int> values(8);
  const Data all = sequence_.data(values), part = sequence_.data(std::span(values).first(3)), other = sequence_.token();
  sequence_.task({write(other)}, [&] { go.wait(false); }, {.worker = 1});
  sequence_.task({write(all)}, [&] { std::ranges::fill(values, 1); }, {.worker = 0});
  sequence_.task({read_write(part)}, [&] { values[0] = 2; }, {.worker = 0});
  sequence_.wait(all);
  EXPECT_EQ(values, std::vector({2, 1, 1, 1, 1, 1, 1, 1}));
  go = true;
  go.notify_all();
  sequence_.wait();
}

TEST_F(RtSequence, ATaskThatThrowsEndsWhatWasGivenAndNothingThatComes) {
  int x = 0;
  const Data of_x = sequence_.data(x);
  sequence_.task({write(of_x)}, [] { throw std::runtime_error("no flux"); }, {.name = "solve"});
  for (int k = 0; k < 5000; ++k) {
    try {
      sequence_.task({read_write(of_x)}, [&] { ++x; });
    } catch (const TaskFailed& error) {  // there was no room
      EXPECT_THAT(error.what(), HasSubstr("sequence solve failed: no flux"));
      x = -1;
      break;
    }
  }
  EXPECT_EQ(x, -1) << "more tasks are given than there is room for";
  x = 0;
  sequence_.task({read_write(of_x)}, [&] { ++x; });
  sequence_.wait();
  EXPECT_EQ(x, 1);
}

TEST_F(RtSequence, ATaskThatThrowsEndsTheLoopsAndTracesThatRun) {
  std::vector<int> x(2);
  const Data a = sequence_.data(x[0]), b = sequence_.data(x[1]);
  const auto count = [&] { sequence_.task({read_write(a)}, [&] { ++x[0]; }, {.worker = 1}); };
  for (int k = 0; k < 20; ++k) {
    const std::int64_t iterations = std::int64_t{1} << 40;  // they do not end by themselves
    if (k % 2 == 0) {
      sequence_.loop(iterations, count);
    } else {
      for (int n = 0; n < 3; ++n) sequence_.trace(1, count);
    }
    sequence_.task({write(b)}, [] { throw std::runtime_error("no flux"); }, {.worker = 0});
    EXPECT_THROW(sequence_.wait(), TaskFailed);
    const int after = x[0];
    sequence_.task({read_write(a)}, [&] { x[0] = -1; });
    sequence_.wait();
    EXPECT_EQ(x[0], -1) << "and not counted on, from " << after;
  }
}

TEST_F(RtSequence, ADestructorWaitsForAllAndAddsWhatIsOpen) {
  for (const bool fails : {false, true}) {
    int x = 0, sum = 0;
    {
      Sequence sequence(runtime_);
      const Data of_x = sequence.data(x), of_sum = sequence.data(sum);
      for (int k = 0; k < 300; ++k) sequence.task({read_write(of_x)}, [&x] { ++x; });
      sequence.loop(100, [&] { sequence.task({read_write(of_x)}, [&x] { ++x; }); });
      for (int k = 0; k < 10; ++k) sequence.reduce(of_sum, sum, std::plus<>(), {}, [] { return 1; });
      if (fails) sequence.task({}, [] { throw std::runtime_error("printed"); });
    }
    if (fails) continue;
    EXPECT_EQ(x, 400);
    EXPECT_EQ(sum, 10);
  }
}

TEST_F(RtSequence, AnyWaitTellsOfAFailureAndAResultThatThereIsNotIsAnError) {
  int x = 0, y = 0;
  const Data of_x = sequence_.data(x), of_y = sequence_.data(y);
  sequence_.task({write(of_y)}, [&] { y = 1; });
  sequence_.wait(of_y);
  const auto fails = []() -> int { throw std::runtime_error("no flux"); };
  const Future<int> none = sequence_.task({write(of_x)}, fails, {.worker = 1});
  EXPECT_THROW(
      {
        for (;;) sequence_.wait(of_y);
      },
      TaskFailed);
  EXPECT_THAT(refused([&] { sequence_.wait(none); }), HasSubstr("a future has no value"));
}

TEST_F(RtSequence, ATaskWhoseFunctionThrewWhenItWasMovedIsNotGiven) {
  struct Moved {
    int* moves;
    std::atomic<int>* runs;  // of tasks that nothing orders
    Moved(int* left, std::atomic<int>* count) : moves(left), runs(count) {}
    Moved(Moved&& other) : moves(other.moves), runs(other.runs) {
      if (--*moves == 0) throw std::runtime_error("moved too often");
    }
    void operator()() const { ++*runs; }
  };
  int thrown = 0;
  for (int most = 1; most < 8; ++most)
    for (const bool in_a_loop : {false, true}) {
      int moves = most, given = 0;
      std::atomic<int> runs = 0;
      const auto body = [&] {
        try {
          sequence_.task({}, Moved(&moves, &runs), {.worker = 0});
          ++given;
        } catch (const std::runtime_error&) {
          ++thrown;
        }
        sequence_.task({}, [&runs] { ++runs; }, {.worker = 0});
      };
      in_a_loop ? sequence_.loop(1, body) : body();
      sequence_.wait();
      EXPECT_EQ(runs, given + 1) << most;
    }
  EXPECT_GT(thrown, 2);
}

TEST_F(RtSequence, AWaitForAWholeWaitsForPartsAlthoughNothingHasUsedIt) {
  std::vector<int> x(2);
  const Data part = sequence_.data(x[1]);
  sequence_.task({write(part)},
                 [&] {
                   std::this_thread::sleep_for(std::chrono::milliseconds(20));
                   x[1] = 1;
                 },
                 {.worker = 1});
  const Data whole = sequence_.data(x);
  sequence_.wait(whole);
  EXPECT_EQ(x[1], 1);
}

TEST_F(RtSequence, WhatFunctionsHoldIsDestroyedWhenTheyHaveRun) {
  const auto held = std::make_shared<int>(0);
  const Data one = sequence_.token();
  for (int k = 0; k < 3; ++k) sequence_.trace(1, [&] { sequence_.task({write(one)}, [held] { ++*held; }); });
  sequence_.loop(4, [&] { sequence_.task({write(one)}, [held] { ++*held; }); });
  sequence_.wait();
  EXPECT_EQ(*held, 7);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(RtSequence, ABodyOfAnotherShapeIsAnalysed) {
  std::vector<int> x(4);
  std::vector<Data> of_x;
  for (int& one : x) of_x.push_back(sequence_.data(one));
  for (std::size_t k = 0; k < 40; ++k)
    sequence_.trace(3, [&] {
      for (std::size_t n = 0; n <= k % 4; ++n) sequence_.task({read_write(of_x[n])}, [&x, n] { ++x[n]; });
    });
  sequence_.wait();
  EXPECT_EQ(x, std::vector({40, 30, 20, 10}));
  EXPECT_EQ(sequence_.statistics().analysed, 4U);
  EXPECT_EQ(sequence_.statistics().replayed, 36U);
  EXPECT_EQ(sequence_.statistics().compiled, 4U);
}

TEST_F(RtSequence, ALoopOfAKnownShapeIsNotCompiledAgainAndRunsItsOwnFunctions) {
  std::vector<int> x(2);
  const Data a = sequence_.data(x[0]), b = sequence_.data(x[1]);
  const auto large = std::make_shared<int>(1);  // its function lies beside the graph, the other in it
  for (int k = 1; k <= 5; ++k) {
    sequence_.loop(3, [&] {
      sequence_.task({read_write(a)}, [&x, k] { x[0] += k; });
      sequence_.task({read_write(b)}, [&x, k, large] { x[1] += k * *large; });
    });
  }
  sequence_.wait();
  EXPECT_EQ(x, std::vector({45, 45}));
  EXPECT_EQ(sequence_.statistics().compiled, 1U);
  EXPECT_EQ(large.use_count(), 1);
}

TEST_F(RtSequence, ManyLoopsOfDifferentShapesThatRunAreAllEndedByAFailure) {
  std::vector<int> x(12);
  std::vector<Data> of_x;
  for (int& one : x) of_x.push_back(sequence_.data(one));
  for (std::size_t k = 0; k < x.size(); ++k)
    sequence_.loop(std::int64_t{1} << 40, [&] { sequence_.task({read_write(of_x[k])}, [&x, k] { ++x[k]; }); });
  sequence_.task({}, [] { throw std::runtime_error("no flux"); });
  EXPECT_THROW(sequence_.wait(), TaskFailed);
  const std::vector<int> after = x;
  sequence_.loop(2, [&] { sequence_.task({read_write(of_x[0])}, [&x] { ++x[0]; }); });
  sequence_.wait();
  EXPECT_EQ(x[0], after[0] + 2);
}

TEST_F(RtSequence, CallsOfATraceFollowEachOtherWithoutABarrier) {
  std::atomic<int> ahead{0};
  std::atomic<bool> go{false};
  int behind = 0, seen = 0;
  const Data a = sequence_.data(ahead), b = sequence_.data(behind);
  const auto call = [&](int k) {
    sequence_.trace(1, [&, k] {
      sequence_.task({read_write(a)}, [&] { ++ahead; }, {.worker = 1});
      const auto wait = [&, k] {
        for (int n = 0; k == 1 && ahead < 5 && n < 5000; ++n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (k == 1) seen = ahead;
        ++behind;
      };
      sequence_.task({read_write(b)}, wait, {.worker = 0});
    });
  };
  call(0);
  sequence_.wait();
  sequence_.task({write(a), write(b)}, [&] { go.wait(false); }, {.worker = 1});
  for (int k = 1; k < 5; ++k) call(k);
  go = true;
  go.notify_all();
  sequence_.wait();
  EXPECT_EQ(seen, 5) << "while the second call was not over";
  EXPECT_EQ(behind, 5);
  EXPECT_EQ(sequence_.statistics().replayed, 4U);
  EXPECT_EQ(sequence_.statistics().launched, 1U);
}

/// Counts what is alive of it.
struct Counted {
  static inline std::atomic<int> alive{0}, most{0};

  Counted() { count(); }
  Counted(const Counted&) { count(); }
  ~Counted() { --alive; }
  void operator()() const {}

 private:
  static void count() {
    const int now = ++alive;
    for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
    }
  }
};

TEST_F(RtSequence, TracesAreNoFurtherAheadThanAWindow) {
  Sequence sequence(runtime_, {.window = 64});
  std::vector<Data> tokens;
  for (int k = 0; k < 8; ++k) tokens.push_back(sequence.token());
  const auto body = [&] {
    for (const Data& token : tokens) sequence.task({read_write(token)}, Counted());
  };
  for (int n = 0; n < 2000; ++n) sequence.trace(1, body);
  sequence.wait();
  EXPECT_EQ(sequence.statistics().replayed, 1999U);
  for (int n = 0; n < 2000; ++n) sequence.loop(2, body);
  sequence.wait();
  EXPECT_LE(Counted::most, 64 + 3 * 8) << "a window, the first call, the one that gives, and what is moved";
  EXPECT_EQ(Counted::alive, 0);
}

TEST_F(RtSequence, AWaitTellsOfAFailureOfALoopOrATraceThatComesLate) {
  int x = 0;
  bool fails = false;
  const Data of_x = sequence_.data(x, {.home = 1});
  const auto body = [&] {
    sequence_.task({read_write(of_x)}, [&x, fails] {
      if (!fails) return static_cast<void>(++x);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      throw std::runtime_error("no flux");
    });
  };
  for (const bool in_a_loop : {false, true}) {
    const auto call = [&] { in_a_loop ? sequence_.loop(1, body) : sequence_.trace(1, body); };
    for (int n = 0; n < 10; ++n) {
      fails = false;
      call();
      sequence_.wait();
      fails = true;
      EXPECT_THROW((call(), sequence_.wait()), TaskFailed);
    }
  }
}

TEST_F(RtSequence, TracesThatWaitForAFailureTakeNoRoomAfterIt) {
  Sequence sequence(runtime_, {.window = 64});
  const Data token = sequence.token();
  int runs = 0;
  const auto trace = [&] {
    sequence.trace(1, [&] {
      for (int k = 0; k < 16; ++k) sequence.task({read_write(token)}, [&runs] { ++runs; });
    });
  };
  trace();
  sequence.wait();
  std::atomic<bool> go{false};
  const auto fail = [&go] {
    go.wait(false);
    throw std::runtime_error("no flux");
  };
  sequence.task({write(token)}, fail, {.worker = 1});
  for (int n = 0; n < 3; ++n) trace();
  go = true;
  go.notify_all();
  EXPECT_THROW(sequence.wait(), TaskFailed);
  for (int n = 0; n < 20; ++n) trace();
  sequence.wait();
  EXPECT_EQ(runs, 16 + 20 * 16);
}

TEST_F(RtSequence, ATaskOfAJoinedCallThatThrowsHasItsOwnName) {
  std::atomic<bool> go{false};
  int x = 0;
  const Data of_x = sequence_.data(x);
  const auto call = [&](int k) {
    sequence_.trace(1, [&, k] {
      sequence_.task({read_write(of_x)}, [&, k] { k == 3 ? throw std::runtime_error("three") : ++x; },
                     {.name = "step " + std::to_string(k)});
    });
  };
  call(0);
  sequence_.wait();
  sequence_.task({write(of_x)}, [&] { go.wait(false); }, {.worker = 1});
  for (int k = 1; k < 40; ++k) call(k);
  go = true;
  go.notify_all();
  EXPECT_THAT(
      [&] {
        try {
          sequence_.wait();
        } catch (const TaskFailed& error) {
          return std::string(error.what());
        }
        return std::string();
      }(),
      HasSubstr("step 3 failed: three"));
  EXPECT_EQ(x, 3);
  for (int k = 10; k < 12; ++k) call(k);
  sequence_.wait();
  EXPECT_EQ(x, 5);
}

TEST_F(RtSequence, ResultsInATraceAreThoseOfTheirCall) {
  std::vector<Future<int>> results;
  for (int k = 0; k < 10; ++k)
    sequence_.trace(1, [&] {
      const auto one = sequence_.task({}, [k] { return k; });
      results.push_back(sequence_.task({read(one)}, [one] { return 2 * *one; }));
    });
  for (int k = 0; k < 10; ++k) EXPECT_EQ(sequence_.wait(results[static_cast<std::size_t>(k)]), 2 * k);
  EXPECT_EQ(sequence_.statistics().replayed, 9U);
}

TEST_F(RtSequence, DataMayGoWhileTasksUseItAndItsPlaceIsUsedAgain) {
  std::uint64_t x = 0;
  for (int k = 0; k < 5000; ++k) {
    const Data of_x = sequence_.data(x, {.home = 1});
    sequence_.task({read_write(of_x)}, [&x, k] { x = 31 * x + static_cast<std::uint64_t>(k); });
  }
  sequence_.wait();
  std::uint64_t expected = 0;
  for (std::uint64_t k = 0; k < 5000; ++k) expected = 31 * expected + k;
  EXPECT_EQ(x, expected);
}

TEST_F(RtSequence, AllocatesNothingForATaskOnceItRuns) {
  std::vector<double> x(32);
  std::vector<Data> of_x;
  for (double& one : x) of_x.push_back(sequence_.data(one));
  const auto give = [&] {
    for (std::size_t k = 0; k < 20'000; ++k) {
      const std::size_t a = k % 32, b = (k + 1) % 32, c = (k + 7) % 32;
      sequence_.task({read(of_x[a]), read(of_x[b]), write(of_x[c])}, [&x, a, b, c] { x[c] = x[a] + x[b] + 1; });
    }
    sequence_.wait();
  };
  give();
  const auto before = allocations();
  give();
  EXPECT_LT(allocations() - before, 500) << "of 20000 tasks";
}

TEST_F(RtSequence, AnAsynchronousTaskThatFailsIsNamed) {
  struct None {};
  int x = 0;
  const Data of_x = sequence_.data(x);
  Done kept;
  const auto start = [&](const Turn&, const Issue<None>& issue) {
    kept = issue.done;  // it has failed before it is called
    throw std::runtime_error("no device");
    return None{};
  };
  const auto drop = [](const Turn&, const Issue<None>&) { return None{}; };
  const auto fails = [&](const auto& way) {
    try {
      way();
      sequence_.task({read(of_x)}, [&] { x = -1; });
      sequence_.wait();
    } catch (const TaskFailed& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto give = [&](const auto& function) {
    sequence_.async_task<None>({write(of_x)}, function, {.name = "copy"});
  };
  EXPECT_THAT(fails([&] { give(drop); }), HasSubstr("copy failed: its device never called done"));
  EXPECT_THAT(fails([&] { sequence_.loop(3, [&] { give(drop); }); }),
              HasSubstr("loop copy of iteration 0 failed: its device never called done"));
  for (const bool in_a_loop : {false, true}) {
    EXPECT_THAT(fails([&] { in_a_loop ? sequence_.loop(2, [&] { give(start); }) : give(start); }),
                HasSubstr(in_a_loop ? "loop copy of iteration 0 failed: no device" : "copy failed: no device"));
    kept = {};
  }
  EXPECT_EQ(x, 0) << "nothing after them ran";
  sequence_.wait();
}

TEST_F(RtSequence, AnAsynchronousTaskEndsWithItsOperationAndLocksUntilThen) {
  struct None {};
  std::vector<Done> given;
  given.reserve(2);
  std::atomic<bool> started{false};
  bool at_once = false;
  int x = 0;
  const Data of_x = sequence_.data(x);
  for (int k = 0; k < 2; ++k)
    sequence_.async_task<None>({commutative(of_x)},
                               [&](const Turn&, const Issue<None>& issue) {
                                 at_once = at_once || (!given.empty() && x == 0);
                                 given.push_back(issue.done);
                                 if (x == 1) issue.done();
                                 started = true;
                                 started.notify_one();
                                 return None{};
                               },
                               {.worker = 0});
  const auto after = sequence_.task({read(of_x)}, [&] { return x; }, {.worker = 0});
  std::thread device([&] {
    started.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    x = 1;
    given[0]();
  });
  EXPECT_EQ(sequence_.wait(after), 1);
  device.join();
  EXPECT_FALSE(at_once);
  EXPECT_EQ(given.size(), 2U);
}

TEST_F(RtSequence, RefusesWhatIsWrongInWords) {
  int x = 0, y = 0;
  std::vector<int> values(4);
  const Data of_x = sequence_.data(x, {.home = 1, .name = "x"}), of_y = sequence_.data(y, {.name = "y"});
  const Data all = sequence_.data(values, {.name = "all"}),
             part = sequence_.data(std::span(values).first(1), {.name = "part"});
  const auto nothing = [] {};
  EXPECT_THAT(refused([&] { Sequence(runtime_, {.window = 12}); }),
              HasSubstr("window is 12, allowed are powers of two"));
  EXPECT_THAT(refused([&] { sequence_.data(x, {.home = 2, .name = "z"}); }),
              HasSubstr("data z: home is 2, allowed are 0 to 1"));
  EXPECT_THAT(refused([&] { sequence_.task({}, nothing, {.worker = -2, .name = "t"}); }),
              HasSubstr("sequence t: worker is -2, allowed are 0 to 1"));
  EXPECT_THAT(refused([&] { sequence_.task({commutative(of_x), read(of_x)}, nothing); }),
              HasSubstr("'x' is used as commutative and as read"));
  EXPECT_THAT(refused([&] { sequence_.reduce(of_x, x, std::plus<>(), {read(of_x)}, [] { return 1; }); }),
              HasSubstr("'x' is used as read and as reduce"));
  EXPECT_THAT(refused([&] { sequence_.reduce(part, values[0], std::plus<>(), {read(all)}, [] { return 1; }); }),
              HasSubstr("reduces 'part' and uses 'all'"));
  Sequence other(runtime_, {.name = "other"});
  EXPECT_THAT(refused([&] { other.task({read(of_x)}, nothing, {.name = "t"}); }),
              HasSubstr("other t: one of its data is of another sequence"));
  for (int k = 0; k < 100; ++k) sequence_.token();  // places that are free
  EXPECT_THAT(refused([&] { sequence_.task({read(Data())}, nothing); }), HasSubstr("or of nothing"));
  EXPECT_THAT(refused([&] { sequence_.task({of_x.access(Mode::reduce)}, nothing); }),
              HasSubstr("call Sequence::reduce"));
  EXPECT_THAT(refused([&] { sequence_.reduce(of_x, y, std::plus<>(), {}, [] { return 1; }); }),
              HasSubstr("adds to what 'x' does not name"));
  EXPECT_THAT(refused([&] { sequence_.loop(1, [&] { sequence_.token(); }); }), HasSubstr("data is made in a loop"));
  EXPECT_THAT(refused([&] { sequence_.loop(-1, nothing, "steps"); }), HasSubstr("steps: iterations is -1"));
  EXPECT_THAT(refused([&] { sequence_.loop(1, [&] { sequence_.wait(); }); }), HasSubstr("a wait in a loop or a trace"));
  EXPECT_THAT(refused([&] { sequence_.loop(1, [&] { sequence_.trace(1, nothing); }); }),
              HasSubstr("a loop or a trace in a loop or a trace"));
  EXPECT_THAT(refused([&] { sequence_.loop(1, [&] { sequence_.data(y); }); }), HasSubstr("data is made in a loop"));
  std::string in_a_task;
  sequence_.task({write(of_y)}, [&] { in_a_task = refused([&] { sequence_.task({}, nothing); }); });
  sequence_.wait();
  EXPECT_THAT(in_a_task, HasSubstr("sequence: a task calls it"));
  sequence_.task({read(of_x), write(of_x)}, [&] { ++x; });  // is read_write
  sequence_.wait();
  EXPECT_EQ(x, 1);
}

TEST_F(RtSequence, AFunctionThatIsLargeOrMovesOnlyIsOne) {
  std::vector<double> big(40, 1.0);
  double x = 0;
  const Data of_x = sequence_.data(x);
  std::array<double, 40> values{};
  values.fill(2.0);
  sequence_.task({write(of_x)}, [values, &x, one = std::make_unique<double>(1.0)] { x = values[39] + *one; });
  sequence_.wait();
  EXPECT_EQ(x, 3.0);
}

TEST(Tokens, AreOrderedTogether) {
  Runtime runtime({.workers = 2, .pin = false});
  Sequence sequence(runtime);
  const Data a = sequence.token(), b = sequence.token(), both = sequence.together({&a, &b});
  std::atomic<int> ran{0};
  sequence.task({write(a)}, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++ran;
  });
  sequence.task({write(b)}, [&] { ++ran; });
  EXPECT_EQ(sequence.wait(sequence.task({read(both)}, [&] { return ran.load(); })), 2);
}

}  // namespace
}  // namespace taskgrain::rt
