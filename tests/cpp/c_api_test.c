/* The C interface, used from C11: graphs that are executed right and wrong, and requests that are refused. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "taskgrain/taskgrain.h"

static int failures;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "c_api_test.c:%d: does not hold: %s (last error: %s)\n", line, what, tg_error());
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

static int begins(const char* text, const char* with) { return text != NULL && strncmp(text, with, strlen(with)) == 0; }

enum { STEPS = 6, WIDTH = 5, BYTES = 40, MOST_INPUTS = 8 };

static tg_run* create(const char* pattern, const char* validate) {
  char request[512];
  snprintf(request, sizeof request,
           "{\"op\":\"run\",\"id\":1,\"validate\":\"%s\",\"graphs\":[{\"pattern\":\"%s\",\"steps\":%d,\"width\":%d,"
           "\"output_bytes\":%d,\"kernel\":{\"name\":\"compute_bound\",\"iterations\":3}}]}",
           validate, pattern, STEPS, WIDTH, BYTES);
  tg_run* run = NULL;
  CHECK(tg_run_create(request, &run) == 0);
  if (run == NULL) exit(EXIT_FAILURE);
  return run;
}

/* Executes graph 0 once, in order; if asked, with the first two inputs of task (3, 2) swapped, which under stencil_1d are
 * points 1 and 2. */
static void execute(tg_run* run, int swapped) {
  static unsigned char outputs[2][WIDTH][BYTES];
  memset(outputs, 0xff, sizeof outputs);
  for (int64_t step = 0; step < tg_steps(run, 0); ++step) {
    const tg_interval points = tg_points(run, 0, step);
    for (int64_t point = points.first; point <= points.last; ++point) {
      int64_t deps[MOST_INPUTS];
      const void* inputs[MOST_INPUTS];
      const int64_t count = tg_deps(run, 0, step, point, deps, MOST_INPUTS);
      for (int64_t k = 0; k < count; ++k) inputs[k] = outputs[(step + 1) % 2][deps[k]];
      if (swapped && step == 3 && point == 2) {
        const void* first = inputs[0];
        inputs[0] = inputs[1];
        inputs[1] = first;
      }
      CHECK(tg_execute_point(run, point % 2, 0, step, point, outputs[step % 2][point], inputs, count) == 0);
    }
  }
}

static void right_executions_are_accounted_for(void) {
  const char* const patterns[] = {"trivial", "no_comm", "stencil_1d", "tree", "fft", "spread", "fork_join", "v_cycle"};
  for (size_t p = 0; p < sizeof patterns / sizeof *patterns; ++p) {
    tg_run* run = create(patterns[p], "full");
    int64_t tasks = 0, dependences = 0, reverse = 0;
    for (int64_t step = 0; step < STEPS; ++step) {
      const tg_interval points = tg_points(run, 0, step);
      for (int64_t point = points.first; point <= points.last; ++point, ++tasks) {
        dependences += tg_deps(run, 0, step, point, NULL, 0);
        reverse += tg_reverse_deps(run, 0, step, point, NULL, 0);
      }
      if (tg_fork_depth(run, 0) >= 0) CHECK(tg_dependence_sets(run, 0) == 2 * tg_fork_depth(run, 0));
      CHECK(tg_dependence_set(run, 0, step) >= 0 && tg_dependence_set(run, 0, step) < tg_dependence_sets(run, 0));
    }
    CHECK(dependences == reverse);
    for (int repeat = 0; repeat < 2; ++repeat) {
      tg_clear(run);
      execute(run, 0);
      CHECK(tg_verify(run) == NULL);
      const tg_accounts sum = tg_accounts_of(run);
      CHECK(sum.executed == tasks);
      CHECK(sum.dependencies == dependences);
      CHECK(sum.flops == 128.0 * 3 * (double)tasks);
      CHECK(sum.work == sum.flops);
      CHECK(sum.bytes == 0);
    }
    tg_run_destroy(run);
  }
}

