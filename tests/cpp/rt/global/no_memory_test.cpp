/// Global arrays and forks over ranks where an allocation of a rank fails: each of them, one after the other.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>

#include "allocations.hpp"
#include "rt/comm/ranks.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt.hpp"

namespace taskgrain::rt {
namespace {

/// Makes a call once more if there was no memory for it.
template <typename Call>
auto once_more(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return call();
  }
}

/// What the ranks compute, each in turn with elements of all.
void use(GlobalMemory& memory, const GlobalArray<int>& x, GlobalForks& forks,
         const GlobalFunction<int(std::size_t, std::size_t)>& sum) {
  for (int step = 0; step < 2; ++step) {
    if (step % memory.ranks() == memory.rank()) {
      once_more([&] { x.prefetch(0, 4); });
      once_more([&] { x.prefetch(10, 20); });
      EXPECT_EQ(once_more([&] { return x.read(12, 10)[3]; }), step);
      once_more([&] {
        for (int& one : x.read_write(0, 20)) ++one;
      });
      once_more([&] { std::ranges::fill(x.write(20, x.size() - 20), step + 1); });
      EXPECT_EQ(once_more([&] { return x.read(21, 1)[0]; }), step + 1);
    }
    memory.fence();
  }
  EXPECT_EQ(forks.run(sum, 0U, x.size()), 2 * static_cast<int>(x.size()));
}

/// All ranks know of what a call of rank 0 throws.
void fail(GlobalMemory& memory, GlobalForks& forks, const GlobalFunction<void()>& throws) {
  try {
    forks.run(throws);
    ADD_FAILURE() << "it throws";
  } catch (const std::domain_error&) {
    EXPECT_EQ(memory.rank(), 0);
  } catch (const ThrownElsewhere& thrown) {
    if (std::string(thrown.what()) != "rank 0: no such element in this array") throw;
  }
}

/// The call for which there is no memory throws, and can be made again, or all ranks end.
TEST(GlobalMemory, GoesOnOrEndsWithoutMemory) {
  auto& any = *static_cast<std::atomic<bool>*>(
      mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::int64_t apart = 10 / std::min<std::int64_t>(10, rounds(10));  // where there is less time, some of them
  std::int64_t number = 0;
  for (any = true; any.exchange(false); number += apart) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, "allocation " + std::to_string(number));
    for (const int refused : {0, 1})
      on_ranks(2, [&](int rank) {
        try {
          Communicator comm;
          Runtime runtime(with(comm));
          GlobalMemory memory(runtime, {.in_place = false});
          const GlobalArray<int> x(memory, 60, {3});
          GlobalForks forks(memory);
          const GlobalFunction<int(std::size_t, std::size_t)> sum = forks.function(
              [&](std::size_t first, std::size_t count) -> int {
                if (count <= 8) {
                  const auto part = x.read(first, count);
                  return std::accumulate(part.begin(), part.end(), 0);
                }
                auto left = sum.fork(first, count / 2);
                const int right = sum(first + count / 2, count - count / 2);
                return left.join() + right;
              },
              "sum");
          const GlobalFunction<void()> throws =
              forks.function([]() -> void { throw std::domain_error("no such element in this array"); }, "throws");
          memory.fence();
          if (rank == refused) refuse_allocation(number);
          use(memory, x, forks, sum);
          fail(memory, forks, throws);
        } catch (const std::bad_alloc&) {
          EXPECT_EQ(rank, refused);
        } catch (const ThrownElsewhere& thrown) {
          EXPECT_STREQ(thrown.what(), ("rank " + std::to_string(refused) + ": std::bad_alloc").c_str());
        } catch (const RankFailed&) {
        }
        if (rank == refused && has_refused_allocation()) any = true;
        refuse_allocation(-1);
      });
    if (HasFailure()) break;
  }
  EXPECT_GT(number, 30);
}

}  // namespace
}  // namespace taskgrain::rt
