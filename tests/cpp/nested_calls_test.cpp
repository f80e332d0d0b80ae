/// Programs that call themselves execute the tasks of their graphs.

#include "taskgrain/nested_calls.hpp"

#include <gmock/gmock.h>

#include "specs.hpp"

namespace taskgrain {
namespace {

class Nested : public EveryPattern {};
INSTANTIATE_TEST_SUITE_P(All, Nested, testing::ValuesIn(pattern_names()), name_of_pattern);

/// Calls the children in an order that a system may choose: whole subtrees, one after the other.
void call(const NestedCalls& calls, ThreadContext& context, NestedCalls::Call one, bool backwards) {
  calls.begin(context, one);
  const Interval children = calls.children(one);
  for (std::int64_t k = children.first; k <= children.last; ++k) {
    const std::int64_t number = backwards ? children.first + children.last - k : k;
    call(calls, context, NestedCalls::child(one, number), backwards);
  }
  calls.end(context, one);
}

TEST_P(Nested, CallsExecuteEachTaskAfterWhatItReads) {
  for_graphs(GetParam(), [](const Graph& graph) {
    Execution run({graph.spec()}, Validation::full, Isa::automatic);
    if (run.graphs()[0].fork_depth() < 0) {
      EXPECT_THROW(NestedCalls(run, 0), Unsupported);
      return;
    }
    const NestedCalls calls(run, 0);
    for (const bool backwards : {false, true}) {
      for (std::int64_t n = 0; n < calls.periods(); ++n) call(calls, run.context(0), calls.root(n), backwards);
      const auto wrong = run.verify();
      ASSERT_FALSE(wrong) << wrong->text();
      run.clear();
    }
  });
}

/// A call before its caller reads no task's output.
TEST(NestedCalls, OutOfOrderAreFound) {
  Execution run({{.pattern = "fork_tree", .steps = 7, .width = 8, .radix = 2}}, Validation::full, Isa::automatic);
  const NestedCalls calls(run, 0);
  const NestedCalls::Call root{0, 0, 0};
  calls.begin(run.context(0), NestedCalls::child(root, calls.children(root).first));
  EXPECT_TRUE(run.verify());
}

}  // namespace
}  // namespace taskgrain
