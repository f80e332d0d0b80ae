#pragma once

/// How freely a core issues instructions: code that floating point alone does not bound feels a neighbour on the same
/// physical core (another hardware thread, or another guest of the host) long before the kernel does, and no counter of
/// the system shows it.

#include <chrono>
#include <cstdint>

namespace taskgrain {

/// Rounds per second of eight independent chains of integer operations, over about `seconds`.
inline double issue_rate(double seconds) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const auto start = Clock::now();
  double elapsed = 0;
  std::int64_t rounds = 0;
  do {
    for (int k = 0; k < 10'000; ++k) {
      a += b ^ 1, b += 3, c += d ^ 1, d += 3, e += f ^ 1, f += 3, g += h ^ 1, h += 3;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    }
    rounds += 10'000;
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (elapsed < seconds);
  return static_cast<double>(rounds) / elapsed;
}

}  // namespace taskgrain
