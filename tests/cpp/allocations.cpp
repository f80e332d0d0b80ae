#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

thread_local std::int64_t count = 0;
thread_local bool refuse = false;
std::atomic<std::int64_t> before_refused{-1};  // allocations of any thread; negative: it has come, or there is none

bool refuses() noexcept {
  ++count;
  if (before_refused.load(std::memory_order_relaxed) >= 0 && before_refused.fetch_sub(1) == 0) return true;
  return std::exchange(refuse, false);
}

/// Null if there is no memory.
void* allocate(std::size_t bytes) noexcept { return refuses() ? nullptr : std::malloc(bytes > 0 ? bytes : 1); }

}  // namespace

namespace taskgrain {

std::int64_t allocations() noexcept { return count; }
void refuse_next_allocation() noexcept { refuse = true; }
void refuse_allocation(std::int64_t after) noexcept { before_refused = after; }
bool has_refused_allocation() noexcept { return before_refused < 0; }

}  // namespace taskgrain

// The array and nothrow forms of the standard library come down to these. Those of AddressSanitizer do not, and what
// its nothrow new gives must not come to free.
void* operator new(std::size_t bytes) {
  if (void* memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  if (!refuses())
    if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#if defined(__SANITIZE_ADDRESS__)
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
#endif
