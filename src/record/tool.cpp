/// A tool of OpenMP's runtime (OMPT): writes down what threads and tasks do, for `taskgrain record`.
///
/// It needs nothing but the C library, because it runs in programs of any language. A callback takes no lock and calls
/// nothing: a thread has a buffer of its own, which goes to the file of all when it is full.

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "event.hpp"
#include "ompt.hpp"

namespace {

using namespace taskgrain::record;

struct Thread {
  Thread* next;
  std::uint64_t tasks;  ///< Tasks and regions that it has numbered.
  std::uint32_t number;
  std::uint32_t used;
  Event events[1000];
};

/// The program may load the tool late, and still no call stands between a callback and its buffer.
__attribute__((tls_model("initial-exec"))) thread_local Thread* self;

std::atomic<Thread*> threads;
std::atomic<std::uint32_t> count;
std::atomic<std::uint64_t> written;
std::atomic<bool> recording;
const char* folder;
int file;
bool counter;  ///< The processor's counter is as good as the clock.
std::uint64_t first_tick;
double first_second;
double waited = -1;  ///< Seconds that the threads were ready, and had no processor; -1 if nobody knows.

double clock_seconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::uint64_t ticks() {
#if defined(__x86_64__)
  if (counter) return __rdtsc();
#endif
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Whether Linux finds that the counters of all processors agree.
bool counters_agree() {
  char text[200] = {};
  const int list = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
  const bool read_it = list >= 0 && read(list, text, sizeof text - 1) > 0;
  if (list >= 0) close(list);
  return read_it && std::strstr(text, "tsc") != nullptr;
}

double waited_seconds() {
  DIR* const all = opendir("/proc/self/task");
  double nanoseconds = -1e9;
  for (const dirent* one; all != nullptr && (one = readdir(all)) != nullptr;) {
    char path[300], text[100] = {};
    std::snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", one->d_name);
    const int counters = open(path, O_RDONLY | O_CLOEXEC);
    double of_one;
    if (counters >= 0 && read(counters, text, sizeof text - 1) > 0 && std::sscanf(text, "%*s %lf", &of_one) == 1)
      nanoseconds = (nanoseconds < 0 ? 0 : nanoseconds) + of_one;
    if (counters >= 0) close(counters);
  }
  if (all != nullptr) closedir(all);
  return 1e-9 * nanoseconds;
}

/// \returns whether all were written
bool flush(Thread& thread) {
  const std::size_t bytes = thread.used * sizeof(Event);
  const bool whole =
      written.fetch_add(thread.used) <= most_events && write(file, thread.events, bytes) == static_cast<ssize_t>(bytes);
  if (!whole) recording = false;
  thread.events[0] = {thread.events[thread.used - 1].ticks(), Kind::thread, 0, thread.number};
  thread.used = 1;
  return whole;
}

Thread* begin_thread() {
  void* memory = mmap(nullptr, sizeof(Thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    recording = false;
    return nullptr;
  }
  self = static_cast<Thread*>(memory);
  self->number = count++;
  self->events[0] = {0, Kind::thread, 0, self->number};
  self->used = 1;
  self->next = threads;
  while (!threads.compare_exchange_weak(self->next, self)) continue;
  return self;
}

inline Thread* put(Kind kind, std::uint64_t detail, std::uint64_t value) {
  Thread* thread = self != nullptr ? self : begin_thread();
  if (thread == nullptr || !recording.load(std::memory_order_relaxed)) return nullptr;
  const std::uint64_t time = kind == Kind::depend ? thread->events[thread->used - 1].ticks() : ticks() - first_tick;
  thread->events[thread->used] = {time, kind, detail, value};
  if (++thread->used == std::size(thread->events)) flush(*thread);
  return thread;
}

/// The same of an event that numbers a task or region.
inline std::uint64_t put_new(Kind kind, std::uint64_t detail, std::uint64_t value) {
  Thread* thread = put(kind, detail, value);
  return thread == nullptr ? 0 : numbered(thread->number, ++thread->tasks);
}

std::uint64_t value(const ompt::Data* data) { return data == nullptr ? 0 : data->value; }
std::uint64_t value(const void* code) { return reinterpret_cast<std::uint64_t>(code); }

void task_create(ompt::Data*, const void*, ompt::Data* task, int flags, int, const void* code) {
  const bool waits = (flags & ompt::task_taskwait) != 0, now = (flags & ompt::task_undeferred) != 0;
  const std::uint64_t id = put_new(Kind::create, taskwait * waits | undeferred * now, value(code));
  // LLVM 19 has one place in a thread for all taskwaits with dependences, and ends a program that finds it in use.
  if (!waits) task->value = id;
}

void dependences(ompt::Data*, const ompt::Dependence* found, int size) {
  for (const ompt::Dependence* one = found; one != found + size; ++one)
    if (one->type != ompt::dependence_source && one->type != ompt::dependence_sink)
      put(Kind::depend, static_cast<std::uint64_t>(one->type), one->variable.value);
}

void task_schedule(ompt::Data* prior, int status, ompt::Data* next) {
  if (status == ompt::task_early_fulfill || status == ompt::task_late_fulfill)
    return;                                                             // of an event, by whoever fulfils it
  if (status == ompt::task_cancel) put(Kind::cancel, 0, value(prior));  // which may not have begun
  put(Kind::schedule, static_cast<std::uint64_t>(status), value(next));
}

void parallel_begin(ompt::Data*, const void*, ompt::Data* region, unsigned, int, const void* code) {
  region->value = put_new(Kind::parallel_begin, 0, value(code));
}

void parallel_end(ompt::Data* region, ompt::Data*, int, const void*) { put(Kind::parallel_end, 0, value(region)); }

void implicit_task(int endpoint, ompt::Data* region, ompt::Data* task, unsigned team, unsigned, int) {
  if (endpoint == ompt::scope_begin)
    task->value = put_new(Kind::implicit_begin, team > 1, value(region));
  else
    put(Kind::implicit_end, 0, 0);
}

void sync_region(int kind, int endpoint, ompt::Data*, ompt::Data*, const void*) {
  if (kind == ompt::sync_taskgroup && endpoint == ompt::scope_begin) put(Kind::group_begin, 0, 0);
}

void sync_region_wait(int kind, int endpoint, ompt::Data*, ompt::Data*, const void*) {
  if (kind == ompt::sync_reduction) return;
  put(endpoint == ompt::scope_begin ? Kind::wait_begin : Kind::wait_end, static_cast<std::uint64_t>(kind), 0);
}

void work(int kind, int endpoint, ompt::Data*, ompt::Data*, std::uint64_t, const void* code) {
  if (kind == ompt::work_single_executor || kind == ompt::work_single_other || kind == ompt::work_taskloop ||
      kind == ompt::work_scope)
    return;
  put(endpoint == ompt::scope_begin ? Kind::loop_begin : Kind::loop_end, 0, value(code));
}

void dispatch(ompt::Data*, ompt::Data*, int kind, ompt::Data) {
  if (kind != ompt::dispatch_taskloop_chunk) put(Kind::chunk, 0, 0);
}

int initialize(ompt::Lookup lookup, int, ompt::Data*) {
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%d.events", folder, getpid());
  file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  pthread_atfork(nullptr, nullptr, [] {  // what a child does is none of its parent's tasks, and it writes none
    recording = false;
    folder = nullptr;
  });
  counter = counters_agree();
  first_tick = ticks();
  first_second = clock_seconds();
  recording = true;
  std::atexit([] {  // before the runtime ends its threads, which takes milliseconds
    put(Kind::exit, 0, 0);
    waited = waited_seconds();
  });
  const auto set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  const auto on = [&](int which, auto* callback) { set(which, reinterpret_cast<ompt::Any>(callback)); };
  on(ompt::callback_task_create, task_create);
  on(ompt::callback_dependences, dependences);
  on(ompt::callback_task_schedule, task_schedule);
  on(ompt::callback_parallel_begin, parallel_begin);
  on(ompt::callback_parallel_end, parallel_end);
  on(ompt::callback_implicit_task, implicit_task);
  on(ompt::callback_sync_region, sync_region);
  on(ompt::callback_sync_region_wait, sync_region_wait);
  on(ompt::callback_work, work);
  on(ompt::callback_dispatch, dispatch);
  return 1;
}

/// Writes the file that says that the other is whole: seconds of a tick, whether all events are there, how long the
/// threads waited for processors, and which code lies where.
void finalize(ompt::Data*) {
  const bool all = recording.exchange(false);
  if (folder == nullptr || (!all && written <= most_events)) return;  // a child, or the disk was full
  bool flushed = true;
  for (Thread* one = threads; one != nullptr; one = one->next) flushed = flush(*one) && flushed;
  if (!flushed && written <= most_events) return;
  const double tick = (clock_seconds() - first_second) / static_cast<double>(ticks() - first_tick);
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%d.end", folder, getpid());
  const int end = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (end < 0) return;
  if (dprintf(end, "%.17g %d %.9g\n", tick, all && written <= most_events, waited) <= 0) unlink(path);
  for (ssize_t size; maps >= 0 && (size = read(maps, path, sizeof path)) > 0;)
    if (write(end, path, static_cast<std::size_t>(size)) != size) break;
  close(end);
}

}  // namespace

/// The entry that an OpenMP runtime looks for (OpenMP 5.2, section 19.2.1).
extern "C" __attribute__((visibility("default"))) ompt::StartToolResult* ompt_start_tool(unsigned, const char*) {
  static ompt::StartToolResult result = {initialize, finalize, {}};
  folder = std::getenv("TASKGRAIN_RECORD");
  return folder == nullptr ? nullptr : &result;
}
