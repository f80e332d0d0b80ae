/// Divide and conquer: a task splits what it has to do, and does not wait for the parts. What comes after them is a
/// task of its own, which the parts fulfill. Here, the sum of 1, …, n by halves.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

constexpr std::int64_t n = 100'000, small = 1000;

/// A part, and its place in the tree: the halves of part k are 2k and 2k + 1, so each knows to whom it belongs.
struct Part {
  std::uint64_t k;
  std::int64_t first, last;
};

int main() {
  std::vector<std::int64_t> sums(512);  // by part
  rt::Runtime runtime;
  rt::Taskflow<Part> split(runtime, "split");
  rt::Taskflow<std::uint64_t> join(runtime, "join");

  const auto done = [&](std::uint64_t k) {
    if (k > 1) join.fulfill(k / 2);
  };
  split.indegree([](const Part&) { return 1; }).run([&](const Part& part) {
    if (part.last - part.first > small) {
      const std::int64_t middle = (part.first + part.last) / 2;
      split.fulfill({2 * part.k, part.first, middle});
      split.fulfill({2 * part.k + 1, middle, part.last});
    } else {
      for (std::int64_t i = part.first; i < part.last; ++i) sums[part.k] += i + 1;
      done(part.k);
    }
  });
  join.indegree([](std::uint64_t) { return 2; }).run([&](std::uint64_t k) {
    sums[k] = sums[2 * k] + sums[2 * k + 1];
    done(k);
  });

  split.fulfill({1, 0, n});
  runtime.wait();
  std::printf("1 + … + %lld = %lld\n", static_cast<long long>(n), static_cast<long long>(sums[1]));
  return sums[1] == n * (n + 1) / 2 ? 0 : 1;
}
