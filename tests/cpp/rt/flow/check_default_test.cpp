/// RuntimeOptions::check where nobody sets it: compiled twice, with NDEBUG and without.

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace taskgrain::rt
