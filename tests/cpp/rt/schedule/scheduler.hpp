#pragma once

/// Simulated schedules: the real code of the runtime, with one thread at a time, chosen by a random generator.
///
/// The runtime's sources and the test are compiled with -fsanitize=thread, but linked to functions of our own instead
/// of ThreadSanitizer (store_buffers.cpp). So each atomic operation calls us, and so does all that blocks
/// (blocking_calls.cpp defines the functions of libc that mutexes, condition variables, futexes and threads are made
/// of). Before each of these another thread may go on, or a thread may be held up for long. Stores wait in store
/// buffers, and leave them as late and as disordered as C++ allows (as in models/store_buffer.pml). Time is simulated,
/// too.
///
/// All of it follows from a seed: the same seed gives the same schedule. A run in which no thread can go on, or which
/// does not end, is printed with its seed, and ends the program.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace taskgrain::rt::simulated {

/// Runs `body(seed)`, and the threads that it starts and must join, for many seeds. From the seed follows all that is
/// random: the schedule, and how much the threads and their stores are delayed. In the environment TASKGRAIN_TEST_SEED
/// is the first one; TASKGRAIN_TEST_ROUNDS is a factor to their number, and above 1 also to the seconds after which no
/// other begins.
void for_seeds(const char* name, int number, const std::function<void(std::uint64_t seed)>& body);
/// Says that the run is wrong, and ends the program.
[[noreturn]] void fail(const std::string& why);
inline void check(bool right, const std::string& what) {
  if (!right) fail(what);
}

// -- for the functions that stand for those of libc and of ThreadSanitizer

inline constexpr std::uint64_t never = UINT64_MAX;

/// A store that its thread has executed and no other thread sees yet.
struct Store {
  std::uintptr_t at;
  unsigned bytes;
  std::uint64_t value;
  bool relaxed;
};

struct Thread {
  int number = 0;
  std::uint32_t turn = 0;  // futex: 1 if it is this thread's turn
  bool blocked = false, timed_out = false, done = false;
  const void* waits_on = nullptr;
  const char* waits_in = "";
  std::uint64_t deadline = never;   // of what it is blocked in
  std::uint64_t held_up_until = 0;  // a step
  std::int64_t priority = 0;
  unsigned long handle = 0;  // pthread_t
  std::uintptr_t stack_end = 0;
  std::vector<Store> stores;
};

/// This thread; null outside of simulations.
Thread* self() noexcept;
/// Another thread may go on first.
void point();
/// The thread looks again and again for what others do.
void spin();
/// Waits for wake(on). \returns false at the deadline
bool block(const char* where, const void* on, std::uint64_t deadline = never);
void wake(const void* on, int most);
/// A simulated time.
std::uint64_t now();
std::uint64_t dice(std::uint64_t below);
/// Whether the kernel refuses a barrier now.
bool refuses_barrier();
/// Lets all stores of a thread, or of all threads, become visible.
void drain(Thread& thread);
void drain_everybody();
/// Executes a store.
void store(Thread& thread, std::uintptr_t at, unsigned bytes, std::uint64_t value, bool relaxed);
/// Finds the newest store to this place among those of the thread. False if there is none.
bool own_store(const Thread& thread, std::uintptr_t at, unsigned bytes, std::uint64_t& value);
/// The thread touches memory other than by atomic operations.
void touch(Thread& thread, std::uintptr_t at, std::size_t bytes);
Thread& new_thread();
Thread& thread_of(unsigned long handle);
void begin_thread(Thread& thread);
void end_thread(Thread& thread);

/// libc's own function of this name.
void* real(const char* name);

}  // namespace taskgrain::rt::simulated
