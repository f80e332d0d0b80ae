/// Messengers of several ranks over a simulated transport: what each of them promises, whatever comes when.

#include "comm/messenger.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rt/comm/simulated_messengers.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {
namespace {

// Its body need not be there any more.
TEST(Messenger, TakesNothingFromItselfAfterAFailure) {
  constexpr std::size_t bytes = 4096;
  void* const body = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(body, MAP_FAILED);
  int calls = 0;
  std::vector<std::byte> to(bytes);
  detail::Messenger messenger(nullptr, {});
  const auto count = [&](Reader&) { ++calls; };
  const auto place = [&](Reader&, std::size_t) { return ++calls, to.data(); };
  const detail::MessageKind& kind = messenger.add({"large", "", {}, place, count, count});
  messenger.progress_engine().open();
  Writer head;
  kind.begin(head);
  messenger.send_large(0, kind, head, {static_cast<const std::byte*>(body), bytes});
  messenger.progress_engine().fail("it fails");
  messenger.progress_engine().settle();
  munmap(body, bytes);
  messenger.progress_engine().poll();
  EXPECT_EQ(calls, 0);
}

TEST(SimulatedMessengers, ProcessEachMessageOnceAndEndOrFailTogether) {
  std::int64_t failed = 0;
  for (const std::uint64_t seed : seeds(4000)) {
    const SimulatedRun run = run_messengers(seed);
    ASSERT_EQ(run.violation, "") << "seed " << seed;
    failed += run.failed ? 1 : 0;
  }
  EXPECT_TRUE(failed > 0 || rounds(4000) < 100);
}

TEST(SimulatedMessengers, AreRanksOfATreeOfThreeLevels) {
  for (const std::uint64_t seed : seeds(100))
    ASSERT_EQ(run_messengers(seed, {.most_ranks = 24}).violation, "") << "seed " << seed;
}

}  // namespace
}  // namespace taskgrain::rt
