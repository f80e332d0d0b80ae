/// A run in parts, as processes have them: what they say together, and the request that each part is made from.

#include "process_books.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "request.hpp"
#include "specs.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

const GraphSpec graph{
    .pattern = "no_comm", .steps = 3, .width = 4, .kernel = {.name = "compute_bound", .iterations = 5}};

Execution whole(Validation validation = Validation::full) { return {{graph}, validation, Isa::automatic}; }

/// What a process says that executes the tasks of some points.
ProcessBooks books_of(std::vector<std::int64_t> points, Validation validation = Validation::full) {
  Execution part = whole(validation);
  part.distribute();
  for (const std::int64_t point : points) {
    std::vector<std::byte> before(16), output(16);
    for (std::int64_t step = 0; step < graph.steps; ++step) {
      const std::byte* const input = before.data();
      part.execute_point(part.context(0), 0, step, point, output.data(), std::span(&input, step == 0 ? 0 : 1));
      std::swap(before, output);
    }
  }
  return ProcessBooks::from(ProcessBooks::of(part).bytes());
}

ProcessBooks sum(const ProcessBooks& one, const ProcessBooks& two) {
  ProcessBooks all = ProcessBooks::of(whole());
  all.add(one);
  all.add(two);
  return all;
}

TEST(ProcessBooks, OfAllPartsAreThoseOfTheRun) {
  const ProcessBooks all = sum(books_of({0, 3}), books_of({1, 2}));
  EXPECT_EQ(all.accounts.executed, 12);
  EXPECT_EQ(all.accounts.dependencies, 8);
  EXPECT_EQ(all.accounts.flops, 12 * 5 * 128);
  EXPECT_EQ(all.accounts.work, all.accounts.flops);
  EXPECT_GT(all.peak_rss_bytes, 0);
  EXPECT_FALSE(all.verify(whole()));
}

TEST(ProcessBooks, TellWhatWasExecutedInTwoPartsOrInNone) {
  const auto repeated = sum(books_of({0, 1}), books_of({1, 2, 3})).verify(whole());
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->kind, ViolationKind::repeated);
  EXPECT_EQ(repeated->point, 1);
  const auto skipped = sum(books_of({0, 1}), books_of({3})).verify(whole());
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->kind, ViolationKind::skipped);
  EXPECT_EQ(skipped->point, 2);
}

TEST(ProcessBooks, CountWhereNothingIsChecked) {
  ProcessBooks all = books_of({0, 1}, Validation::off);
  all.add(books_of({2}, Validation::off));
  const Execution run = whole(Validation::off);
  ASSERT_TRUE(all.verify(run));
  all.add(books_of({3}, Validation::off));
  EXPECT_FALSE(all.verify(run));
}

TEST(ProcessBooks, KeepTheFirstViolationAndFailure) {
  Execution part = whole();
  std::vector<std::byte> output(16);
  part.execute_point(part.context(0), 0, 1, 2, output.data(), {});
  ProcessBooks all = sum(books_of({0, 1}), ProcessBooks::from(ProcessBooks::of(part).bytes()));
  const auto violation = all.verify(whole());
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->kind, ViolationKind::missing_input);
  EXPECT_EQ(violation->step, 1);
  EXPECT_EQ(violation->point, 2);
  part.book_failure(part.context(0), std::make_exception_ptr(std::runtime_error("no disk")));
  all.add(ProcessBooks::of(part));
  EXPECT_THAT([&] { all.verify(whole()); }, testing::ThrowsMessage<std::runtime_error>("no disk"));
}

TEST(ProcessBooks, KeepTheViolationOfTheEarliestStepOfAnyProcess) {
  Execution late = whole(), early = whole();
  std::vector<std::byte> output(16);
  late.execute_point(late.context(0), 0, 2, 1, output.data(), {});
  early.execute_point(early.context(0), 0, 1, 3, output.data(), {});
  for (const auto& [one, other] : {std::pair{&late, &early}, {&early, &late}})
    EXPECT_EQ(sum(ProcessBooks::of(*one), ProcessBooks::of(*other)).verify(whole())->step, 1);
}

TEST(ProcessBooks, OfAnotherRequestAreRefused) {
  ProcessBooks all = books_of({0});
  EXPECT_THROW(all.add(books_of({1}, Validation::off)), InvalidSpec);
}

TEST(RequestOf, MakesTheSameGraphsAgain) {
  std::vector<GraphSpec> all{graph};
  for (const std::string_view pattern : pattern_names()) {
    all.push_back(specs(pattern).back());
    all.back().output_bytes = 48;
    all.back().kernel = {.name = "load_imbalance", .iterations = 7, .imbalance = 0.3, .persistent = true};
  }
  const Fault fault{
      .kind = "fail", .graph = 0, .step = 1, .point = 2, .times = 3, .file = (test_folder() / "books").string()};
  const Execution run(all, Validation::full, Isa::portable, fault);
  const RunRequest again = run_request(nlohmann::json::parse(request_of(run).dump()));
  EXPECT_EQ(again.validation, Validation::full);
  EXPECT_EQ(again.isa, Isa::portable);
  ASSERT_TRUE(again.fault);
  EXPECT_EQ(again.fault->file, fault.file);
  EXPECT_EQ(again.fault->times, 3);
  const Execution made(again.graphs, again.validation, again.isa, again.fault);
  EXPECT_EQ(request_of(made), request_of(run));
  EXPECT_EQ(made.tasks(), run.tasks());
}

}  // namespace
}  // namespace taskgrain
