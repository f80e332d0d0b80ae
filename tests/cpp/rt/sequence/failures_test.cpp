/// Sequences whose tasks, sums or surroundings fail: what is dropped, what is told, and what they are used for after
/// that.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"
#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt {
namespace {

using testing::HasSubstr;

class SequenceFailures : public testing::Test {
 protected:
  /// The failure that a call throws.
  static TaskFailed failure(const std::function<void()>& call) {
    try {
      call();
    } catch (const TaskFailed& error) {
      return error;
    }
    return TaskFailed("nothing", "");
  }

  Runtime runtime_{{.workers = 2, .pin = false, .check = false}};
  Sequence sequence_{runtime_};
};

TEST_F(SequenceFailures, ASumThatIsOpenWhenTheRuntimeTellsOfAFailureIsDropped) {
  for (const bool all : {false, true}) {
    double x = 0;
    const Data of_x = sequence_.data(x);
    for (int k = 0; k < 5; ++k) sequence_.reduce(of_x, x, std::plus<>(), {}, [] { return 1.0; });
    sequence_.task({}, [] { throw std::runtime_error("boom"); });
    EXPECT_THROW(runtime_.wait(), TaskFailed);
    x = 100;
    all ? sequence_.wait() : sequence_.wait(of_x);
    EXPECT_EQ(x, 100);
    sequence_.reduce(of_x, x, std::plus<>(), {}, [] { return 1.0; });
    sequence_.wait();
    EXPECT_EQ(x, 101);
  }
}

/// Counts what is alive, and waits where it is copied.
struct Slow {
  static inline std::atomic<int> alive{0};
  explicit Slow(int of) : value(of) { ++alive; }
  Slow(const Slow& other) : value(other.value) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++alive;
  }
  Slow& operator=(const Slow&) = default;
  ~Slow() {
    --alive;
    value = -1;
  }
  int value;
};

TEST_F(SequenceFailures, AFailureAmongTheTasksOfASumLeavesItsPartsUntilTheyHaveEnded) {
  for (int round = 0; round < 20; ++round) {
    Slow sum(0);
    const Data of_sum = sequence_.data(sum), other = sequence_.token();
    sequence_.task({write(other)}, [] { throw std::runtime_error("boom"); }, {.worker = 1});
    EXPECT_THROW(
        {
          for (int k = 0; k < 50; ++k) {
            sequence_.reduce(
                of_sum, sum, [](Slow a, const Slow& b) { return a.value += b.value, a; }, {}, [] { return Slow(1); });
            if (k % 3 == 2) sequence_.task({read(of_sum)}, [] {});
          }
          sequence_.wait();
        },
        TaskFailed);
  }
  EXPECT_EQ(Slow::alive, 0);
}

TEST_F(SequenceFailures, EachPartOfASumIsAddedByItsOwnOperation) {
  double x = 0, y = 0, z = 0;
  const Data of_x = sequence_.data(x), of_y = sequence_.data(y), of_z = sequence_.data(z);
  for (int k = 1; k <= 3; ++k)
    sequence_.reduce(of_x, x, [k](double a, double b) { return a + k * b; }, {}, [] { return 1.0; });
  const std::function<double(double, double)> plus = std::plus<>(), minus = std::minus<>();
  sequence_.reduce(of_y, y, plus, {}, [] { return 5.0; });
  sequence_.reduce(of_y, y, minus, {}, [] { return 2.0; });
  double (*const least)(double, double) = [](double a, double b) { return a < b ? a : b; };
  double (*const most)(double, double) = [](double a, double b) { return a < b ? b : a; };
  sequence_.reduce(of_z, z, most, {}, [] { return 7.0; });
  sequence_.reduce(of_z, z, least, {}, [] { return 4.0; });
  sequence_.wait();
  EXPECT_EQ(x, 6);
  EXPECT_EQ(y, 3);
  EXPECT_EQ(z, 4);
}

TEST_F(SequenceFailures, OfAnOperationLeaveTheTargetAsItWas) {
  for (const bool in_loop : {false, true}) {
    double x = 100;
    const Data of_x = sequence_.data(x);
    const auto add = [&](int last) {
      const auto body = [&] {
        for (int k = 0; k < last; ++k)
          sequence_.reduce(
              of_x, x, [k](double a, double b) { return k == 3 ? throw std::runtime_error("no") : a + b; }, {},
              [k] { return k; });
      };
      in_loop ? sequence_.loop(1, body) : body();
      sequence_.wait(of_x);
    };
    EXPECT_THROW(add(5), TaskFailed);
    EXPECT_EQ(x, 100);
    add(3);
    EXPECT_EQ(x, 103);
  }
}

