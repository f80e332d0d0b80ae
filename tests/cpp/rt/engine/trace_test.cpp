/// Traces: what they hold, whatever tasks are called, and that there is none unless one was asked for.

#include "taskgrain/rt/detail/trace.hpp"

#include <gmock/gmock.h>

#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <locale>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt::detail {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

/// A file that is gone after the test.
class TraceFile {
 public:
  TraceFile()
      : path_(std::filesystem::temp_directory_path() / ("taskgrain-trace-" + std::to_string(getpid()) + ".json")) {}
  ~TraceFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }
  json read() const {
    std::ifstream in(path_);
    return json::parse(in);
  }

 private:
  std::filesystem::path path_;
};

/// The name of a task as it comes out of a file.
std::string read_back(const std::string& name) {
  const TraceFile file;
  Trace trace(1);
  const auto now = TraceLane::Clock::now();
  trace.lane(0).record(name, now, now + microseconds(2));
  trace.write(file.path());
  return file.read()["traceEvents"][1]["name"];
}

TEST(Trace, OfNothingIsAFile) {
  const TraceFile file;
  Trace(2).write(file.path());
  const json events = file.read()["traceEvents"];
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1],
            json::parse(R"({"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "worker 1"}})"));
}

TEST(Trace, HasTasksInMicroseconds) {
  const TraceFile file;
  Trace trace(1);
  const auto now = TraceLane::Clock::now();
  trace.lane(0).record("a 1", now, now + microseconds(5));
  trace.lane(0).record("a 2", now + microseconds(7) + std::chrono::nanoseconds(250), now + microseconds(8));
  trace.write(file.path());
  const json events = file.read()["traceEvents"];
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1]["ph"], "X");
  EXPECT_EQ(events[1]["name"], "a 1");
  EXPECT_NEAR(events[1]["dur"].get<double>(), 5, 1e-6);
  EXPECT_NEAR(events[2]["dur"].get<double>(), 0.75, 1e-6);
  EXPECT_NEAR(events[2]["ts"].get<double>() - events[1]["ts"].get<double>(), 7.25, 1e-6);
}

TEST(Trace, QuotesWhateverTasksAreCalled) {
  for (const std::string name : {"", "plain", "\"quoted\" \\ back", "two\nlines\ttab", "\x01\x1f\x7f", "größer → ∎ 🙂"})
    EXPECT_EQ(read_back(name), name);
  EXPECT_EQ(read_back(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Trace, ShowsBytesThatAreNoTextAsUnknownCharacters) {
  EXPECT_EQ(read_back("a\xff z"), "a\uFFFD z");
  EXPECT_EQ(read_back("cut off \xe2\x82"), "cut off \uFFFD\uFFFD");
  EXPECT_EQ(read_back("\x80\xc0\xaf\xed\xa0\x80\xf5"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD")
      << "too long, surrogate, too large";
}

TEST(Trace, HasPointsInItsNumbersWhereverTheUserLives) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  EXPECT_EQ(read_back("a"), "a");
  std::locale::global(before);
}

TEST(Trace, OfARunHasEachTaskOnceAndNoTwoOfAWorkerAtOnce) {
  const TraceFile file;
  constexpr int tasks = 2000;
  {
    Runtime runtime({.workers = 3, .trace = file.path()});
    Taskflow<int> flow(runtime, "step");
    flow.indegree([](int) { return 1; }).run([&](int k) {
      for (int next = 2 * k; next <= 2 * k + 1; ++next)
        if (next < tasks) flow.fulfill(next);
    });
    flow.fulfill(1);
    runtime.wait();
    runtime.join();
    runtime.start();
    flow.fulfill(tasks);
  }
  std::set<std::string> names;
  std::map<int, double> ends;
  const json trace = file.read();
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_TRUE(names.insert(event["name"]).second) << event["name"];
    const int worker = event["tid"];
    const double begin = event["ts"];
    EXPECT_GE(begin + 1e-6, ends[worker]);
    EXPECT_GE(event["dur"].get<double>(), 0);
    ends[worker] = begin + event["dur"].get<double>();
    EXPECT_LT(worker, 3);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(tasks));
  EXPECT_TRUE(names.contains("step 1999"));
  EXPECT_TRUE(names.contains("step 2000"));
}

TEST(Trace, IsOffUnlessAskedFor) {
  Runtime runtime({.workers = 1});
  Taskflow<int> flow(runtime);
  bool traced = true;
  flow.run([&](int) { traced = Worker::current()->trace() != nullptr; }).indegree([](int) { return 0; });
  flow.fulfill(1);
  runtime.wait();
  EXPECT_FALSE(traced);
}

TEST(Trace, ThatCannotBeWrittenIsAnErrorBeforeAnythingRuns) {
  EXPECT_THAT([] { Runtime runtime({.workers = 1, .trace = "/no/such/folder/trace.json"}); },
              testing::ThrowsMessage<std::system_error>(testing::HasSubstr("/no/such/folder/trace.json")));
}

TEST(Trace, OfARuntimeIsNotWrittenByAnother) {
  const TraceFile file;
  const auto another = [&] { const Runtime runtime({.workers = 1, .trace = file.path()}); };
  {
    const Runtime runtime({.workers = 1, .trace = file.path()});
    EXPECT_THAT(another, testing::ThrowsMessage<UsageError>(testing::HasSubstr(file.path())));
  }
  EXPECT_NO_THROW(another()) << "it has ended";
}

TEST(Trace, HasTheTimeThatATaskDoesNotCount) {
  const TraceFile file;
  Trace trace(1);
  TraceLane& lane = trace.lane(0);
  const TracedTask task{trace.add()};
  const auto away = [&] {
    const TraceLane::Away outer(&lane);
    EXPECT_EQ(lane.running().number, 0U);
    const TraceLane::Away inner(&lane);
    for (const auto begin = TraceLane::Clock::now(); TraceLane::Clock::now() < begin + microseconds(2);) {
    }
  };
  lane.run("stays", task, [&] { lane.run("goes", {trace.add()}, away); });
  lane.run("none", {}, away);
  trace.write(file.path());
  std::map<std::string, json> spans;
  const json events = file.read()["traceEvents"];
  for (const json& event : events) spans[event["name"]] = event;
  EXPECT_GE(spans["goes"]["args"]["away"], 2);
  EXPECT_LE(spans["goes"]["args"]["away"], spans["goes"]["dur"]);
  EXPECT_FALSE(spans["stays"]["args"].contains("away"));
  EXPECT_FALSE(spans["none"].contains("args"));
}

TEST(Trace, ThatCannotBeWrittenInTheEndIsSaid) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("trace_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  testing::internal::CaptureStderr();
  {
    const Runtime runtime({.workers = 1, .trace = folder / "trace.json"});
    std::filesystem::remove_all(folder);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr((folder / "trace.json").string()));
}

}  // namespace
}  // namespace taskgrain::rt::detail
