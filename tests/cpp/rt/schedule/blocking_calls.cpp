/// The functions of libc by which threads wait. These come before libc's for the whole program, libstdc++ as well. In a
/// simulation they let another thread go on; outside they call libc's own.

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <memory>
#include <unordered_map>

#include "scheduler.hpp"

using namespace taskgrain::rt::simulated;

namespace {

template <typename Function>
Function* libc(Function*, const char* name) {
  return reinterpret_cast<Function*>(real(name));
}
/// Calls libc's function of this name.
#define LIBC(name, ...)                                \
  [&] {                                                \
    static const auto function = libc(&::name, #name); \
    return function(__VA_ARGS__);                      \
  }()

/// Who has locked a mutex; by whose turn it is.
std::unordered_map<const void*, const Thread*>& owners() {
  static std::unordered_map<const void*, const Thread*> made;
  return made;
}

void lock(Thread& me, const void* mutex) {
  point();
  while (owners().contains(mutex)) block("in a mutex", mutex);
  drain(me);
  owners()[mutex] = &me;
}
void unlock(Thread& me, const void* mutex) {
  drain(me);
  if (owners().erase(mutex) == 0) return;  // locked before the simulation
  wake(mutex, 1);
  point();
}

constexpr std::uint64_t second = 1'000'000'000;
std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * second + static_cast<std::uint64_t>(time.tv_nsec);
}

int wait(Thread& me, const void* condition, const void* mutex, std::uint64_t deadline) {
  drain(me);
  bool came = true;
  // Other threads may go on only after it waits. That it wakes for nothing is allowed.
  owners().erase(mutex);
  wake(mutex, 1);
  if (dice(64) == 0)
    point();
  else
    came = block("in a condition", condition, deadline);
  lock(me, mutex);
  return came ? 0 : ETIMEDOUT;
}

struct Start {
  Thread& thread;
  void* (*call)(void*);
  void* argument;
};

void* begin(void* what) {
  const std::unique_ptr<Start> start(static_cast<Start*>(what));
  begin_thread(start->thread);
  void* const result = start->call(start->argument);
  end_thread(start->thread);
  return result;
}

int wait_at(Thread& me, const std::uint32_t* at, std::uint32_t value, std::uint64_t deadline) {
  point();
  drain(me);
  if (__atomic_load_n(at, __ATOMIC_SEQ_CST) != value) {
    errno = EAGAIN;
    return -1;
  }
  if (dice(64) == 0) return 0;  // woken for nothing
  if (block("in a futex", at, deadline)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (Thread* const me = self()) return lock(*me, mutex), 0;
  return LIBC(pthread_mutex_lock, mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  Thread* const me = self();
  if (me == nullptr) return LIBC(pthread_mutex_trylock, mutex);
  point();
  if (owners().contains(mutex)) return EBUSY;
  lock(*me, mutex);
  return 0;
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (Thread* const me = self()) return unlock(*me, mutex), 0;
  return LIBC(pthread_mutex_unlock, mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (Thread* const me = self()) return wait(*me, condition, mutex, never);
  return LIBC(pthread_cond_wait, condition, mutex);
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  if (Thread* const me = self()) return wait(*me, condition, mutex, nanoseconds(*until));
  return LIBC(pthread_cond_timedwait, condition, mutex, until);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  if (Thread* const me = self()) return wait(*me, condition, mutex, nanoseconds(*until));
  return LIBC(pthread_cond_clockwait, condition, mutex, clock, until);
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (self() == nullptr) return LIBC(pthread_cond_signal, condition);
  point();
  wake(condition, 1);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (self() == nullptr) return LIBC(pthread_cond_broadcast, condition);
  point();
  wake(condition, INT_MAX);
  return 0;
}

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*call)(void*), void* argument) noexcept {
  if (self() == nullptr) return LIBC(pthread_create, handle, attributes, call, argument);
  drain(*self());
  Thread& thread = new_thread();
  const int result = LIBC(pthread_create, handle, attributes, begin, new Start{thread, call, argument});
  if (result != 0) fail("the system has no more threads");
  thread.handle = *handle;
  point();
  return 0;
}
int pthread_join(pthread_t handle, void** result) {
  if (self() != nullptr) {
    Thread& thread = thread_of(handle);
    drain(*self());
    while (!thread.done) block("in a join", &thread);
  }
  return LIBC(pthread_join, handle, result);
}

int sched_yield() noexcept {
  if (self() == nullptr) return LIBC(sched_yield);
  spin();
  return 0;
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (self() == nullptr) return LIBC(clock_gettime, clock, time);
  const std::uint64_t simulated = now();
  time->tv_sec = static_cast<time_t>(simulated / second);
  time->tv_nsec = static_cast<long>(simulated % second);
  return 0;
}
int nanosleep(const timespec* time, timespec* left) {
  if (self() == nullptr) return LIBC(nanosleep, time, left);
  block("asleep", nullptr, now() + nanoseconds(*time));
  return 0;
}

long syscall(long number, ...) noexcept {
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  Thread* const me = self();
  if (number == SYS_membarrier) {
    if (me == nullptr || arguments[0] != MEMBARRIER_CMD_PRIVATE_EXPEDITED) return 0;
    point();
    if (refuses_barrier()) {
      errno = EPERM;
      return -1;
    }
    drain_everybody();
    return 0;
  }
  if (number == SYS_futex && me != nullptr) {
    const auto* const at = reinterpret_cast<const std::uint32_t*>(arguments[0]);
    const int operation = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK;
    if (operation == FUTEX_WAKE) {
      point();
      drain(*me);
      wake(at, static_cast<int>(arguments[2]));
      return 0;
    }
    const auto* const time = reinterpret_cast<const timespec*>(arguments[3]);
    const std::uint64_t from = operation == FUTEX_WAIT ? now() : 0;  // FUTEX_WAIT_BITSET says until when
    return wait_at(*me, at, static_cast<std::uint32_t>(arguments[2]),
                   time == nullptr ? never : from + nanoseconds(*time));
  }
  static const auto call = reinterpret_cast<long (*)(long, ...)>(real("syscall"));
  return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
}

namespace taskgrain::rt::detail {
/// Instead of the processor's pause (pause.hpp).
void simulated_pause() noexcept;
void simulated_pause() noexcept {
  if (self() != nullptr) spin();
}
}  // namespace taskgrain::rt::detail