TEST_F(SequenceFailures, TwoNamesOfOneObjectExcludeEachOther) {
  struct Record {
    int id;
    std::string name;
  } record{1, std::string(100, 'x')};
  std::vector<int> empty, growing(1);
  std::vector<std::vector<int>> nested(3);
  const Data first = sequence_.data(growing);
  growing.resize(1000);
  const std::pair<Data, Data> pairs[] = {
      {sequence_.data(empty), sequence_.data(empty)},          {Data(), sequence_.data(growing)},
      {sequence_.data(record), sequence_.data(record.name)},   {sequence_.data(nested), sequence_.data(nested[1])},
      {sequence_.together({&first}), sequence_.data(growing)},
  };
  std::atomic<int> inside{0}, together{0};
  const auto task = [&] {
    if (++inside > 1) ++together;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    --inside;
  };
  for (const auto& [a, b] : pairs) {
    const Data& one = &a == &pairs[1].first ? first : a;
    for (int k = 0; k < 100; ++k) sequence_.task({write(k % 2 == 0 ? one : b)}, task, {.worker = k % 2});
    sequence_.wait();
    EXPECT_EQ(together.exchange(0), 0) << &a - &pairs[0].first;
  }
  // Views of parts are names of the parts alone.
  std::vector<int> parts(2);
  std::atomic<int> met{0};
  const std::span<int> left = std::span(parts).first(1), right = std::span(parts).last(1);
  const Data a = sequence_.data(left), b = sequence_.data(right);
  for (const Data* one : {&a, &b})
    sequence_.task({write(*one)},
                   [&] {
                     ++met;
                     for (int k = 0; k < 5000 && met < 2; ++k)
                       std::this_thread::sleep_for(std::chrono::milliseconds(1));
                   },
                   {.worker = one == &a ? 0 : 1});
  sequence_.wait();
  EXPECT_EQ(met, 2);
}

TEST_F(SequenceFailures, TellOfTheTaskAndTheIterationOfALoop) {
  int x = 0;
  const Data of_x = sequence_.data(x);
  for (const char* name : {"", "solve"}) {
    const TaskFailed failed = failure([&] {
      sequence_.loop(
          100,
          [&] {
            sequence_.task({read_write(of_x)}, [] {});
            sequence_.task({read_write(of_x)},
                           [](const Turn& turn) {
                             if (turn.iteration == 12) throw std::runtime_error("diverged");
                           },
                           {.name = name});
          },
          "time");
      sequence_.wait();
    });
    const std::string task = *name == '\0' ? "task 1" : name;
    EXPECT_EQ(failed.task(), "sequence time " + task + " of iteration 12");
    EXPECT_EQ(failed.what(), failed.task() + " failed: diverged");
    EXPECT_THROW(failed.rethrow_nested(), std::runtime_error);
    try {
      failed.rethrow_nested();
    } catch (const TaskFailed&) {
      ADD_FAILURE() << "it has one name";
    } catch (const std::runtime_error& cause) {
      EXPECT_STREQ(cause.what(), "diverged");
    }
  }
}

TEST_F(SequenceFailures, TellOfTheTaskOfATrace) {
  int x = 0;
  const Data of_x = sequence_.data(x);
  const auto body = [&] {
    sequence_.task({read_write(of_x)},
                   [&] {
                     if (++x == 3) throw std::runtime_error("three");
                   },
                   {.name = "count"});
  };
  const TaskFailed failed = failure([&] {
    for (int k = 0; k < 5; ++k) sequence_.trace(1, body, "again");
    sequence_.task({read(of_x)}, [&] { x = -100; });
    sequence_.wait();
  });
  EXPECT_EQ(failed.what(), std::string("sequence again count failed: three"));
  EXPECT_EQ(x, 3) << "nothing after it ran";
}

TEST_F(SequenceFailures, ForgetsTheTracesThatWereNotCalledForLongest) {
  Sequence sequence(runtime_, {.traces = 3});
  int x = 0;
  const Data of_x = sequence.data(x);
  const auto call = [&](std::uint64_t id) {
    sequence.trace(id, [&] { sequence.task({read_write(of_x)}, [&x] { ++x; }); });
  };
  for (std::uint64_t id = 0; id < 100; ++id) {
    call(7);  // as often as all others together
    call(1000 + id);
  }
  sequence.wait();
  EXPECT_EQ(x, 200);
  EXPECT_EQ(sequence.statistics().replayed, 99U) << "7 is known, the others came once";
  call(1098), call(1000);
  EXPECT_EQ(sequence.statistics().replayed, 100U) << "1098 is known, 1000 is not any more";
  sequence.wait();
  EXPECT_THROW(Sequence(runtime_, {.traces = 0}), UsageError);
}