static void queries_say_what_the_request_said(void) {
  tg_run* run = create("stencil_1d", "sample");
  CHECK(tg_graphs(run) == 1);
  CHECK(tg_steps(run, 0) == STEPS);
  CHECK(tg_fork_depth(run, 0) == -1);
  CHECK(tg_width(run, 0) == WIDTH);
  CHECK(tg_output_bytes(run, 0) == BYTES);
  CHECK(tg_points(run, 0, STEPS).last < tg_points(run, 0, STEPS).first);
  int64_t deps[3] = {-7, -7, -7};
  CHECK(tg_deps(run, 0, 1, 2, deps, 2) == 3); /* all of them are counted, two are written */
  CHECK(deps[0] == 1 && deps[1] == 2 && deps[2] == -7);
  CHECK(tg_reverse_deps(run, 0, 1, 0, deps, 3) == 2);
  CHECK(deps[0] == 0 && deps[1] == 1);
  CHECK(tg_deps(run, 0, 0, 2, deps, 3) == 0);
  tg_run_destroy(run);

  run = create("tree", "sample");
  CHECK(tg_deps(run, 0, 2, 1, deps, 3) == 1 && deps[0] == 0);
  CHECK(tg_reverse_deps(run, 0, 1, 1, deps, 3) == 2 && deps[0] == 2 && deps[1] == 3);
  tg_run_destroy(run);
}

/* What else may be wrong: wrong_inputs_test.cpp and wrong_tasks_test.cpp. */
static void a_wrong_execution_is_named(void) {
  tg_run* run = create("stencil_1d", "sample");
  execute(run, 1);
  CHECK(begins(tg_verify(run), "wrong_producer: graph 0, step 3, point 2, input 0: expected (2, 1), got (2, 2)"));
  tg_clear(run); /* forgets it */
  execute(run, 0);
  CHECK(tg_verify(run) == NULL);
  tg_run_destroy(run);
}

static void bad_requests_are_refused(void) {
  const struct {
    const char* request;
    int code;
    const char* why;
  } cases[] = {
      {"{", 1, "request: "},
      {"[]", 1, "request: "},
      {"{\"op\":\"run\",\"graphs\":[]}", 1, "graphs: "},
      {"{\"op\":\"run\",\"graphs\":[{\"pattern\":\"nope\",\"steps\":4,\"width\":4}]}", 1, "pattern: 'nope'"},
      {"{\"op\":\"run\",\"graphs\":[{\"pattern\":\"fft\",\"steps\":0,\"width\":4}]}", 1, "steps: '0'"},
      {"{\"op\":\"run\",\"graphs\":[{\"pattern\":\"fft\",\"width\":4}]}", 1, "steps: "},
      {"{\"op\":\"run\",\"validate\":\"no\",\"graphs\":[{\"pattern\":\"fft\",\"steps\":4,\"width\":4}]}", 1,
       "validate: 'no'"},
#if defined(__x86_64__)
      {"{\"op\":\"run\",\"isa\":\"neon\",\"graphs\":[{\"pattern\":\"fft\",\"steps\":4,\"width\":4,"
       "\"kernel\":{\"name\":\"compute_bound\"}}]}",
       2, ""},
#endif
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    tg_run* run = NULL;
    const int code = tg_run_create(cases[k].request, &run);
    if (code != cases[k].code || !begins(tg_error(), cases[k].why))
      fprintf(stderr, "%s: code %d, %s\n", cases[k].request, code, tg_error());
    CHECK(code == cases[k].code);
    CHECK(begins(tg_error(), cases[k].why));
    CHECK(strlen(tg_error()) > 0);
    CHECK(run == NULL);
    if (run != NULL) tg_run_destroy(run);
  }
}

int main(void) {
  CHECK(tg_abi_version() == TG_ABI_VERSION);
  CHECK(strlen(tg_error()) == 0); /* nothing has failed in this thread */
  queries_say_what_the_request_said();
  right_executions_are_accounted_for();
  a_wrong_execution_is_named();
  bad_requests_are_refused();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
