#include "scheduler.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace taskgrain::rt {
std::vector<std::vector<int>> usable_cores();  // taskgrain/rt/cores.hpp
namespace detail {
extern bool asymmetric_barriers;  // sleep.hpp
}
}  // namespace taskgrain::rt

namespace taskgrain::rt::simulated {

namespace {

constexpr std::uint64_t most_steps = 3'000'000, most_time = 60'000'000'000;
constexpr std::size_t most_stores = 8;

/// What is random about a whole run.
struct Manner {
  bool by_priority;             // the thread of the highest priority runs, as in PCT (Burckhardt et al. 2010); else any
  std::uint64_t switch_one_in;  // steps: another thread goes on
  std::uint64_t hold_up_one_in;   // steps: the thread is held up
  std::uint64_t longest_hold_up;  // steps
  bool buffers;                   // stores wait
  bool in_order;                  // and leave in their order, as on x86
  std::uint64_t drain_one_in;     // steps: a store becomes visible
  std::uint64_t refuse_one_in;    // heavy barriers; 0: none
};

struct World {
  explicit World(std::uint64_t s) : seed(s), random(s) {}
  std::uint64_t seed;
  std::mt19937_64 random;
  Manner manner{};
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Thread*> ready;  // of one choice
  std::uint64_t steps = 0, time = 1'000'000'000;
  std::int64_t lowest = 0;
};

World* world = nullptr;  // by who has its turn
constinit thread_local Thread* current = nullptr;
std::uint64_t seed_now = 0;
const char* name_now = "";
std::uint64_t all_steps = 0;

long futex(std::uint32_t* at, int operation, std::uint32_t value) {
  static const auto call = reinterpret_cast<long (*)(long, ...)>(real("syscall"));
  return call(SYS_futex, at, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}
void await_turn(Thread& thread) {
  while (__atomic_load_n(&thread.turn, __ATOMIC_ACQUIRE) == 0) futex(&thread.turn, FUTEX_WAIT, 0);
  __atomic_store_n(&thread.turn, 0, __ATOMIC_RELAXED);
}
void give_turn(Thread& thread) {
  __atomic_store_n(&thread.turn, 1, __ATOMIC_RELEASE);
  futex(&thread.turn, FUTEX_WAKE, 1);
}

bool one_in(std::uint64_t number) { return number != 0 && dice(number) == 0; }

void write(const Store& store) {
  void* const at = reinterpret_cast<void*>(store.at);
  switch (store.bytes) {
    case 1:
      __atomic_store_n(static_cast<std::uint8_t*>(at), static_cast<std::uint8_t>(store.value), __ATOMIC_SEQ_CST);
      break;
    case 2:
      __atomic_store_n(static_cast<std::uint16_t*>(at), static_cast<std::uint16_t>(store.value), __ATOMIC_SEQ_CST);
      break;
    case 4:
      __atomic_store_n(static_cast<std::uint32_t*>(at), static_cast<std::uint32_t>(store.value), __ATOMIC_SEQ_CST);
      break;
    default:
      __atomic_store_n(static_cast<std::uint64_t*>(at), store.value, __ATOMIC_SEQ_CST);
  }
}

/// Lets one store that may do so become visible: the oldest, or a relaxed one that is the oldest to its place.
void drain_one(Thread& thread) {
  auto& stores = thread.stores;
  if (stores.empty()) return;
  std::size_t chosen = 0;
  if (!world->manner.in_order) {
    chosen = dice(stores.size());
    const auto same_place = [&](const Store& one) { return one.at == stores[chosen].at; };
    if (!stores[chosen].relaxed ||
        std::any_of(stores.begin(), stores.begin() + static_cast<std::ptrdiff_t>(chosen), same_place))
      chosen = 0;
  }
  write(stores[chosen]);
  stores.erase(stores.begin() + static_cast<std::ptrdiff_t>(chosen));
}

/// The thread that goes on.
/// \param away  the current one had better not
Thread& choose(bool away) {
  auto& ready = world->ready;
  for (;;) {
    ready.clear();
    std::uint64_t earliest = never;
    bool held_up = false;
    for (const auto& thread : world->threads) {
      if (thread->done) continue;
      if (thread->blocked && thread->deadline <= world->time) {
        thread->blocked = false;
        thread->timed_out = true;
      }
      if (thread->blocked)
        earliest = std::min(earliest, thread->deadline);
      else if (thread->held_up_until > world->steps)
        held_up = true;
      else
        ready.push_back(thread.get());
    }
    if (!ready.empty()) break;
    if (held_up) {  // nobody else is left
      for (const auto& thread : world->threads) thread->held_up_until = 0;
    } else if (earliest != never) {
      world->time = earliest;
      if (world->time > most_time) fail("it hangs: threads only wake to wait again");
    } else {
      fail("no thread can go on");
    }
  }
  if (world->manner.by_priority) return **std::ranges::max_element(ready, {}, &Thread::priority);
  if (away && ready.size() > 1) std::erase(ready, current);
  return *ready[dice(ready.size())];
}

void go_on(Thread& next) {
  Thread* const me = current;
  if (&next == me) return;
  give_turn(next);
  await_turn(*me);
}

void step(bool spins) {
  Thread& me = *current;
  const Manner& manner = world->manner;
  if (++world->steps > most_steps) fail("it does not end");
  world->time += spins ? 20 : 2;
  if (one_in(4096)) world->time += dice(200'000);
  if (one_in(manner.drain_one_in)) drain_one(*world->threads[dice(world->threads.size())]);
  if (spins && one_in(4)) drain(me);
  if (one_in(manner.hold_up_one_in))
    me.held_up_until = world->steps + (std::uint64_t{1} << dice(std::bit_width(manner.longest_hold_up)));
  if (manner.by_priority) {
    if (spins || one_in(manner.switch_one_in)) me.priority = --world->lowest;
    go_on(choose(false));
  } else if (spins || me.held_up_until > world->steps || one_in(manner.switch_one_in)) {
    go_on(choose(true));
  }
}

void say(const char* why) {
  std::fprintf(stderr, "%s: %s\nTASKGRAIN_TEST_SEED=%llu repeats it\n", name_now, why,
               static_cast<unsigned long long>(seed_now));
}

void crashed(int signal) {
  say(strsignal(signal));
  std::_Exit(1);
}

Manner any_manner() {
  Manner manner{};
  const auto power = [](std::uint64_t least, std::uint64_t most) {
    return std::uint64_t{1} << (least + dice(most - least + 1));
  };
  manner.by_priority = one_in(3);
  manner.switch_one_in = manner.by_priority ? power(5, 12) : power(1, 9);
  manner.hold_up_one_in = one_in(4) ? 0 : power(4, 11);
  manner.longest_hold_up = power(3, 14);
  manner.buffers = !one_in(4);
  manner.in_order = one_in(2);
  manner.drain_one_in = power(0, 9);
  manner.refuse_one_in = one_in(3) ? power(0, 3) : 0;
  return manner;
}

/// One processor for all: only one thread runs, and hands over to threads that are near.
void stay_here() {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof(here), &here);
}

/// Where the stack of this thread ends.
std::uintptr_t stack_end() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &begin, &bytes);
    pthread_attr_destroy(&attributes);
  }
  return reinterpret_cast<std::uintptr_t>(begin) + bytes;
}

}  // namespace

