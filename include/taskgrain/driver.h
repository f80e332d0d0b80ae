#ifndef TASKGRAIN_DRIVER_H
#define TASKGRAIN_DRIVER_H

/* A driver in a language that can be called from C: the twin of taskgrain::System. The protocol, the flags, pinning and timing are those
 * of all other drivers. It is linked by C++, with taskgrain::driver (`taskgrain_system()` of CMake). */

#include "taskgrain/taskgrain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions are called by the thread that called tg_drive, with `self`. Those that can fail return the codes of taskgrain.h, with
 * the reason left by tg_fail. Nothing may unwind through them. src/rust/lib.rs repeats these fields. */
typedef struct tg_system {
  void* self;
  const char* name;
  /* Of the runtime. */
  const char* version;
  /* How the driver was compiled; results record it. */
  const char* compiler;
  const char* flags;
  /* Cores that the system uses, including those that the runtime reserves for itself. */
  int cores;
  /* The processors that worker `worker` may run on, as it observed them itself: writes at most `capacity` of them and returns how many
   * there are; -1 if there is no such worker. */
  int (*binding)(void* self, int worker, int* processors, int capacity);
  /* Prepares a run, once for all its repeats; not timed. `run` stays until the request is answered. */
  int (*prepare)(void* self, tg_run* run);
  /* Executes every task of every graph once; timed. */
  int (*execute)(void* self, tg_run* run);
} tg_system;

/* Serves requests on standard input, runs a file of them, or runs what the flags say. Returns the exit code of the process. */
int tg_drive(int argc, char** argv, const tg_system* system);

/* The processors for the driver's workers: writes at most `capacity` of them and returns how many there are; on failure the negative of
 * a code of taskgrain.h. -1 is a list in TASKGRAIN_CORES that is wrong, after which a program ends with exit code 2. */
int tg_processors(int* processors, int capacity);
int tg_pin_this_thread(int processor);
/* As tg_processors: those that the calling thread may run on. */
int tg_binding_of_this_thread(int* processors, int capacity);

#ifdef __cplusplus
}
#endif

#endif
