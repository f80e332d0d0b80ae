/// RuntimeOptions::check where nobody sets it: compiled twice, with NDEBUG and without.

#include <gmock/gmock.h>

#include <array>
#include <atomic>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

#ifdef NDEBUG
constexpr bool debug = false;
#else
constexpr bool debug = true;
#endif

TEST(CheckByDefault, IsOnInProgramsForDebuggingAlone) {
  EXPECT_EQ(RuntimeOptions().check, debug);
  EXPECT_EQ(Runtime().options().check, debug);
  EXPECT_EQ(Runtime({.workers = 1}).options().check, debug);
  RuntimeOptions options;
  EXPECT_EQ(options.check, debug);
  for (const bool check : {false, true}) EXPECT_EQ(Runtime({.workers = 1, .check = check}).options().check, check);
}

TEST(CheckByDefault, FindsAnIndegreeThatIsTooLow) {
  using Key = std::array<int, 2>;
  constexpr int side = 6;
  for (const int workers : {1, 2}) {
    Runtime runtime({.workers = workers, .pin = false});
    Taskflow<Key> flow(runtime, "wavefront");
    std::atomic<int> ran{0};
    flow.indegree([](Key) { return 1; });  // two, but on the edges
    flow.run([&](Key key) {
      ++ran;
      if (key[0] + 1 < side) flow.fulfill({key[0] + 1, key[1]});
      if (key[1] + 1 < side) flow.fulfill({key[0], key[1] + 1});
    });
    flow.fulfill({0, 0});
    if (debug) {
      EXPECT_THAT([&] { runtime.wait(); },
                  testing::ThrowsMessage<TaskFailed>(testing::ContainsRegex(
                      "wavefront \\(., .\\) was fulfilled more often than its indegree, which is 1")));
      EXPECT_LE(ran, side * side);
    } else {
      runtime.wait();
      EXPECT_EQ(ran, 923);  // every path to every task
    }
  }
}

}  // namespace
}  // namespace taskgrain::rt
