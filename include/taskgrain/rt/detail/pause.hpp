#pragma once

/// The pause instruction for spinning, and the distance between data of different cores.

#include <cstddef>
#include <new>

namespace taskgrain::rt::detail {

/// Fields of different writers are this far apart: x86 fetches cache lines in pairs, some ARM cores have lines of 128
/// bytes.
inline constexpr std::size_t apart = 128;

/// Memory of one writer that shares no line with another's.
template <typename T>
struct ApartAllocator {
  using value_type = T;
  ApartAllocator() = default;
  template <typename U>
  explicit(false) ApartAllocator(const ApartAllocator<U>&) noexcept {}  // NOLINT: as the standard wants

  T* allocate(std::size_t number) {
    return static_cast<T*>(::operator new((number * sizeof(T) + apart - 1) / apart * apart, std::align_val_t(apart)));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, std::align_val_t(apart)); }
  friend bool operator==(ApartAllocator, ApartAllocator) noexcept { return true; }
};

#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
void simulated_pause() noexcept;  // lets another thread go on (tests/cpp/rt/schedule)
#endif

inline void pause() noexcept {
#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
  simulated_pause();
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Lets a cache line come that this thread writes soon. GCC's own instruction for that is one for reading, unless all
/// of a program is compiled for processors of 2014 and later; older ones ignore this one.
inline void prefetch_to_write(std::byte* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace taskgrain::rt::detail
