#pragma once

/// What a core does while it spins, and the sizes that keep cores apart.

#include <cstddef>

namespace taskgrain::rt {

/// Fields of different writers are this far apart: x86 fetches cache lines in pairs, some ARM cores have lines of 128 bytes.
inline constexpr std::size_t apart = 128;

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace taskgrain::rt
