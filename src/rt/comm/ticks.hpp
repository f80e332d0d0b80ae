#pragma once

#include <chrono>
#include <cstdint>

namespace taskgrain::rt::detail {

/// A clock of unknown unit that costs a few nanoseconds, for ratios of durations.
inline std::int64_t ticks() noexcept {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  std::int64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

}  // namespace taskgrain::rt::detail
