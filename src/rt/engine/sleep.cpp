#include "taskgrain/rt/detail/sleep.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <mutex>

namespace taskgrain::rt::detail {

namespace {

constexpr auto second = std::chrono::nanoseconds(std::chrono::seconds(1)).count();

bool registered() noexcept {
// Without membarrier: ThreadSanitizer does not know it, and tests define the macro to check the symmetric barriers.
#if !defined(__SANITIZE_THREAD__) && !defined(TASKGRAIN_SYMMETRIC_BARRIERS)
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
  return false;
#endif
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* time) noexcept {
  static_assert(sizeof word == sizeof value && std::atomic<std::uint32_t>::is_always_lock_free);
  return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, time, nullptr, 0);
}

}  // namespace

bool asymmetric_barriers = false;

void register_barriers() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { asymmetric_barriers = registered(); });
}

namespace {

// Also before main, because some sleepers belong to no runtime. A runtime in another static may come first: it calls
// register_barriers, too.
[[maybe_unused]] const bool before_main = (register_barriers(), true);

}  // namespace

bool heavy_barrier() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // The kernel refuses it if it has no memory; a sandbox may, if it was entered after the registration.
  return !asymmetric_barriers || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void ring(std::atomic<std::uint32_t>& doorbell) noexcept {
  // Dekker: a sleeper stores 1 to the doorbell and then checks for work; here work has been published, then a full
  // fence, then the load of the doorbell. While nobody sleeps, the line of the doorbell is shared by all caches.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (doorbell.load(std::memory_order_relaxed) == 0 || doorbell.exchange(0) == 0) return;
  // Not FUTEX_PRIVATE_FLAG: other processes sleep on it.
  syscall(SYS_futex, &doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Sleeper::wake_now() noexcept {
  if ((state_.fetch_and(~asleep, std::memory_order_acq_rel) & asleep) == 0) return false;
  futex(state_, FUTEX_WAKE, 1, nullptr);
  return true;
}

void Sleeper::block(std::uint32_t as, std::chrono::nanoseconds most) noexcept {
  const timespec time{.tv_sec = most.count() / second, .tv_nsec = most.count() % second};
  futex(state_, FUTEX_WAIT, as, most == for_ever ? nullptr : &time);
}

void Sleeper::block(std::uint32_t as, std::chrono::nanoseconds most, std::atomic<std::uint32_t>& doorbell) noexcept {
  // If the kernel cannot wait on two words (before Linux 5.16, or in a sandbox), wake up every millisecond to check the
  // doorbell.
  constexpr std::chrono::nanoseconds poll_every = std::chrono::milliseconds(1);
#if defined(SYS_futex_waitv)
  const auto word = [](std::atomic<std::uint32_t>& of, std::uint32_t value, std::uint32_t flags) {
    return futex_waitv{value, reinterpret_cast<std::uintptr_t>(&of), FUTEX_32 | flags, 0};
  };
  futex_waitv words[] = {word(state_, as, FUTEX_PRIVATE_FLAG), word(doorbell, 1, 0)};
  timespec until{};
  if (most != for_ever) {
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (most.count() + until.tv_nsec) / second;
    until.tv_nsec = (most.count() + until.tv_nsec) % second;
  }
  const long got = syscall(SYS_futex_waitv, words, 2, 0, most == for_ever ? nullptr : &until, CLOCK_MONOTONIC);
  if (got >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL)) return;
#endif
  block(as, std::min(most, poll_every));
}

}  // namespace taskgrain::rt::detail
