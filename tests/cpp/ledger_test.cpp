/// The ledger by itself: which tasks it holds to be done, exactly or by column.

#include <gmock/gmock.h>

#include "taskgrain/error.hpp"
#include "taskgrain/execution.hpp"

namespace taskgrain {
namespace {

using testing::Each;

TEST(Ledger, KnowsEachTaskOfAGraphThatFits) {
  const Graph graph({.pattern = "stencil_1d", .steps = 5, .width = 3});
  Ledger ledger(graph);
  EXPECT_TRUE(ledger.exact());
  EXPECT_FALSE(ledger.marked(4, 2));
  EXPECT_TRUE(ledger.mark(4, 2));
  EXPECT_TRUE(ledger.marked(4, 2));
  EXPECT_FALSE(ledger.marked(2, 2));
  EXPECT_FALSE(ledger.mark(4, 2)) << "marked twice";
}

TEST(Ledger, AWidthThatNoMemoryHoldsIsUnsupported) {
  const Graph graph({.pattern = "trivial", .steps = 2, .width = std::int64_t{1} << 61});
  EXPECT_THAT(
      [&] { Ledger ledger(graph); },
      testing::ThrowsMessage<Unsupported>(testing::HasSubstr("width: 2305843009213693952 points take more memory")));
}

TEST(Ledger, CountsAreByPointAndThenStep) {
  Ledger ledger(Graph({.pattern = "stencil_1d", .steps = 3, .width = 2}));
  ledger.mark(1, 0);
  ledger.mark(0, 1);
  EXPECT_THAT(ledger.counts(), testing::ElementsAre(0, 1, 0, 1, 0, 0));
}

/// Marks are bytes, which run over.
TEST(Ledger, ForgetsWhatWasMarkedHoweverOftenItIsCleared) {
  Ledger ledger(Graph({.pattern = "stencil_1d", .steps = 3, .width = 2}));
  ledger.mark(1, 1);
  for (int cleared = 1; cleared <= 600; ++cleared) {
    ledger.clear();
    ASSERT_FALSE(ledger.marked(1, 1)) << "cleared " << cleared << " times";
    ASSERT_TRUE(ledger.mark(2, 0));
  }
}

TEST(Ledger, FindsTheFirstTaskThatDidNotRunOnceInAllProcesses) {
  const Graph graph({.pattern = "stencil_1d", .steps = 4, .width = 3}, 1);
  const Ledger ledger(graph);
  std::vector<std::uint32_t> sums(12, 1);
  EXPECT_FALSE(ledger.compare(graph, sums));
  sums[2 * 4 + 3] = 2;  // (3, 2)
  auto violation = ledger.compare(graph, sums);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->text(), "repeated: graph 1, step 3, point 2");
  sums[1 * 4 + 2] = 0;  // (2, 1)
  violation = ledger.compare(graph, sums);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->text(), "skipped: graph 1, step 2, point 1");
}

TEST(Ledger, KnowsTheLargestGraphThatFits) {
  const Graph graph({.pattern = "trivial", .steps = Ledger::most_marks / 1000, .width = 1000});
  Ledger ledger(graph);
  EXPECT_TRUE(ledger.exact());
  EXPECT_TRUE(ledger.mark(graph.steps() - 1, 999));
  EXPECT_FALSE(ledger.mark(graph.steps() - 1, 999));
  EXPECT_FALSE(ledger.marked(0, 999));
}

/// Of more than 2^28 tasks.
class LedgerOfColumns : public testing::Test {
 protected:
  static constexpr std::int64_t steps = 1'000'000'000, width = 3;
  const Graph graph{{.pattern = "stencil_1d", .steps = steps, .width = width}, 2};
  Ledger ledger{graph};
};

TEST_F(LedgerOfColumns, CountsHowOftenAColumnRan) {
  EXPECT_FALSE(ledger.exact());
  ledger.mark(0, 1);
  ledger.mark(999'999'999, 1);
  ledger.mark(5, 2);
  EXPECT_THAT(ledger.counts(), testing::ElementsAre(0, 2, 1));
}

TEST_F(LedgerOfColumns, TakesATaskForDoneThatItDoesNotKnow) {
  EXPECT_TRUE(ledger.marked(7, 1));
  EXPECT_TRUE(ledger.mark(7, 1));
  EXPECT_TRUE(ledger.mark(7, 1));
}

TEST_F(LedgerOfColumns, ForgetsAllWhenCleared) {
  ledger.mark(0, 1);
  ledger.clear();
  EXPECT_THAT(ledger.counts(), Each(0));
}

/// The same by a graph as small as it may be, because the tasks due are counted step by step.
TEST(LedgerOfRaggedColumns, KnowsWhatIsDueAndNamesThePointThatIsWrong) {
  constexpr std::int64_t width = 1 << 20, steps = 260;
  const Graph graph({.pattern = "fork_join", .steps = steps, .width = width}, 2);
  const Ledger ledger(graph);
  ASSERT_FALSE(ledger.exact());
  std::vector<std::uint32_t> counts(width, steps / 2);
  counts[0] = steps;
  EXPECT_FALSE(ledger.compare(graph, counts));
  counts[77] -= 1;
  EXPECT_EQ(ledger.compare(graph, counts).value().text(), "skipped: graph 2, step unknown, point 77");
  counts[5] += 1;
  EXPECT_EQ(ledger.compare(graph, counts).value().text(), "repeated: graph 2, step unknown, point 5");
}

}  // namespace
}  // namespace taskgrain