void* real(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return found;
}

Thread* self() noexcept { return current; }
std::uint64_t dice(std::uint64_t below) { return world->random() % below; }
void point() { step(false); }
void spin() { step(true); }
std::uint64_t now() { return world->time += 20; }
bool refuses_barrier() { return one_in(world->manner.refuse_one_in); }

bool block(const char* where, const void* on, std::uint64_t deadline) {
  Thread& me = *current;
  drain(me);
  me.blocked = true;
  me.timed_out = false;
  me.waits_on = on;
  me.waits_in = where;
  me.deadline = deadline;
  go_on(choose(false));
  me.waits_on = nullptr;
  return !me.timed_out;
}

void wake(const void* on, int most) {
  for (; most > 0; --most) {
    std::vector<Thread*> waiting;
    for (const auto& thread : world->threads)
      if (thread->blocked && thread->waits_on == on) waiting.push_back(thread.get());
    if (waiting.empty()) return;
    waiting[dice(waiting.size())]->blocked = false;
  }
}

void drain(Thread& thread) {
  for (const Store& store : thread.stores) write(store);
  thread.stores.clear();
}

void drain_everybody() {
  for (std::size_t k = 0; k < world->threads.size(); ++k) {
    drain(*world->threads[k]);
    point();
  }
}

void store(Thread& thread, std::uintptr_t at, unsigned bytes, std::uint64_t value, bool relaxed) {
  const Store made{at, bytes, value, relaxed};
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool on_stack = at >= frame && at < thread.stack_end;  // which may be gone when the store is drained
  if (!world->manner.buffers || on_stack) {
    drain(thread);
    write(made);
    return;
  }
  if (thread.stores.size() == most_stores) drain_one(thread);
  thread.stores.push_back(made);
}