TEST_F(SequenceFailures, TracesThatRunAreNotForgotten) {
  Sequence sequence(runtime_, {.traces = 1});
  std::atomic<bool> go{false};
  int x = 0;
  const Data of_x = sequence.data(x);
  const auto call = [&](std::uint64_t id) {
    sequence.trace(id, [&] { sequence.task({read_write(of_x)}, [&x] { ++x; }); });
  };
  for (int round = 0; round < 3; ++round) {
    sequence.task({write(of_x)}, [&] { go.wait(false); }, {.worker = 1});
    for (std::uint64_t id = 0; id < 5; ++id) call(id), call(id);
    go = true;
    go.notify_all();
    sequence.wait();
    go = false;
  }
  EXPECT_EQ(x, 30);
}

TEST(SequencesThatEndAfterTheirRuntime, DoNothing) {
  testing::internal::CaptureStderr();
  int x = 0, sum = 0;
  {
    std::optional<Runtime> runtime(std::in_place, RuntimeOptions{.workers = 2, .pin = false});
    Sequence sequence(*runtime), open(*runtime);
    Taskflow<int> flow(*runtime);
    flow.indegree([](int) { return 1; }).run([&](int) { ++x; });
    TaskGraph tasks;
    tasks.task(0, [&] { ++x; });
    CompiledGraph graph(*runtime, std::move(tasks));
    const Data of_x = sequence.data(x), of_sum = open.data(sum);
    sequence.task({read_write(of_x)}, [&] { ++x; });
    sequence.wait();
    for (int k = 0; k < 3; ++k) sequence.trace(1, [&] { sequence.task({read_write(of_x)}, [&] { ++x; }); });
    sequence.loop(3, [&] { sequence.task({read_write(of_x)}, [&] { ++x; }); });
    sequence.wait();
    flow.fulfill(0);
    flow.wait();
    graph.launch();
    open.reduce(of_sum, sum, std::plus<>(), {}, [] { return 1; });
    runtime.reset();
    EXPECT_EQ(x, 9);
  }
  EXPECT_EQ(sum, 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("dropped what it held back"));
}

TEST(SequencesThatEndAfterTheirRuntime, PrintNothingWhereNothingIsLeft) {
  testing::internal::CaptureStderr();
  {
    std::optional<Runtime> runtime(std::in_place, RuntimeOptions{.workers = 2, .pin = false});
    Sequence sequence(*runtime);
    sequence.task({}, [] {});
    runtime.reset();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(SequenceFailures, ThatWereWaitedForAreNotPrinted) {
  testing::internal::CaptureStderr();
  {
    Sequence sequence(runtime_);
    int x = 0, y = 0, sum = 0;
    const Data of_x = sequence.data(x), of_y = sequence.data(y), of_sum = sequence.data(sum);
    const auto fails = [] { throw std::runtime_error("boom"); };
    const auto body = [&] {
      sequence.task({read_write(of_x)}, fails, {.worker = 0});
      sequence.task({read_write(of_y)}, fails, {.worker = 1});
    };
    const std::function<void()> ways[] = {
        [&] { body(); },
        [&] { sequence.loop(3, body); },
        [&] { sequence.trace(1, body), sequence.trace(1, body); },
        [&] { sequence.reduce(of_sum, sum, std::plus<>(), {}, [] { return throw std::runtime_error("boom"), 1; }); },
        [&] { sequence.loop(1, body), sequence.trace(2, body), body(); },
        [&] {
          sequence.async_task<int>({write(of_x)}, [](const Turn&, const Issue<int>&) { return 0; });  // drops it
        },
    };
    for (const auto& way : ways)
      for (const bool by_runtime : {false, true})
        for (int round = 0; round < 20; ++round) {
          std::string thrown;
          try {
            way();
            by_runtime ? runtime_.wait() : round % 2 == 0 ? sequence.wait() : sequence.wait(of_x);
            sequence.wait();
          } catch (const TaskFailed& error) {
            thrown = error.what();
          }
          EXPECT_FALSE(thrown.empty());
          try {
            sequence.wait();
          } catch (const TaskFailed& error) {
            ADD_FAILURE() << "twice: " << thrown << " and " << error.what();
          }
        }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace taskgrain::rt
