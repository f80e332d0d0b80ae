/* A driver's work in C: every task of a graph once, in order, on one thread. */

#include <stdio.h>
#include <stdlib.h>

#include "taskgrain/taskgrain.h"

int main(void) {
  tg_run* run = NULL;
  if (tg_run_create("{\"op\": \"run\", \"id\": 1, \"validate\": \"full\", \"graphs\": ["
                    " {\"pattern\": \"stencil_1d\", \"steps\": 100, \"width\": 8,"
                    "  \"kernel\": {\"name\": \"compute_bound\", \"iterations\": 10}}]}",
                    &run) != 0) {
    fprintf(stderr, "%s\n", tg_error());
    return EXIT_FAILURE;
  }
  const size_t width = (size_t)tg_width(run, 0), bytes = (size_t)tg_output_bytes(run, 0);
  unsigned char* outputs = malloc(2 * width * bytes); /* of this step and the one before */
  int64_t* deps = malloc(width * sizeof *deps);
  const void** inputs = malloc(width * sizeof *inputs);
  if (outputs == NULL || deps == NULL || inputs == NULL) return EXIT_FAILURE;

  for (int64_t step = 0; step < tg_steps(run, 0); ++step) {
    unsigned char* const now = outputs + (size_t)(step % 2) * width * bytes;
    const unsigned char* const before = outputs + (size_t)((step + 1) % 2) * width * bytes;
    const tg_interval points = tg_points(run, 0, step);
    for (int64_t point = points.first; point <= points.last; ++point) {
      const int64_t count = tg_deps(run, 0, step, point, deps, (int64_t)width);
      for (int64_t k = 0; k < count; ++k) inputs[k] = before + (size_t)deps[k] * bytes;
      if (tg_execute_point(run, 0, 0, step, point, now + (size_t)point * bytes, inputs, count) != 0) {
        fprintf(stderr, "%s\n", tg_error());
        return EXIT_FAILURE;
      }
    }
  }

  const char* violation = tg_verify(run);
  const tg_accounts sum = tg_accounts_of(run);
  printf("%s\n", violation == NULL ? "every task ran once and saw what it had to see" : violation);
  printf("%lld tasks, %lld dependences, %.0f FLOP\n", (long long)sum.executed, (long long)sum.dependencies, sum.flops);
  tg_run_destroy(run);
  free(inputs);
  free(deps);
  free(outputs);
  return violation == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
