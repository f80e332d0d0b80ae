#pragma once

#include <cstdint>

/// The part of OMPT that the tool needs, from OpenMP 5.2, chapter 19. It stands here because `omp-tools.h` comes with
/// compilers, and not with the runtime.
namespace taskgrain::record::ompt {

union Data {
  std::uint64_t value;
  void* pointer;
};

/// 19.4.4.11
enum Endpoint : int { scope_begin = 1, scope_end = 2, scope_beginend = 3 };

/// 19.4.4.18
enum TaskFlag : int { task_taskwait = 0x10, task_undeferred = 0x08000000 };

/// 19.4.4.19
enum TaskStatus : int {
  task_yield = 2,
  task_cancel = 3,
  task_switch = 7,
  task_early_fulfill = 5,
  task_late_fulfill = 6,
  taskwait_complete = 8
};

/// 19.4.4.23
enum DependenceType : int { dependence_source = 5, dependence_sink = 6 };
struct Dependence {
  Data variable;
  int type;
};

/// 19.4.4.13 and 19.4.4.15
enum SyncRegion : int { sync_taskwait = 5, sync_taskgroup = 6, sync_reduction = 7, sync_end_of_parallel = 9 };
enum Work : int { work_single_executor = 3, work_single_other = 4, work_taskloop = 7, work_scope = 8 };
/// 19.4.4.14
enum Dispatch : int { dispatch_taskloop_chunk = 4 };

/// 19.4.2.4 and 19.5.2, by their numbers in 19.4.2.4.
enum Callback : int {
  callback_parallel_begin = 3,
  callback_parallel_end = 4,
  callback_task_create = 5,
  callback_task_schedule = 6,
  callback_implicit_task = 7,
  callback_sync_region_wait = 16,
  callback_dependences = 18,
  callback_work = 20,
  callback_sync_region = 23,
  callback_dispatch = 32,
};

/// 19.6.1 and 19.2.1
using Any = void (*)();
using SetCallback = int (*)(int which, Any callback);
using Lookup = Any (*)(const char* name);
struct StartToolResult {
  int (*initialize)(Lookup lookup, int device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};

}  // namespace taskgrain::record::ompt
