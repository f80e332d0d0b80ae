#include "taskgrain/rt/detail/sleep.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace taskgrain::rt::detail {

namespace {

bool register_barrier() noexcept {
// ThreadSanitizer knows nothing of membarrier; tests of the other way of doing it ask for that.
#if defined(__linux__) && !defined(__SANITIZE_THREAD__) && !defined(TASKGRAIN_SYMMETRIC_BARRIERS)
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

}  // namespace

const bool asymmetric_barriers = register_barrier();

bool heavy_barrier() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
#if defined(__linux__)
  // Refused where memory is short, or by a sandbox that came after the registration.
  if (asymmetric_barriers) return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
  return true;
}

bool Sleeper::wake_now() noexcept {
  if ((state_.fetch_and(~asleep, std::memory_order_acq_rel) & asleep) == 0) return false;
  state_.notify_one();
  return true;
}

}  // namespace taskgrain::rt::detail
