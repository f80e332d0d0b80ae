#ifndef TASKGRAIN_H
#define TASKGRAIN_H

/* The core behind a stable C ABI, for drivers in other languages.
 *
 * Functions that can fail return 0 on success and 1 on bad input, 2 on what this build or machine cannot do, 3 on any other
 * failure; tg_error() then says why, in the calling thread. Nothing throws through this interface. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_ABI_VERSION 1

/* The graphs of one run, its validation and accounting. */
typedef struct tg_run tg_run;

/* Points first to last, both included. */
typedef struct tg_interval {
  int64_t first;
  int64_t last;
} tg_interval;

/* What was executed since the last tg_clear. */
typedef struct tg_accounts {
  int64_t executed;
  int64_t dependencies;
  double flops;
  double bytes;
  double work;
} tg_accounts;

int tg_abi_version(void);
/* Why the last call in this thread failed; never null. */
const char* tg_error(void);
/* Lets tg_error say why, in this thread, and returns the code. */
int tg_fail(int code, const char* why);

/* Makes a run from the `run` request of the driver protocol, JSON text. */
int tg_run_create(const char* request_json, tg_run** run);
void tg_run_destroy(tg_run* run);

int64_t tg_graphs(const tg_run* run);
/* Of the graph that has most. */
int64_t tg_most_steps(const tg_run* run);
/* Of graph g; g must be below tg_graphs. */
int64_t tg_steps(const tg_run* run, int64_t g);
int64_t tg_width(const tg_run* run, int64_t g);
int64_t tg_output_bytes(const tg_run* run, int64_t g);
int64_t tg_dependence_sets(const tg_run* run, int64_t g);
int64_t tg_dependence_set(const tg_run* run, int64_t g, int64_t step);
/* How deep the calls nest of which each period of the graph is one, as in Graph::fork_depth() of taskgrain/graph.hpp; -1 if it is none. */
int64_t tg_fork_depth(const tg_run* run, int64_t g);
/* The points that exist at a step; last < first if none does. */
tg_interval tg_points(const tg_run* run, int64_t g, int64_t step);
/* The points of step - 1 that (step, point) depends on, and of step + 1 that depend on it, in increasing order: writes at most
 * `capacity` of them to `out` and returns how many there are. */
int64_t tg_deps(const tg_run* run, int64_t g, int64_t step, int64_t point, int64_t* out, int64_t capacity);
int64_t tg_reverse_deps(const tg_run* run, int64_t g, int64_t step, int64_t point, int64_t* out, int64_t capacity);

/* Executes one task as worker `worker` (a small number, one per thread): checks `inputs` (one pointer to output_bytes bytes for
 * each dependence, in increasing order of points), fills `output`, runs the kernel. Safe from any thread. */
int tg_execute_point(tg_run* run, int64_t worker, int64_t g, int64_t step, int64_t point, void* output,
                     const void* const* inputs, int64_t n_inputs);

/* Forgets what was executed. */
void tg_clear(tg_run* run);
tg_accounts tg_accounts_of(const tg_run* run);
/* Null if each task was executed exactly once and saw what it had to see; else what was wrong, valid until the next call. */
const char* tg_verify(tg_run* run);

#ifdef __cplusplus
}
#endif

#endif