bool own_store(const Thread& thread, std::uintptr_t at, unsigned bytes, std::uint64_t& value) {
  for (auto one = thread.stores.rbegin(); one != thread.stores.rend(); ++one)
    if (one->at == at && one->bytes == bytes) {
      value = one->value;
      return true;
    }
  return false;
}

void touch(Thread& thread, std::uintptr_t at, std::size_t bytes) {
  for (const Store& store : thread.stores)
    if (store.at < at + bytes && at < store.at + store.bytes) return drain(thread);
}

Thread& new_thread() {
  auto& thread = *world->threads.emplace_back(std::make_unique<Thread>());
  thread.stores.reserve(most_stores);  // later it would free memory, which drains them
  thread.number = static_cast<int>(world->threads.size()) - 1;
  thread.priority = static_cast<std::int64_t>(dice(1000)) + 1;
  return thread;
}

Thread& thread_of(unsigned long handle) {
  // The newest, for handles come again.
  for (auto one = world->threads.rbegin(); one != world->threads.rend(); ++one)
    if ((*one)->handle == handle) return **one;
  fail("joins a thread that is not there");
}

void begin_thread(Thread& thread) {
  thread.stack_end = stack_end();
  current = &thread;
  await_turn(thread);
}

void end_thread(Thread& thread) {
  drain(thread);
  thread.done = true;
  wake(&thread, 1);
  Thread& next = choose(false);
  current = nullptr;
  give_turn(next);
}

void fail(const std::string& why) {
  say(why.c_str());
  const Manner& m = world->manner;
  std::fprintf(stderr,
               "%llu steps, %llu ns; %s, switch 1/%llu, hold up 1/%llu by %llu; %s, drain 1/%llu; refuse 1/%llu\n",
               static_cast<unsigned long long>(world->steps), static_cast<unsigned long long>(world->time),
               m.by_priority ? "by priority" : "at random", static_cast<unsigned long long>(m.switch_one_in),
               static_cast<unsigned long long>(m.hold_up_one_in), static_cast<unsigned long long>(m.longest_hold_up),
               !m.buffers   ? "no buffers"
               : m.in_order ? "buffers in order"
                            : "buffers",
               static_cast<unsigned long long>(m.drain_one_in), static_cast<unsigned long long>(m.refuse_one_in));
  for (const auto& thread : world->threads)
    if (!thread->done)
      std::fprintf(stderr, "  thread %d%s %s %p, %zu stores\n", thread->number,
                   thread.get() == current ? " (this)" : "", thread->blocked ? thread->waits_in : "can go on",
                   thread->blocked ? thread->waits_on : nullptr, thread->stores.size());
  std::fflush(stderr);
  if (std::getenv("TASKGRAIN_TEST_STOP") != nullptr) ::pause();  // for a debugger
  std::_Exit(1);
}

static void run(std::uint64_t seed, const std::function<void(std::uint64_t seed)>& body) {
  static const bool once = [] {
    stay_here();
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, crashed);
    return true;
  }();
  static_cast<void>(once);
  static const std::uintptr_t own_stack_end = stack_end();
  World made(seed);
  world = &made;
  seed_now = seed;
  made.manner = any_manner();
  detail::asymmetric_barriers = seed % 8 != 1;  // else as where there is no membarrier
  current = &new_thread();
  current->stack_end = own_stack_end;
  body(seed);
  drain(*current);
  for (const auto& thread : made.threads)
    if (thread.get() != current && !thread->done) fail("a thread was not joined");
  current = nullptr;
  world = nullptr;
  all_steps += made.steps;
}

void for_seeds(const char* name, int number, const std::function<void(std::uint64_t seed)>& body) {
  static_cast<void>(usable_cores());  // finds the machine, outside of simulations
  const char* const first_text = std::getenv("TASKGRAIN_TEST_SEED");
  const char* const factor_text = std::getenv("TASKGRAIN_TEST_ROUNDS");
  const double factor = factor_text == nullptr ? 1 : std::atof(factor_text);
  const std::uint64_t first = first_text == nullptr ? 1 : std::strtoull(first_text, nullptr, 10);
  const auto seeds = static_cast<std::uint64_t>(std::max(1.0, number * factor));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(12 * std::max(1.0, factor));
  name_now = name;
  std::uint64_t seed = first;
  for (; seed < first + seeds && std::chrono::steady_clock::now() < end; ++seed) run(seed, body);
  std::printf("%s: seeds %llu to %llu, %llu steps\n", name, static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(seed - 1), static_cast<unsigned long long>(all_steps));
}

}  // namespace taskgrain::rt::simulated
