/* A driver in C: every task of every graph once, in order, on one thread. */

#include <stdio.h>
#include <stdlib.h>

#include "taskgrain/driver.h"

enum { most_graphs = 16 };

/* What prepare has made for the run: of each graph the outputs of this step and of the one before. */
typedef struct serial {
  unsigned char* outputs[most_graphs];
  int64_t* deps;
  const void** inputs;
} serial;

static void forget(serial* self) {
  for (int g = 0; g < most_graphs; ++g) free(self->outputs[g]);
  free(self->deps);
  free(self->inputs);
  *self = (serial){0};
}

static int binding(void* self, int worker, int* processors, int capacity) {
  (void)self;
  return worker == 0 ? tg_binding_of_this_thread(processors, capacity) : -1;
}

static int prepare(void* of, tg_run* run) {
  serial* const self = of;
  forget(self);
  if (tg_graphs(run) > most_graphs) return tg_fail(2, "more than 16 graphs");
  size_t most_points = 0;
  for (int64_t g = 0; g < tg_graphs(run); ++g) {
    const size_t width = (size_t)tg_width(run, g);
    if (width > most_points) most_points = width;
    self->outputs[g] = calloc(2 * width, (size_t)tg_output_bytes(run, g));
    if (self->outputs[g] == NULL) return tg_fail(2, "not enough memory for these graphs");
  }
  self->deps = malloc(most_points * sizeof *self->deps);
  self->inputs = malloc(most_points * sizeof *self->inputs);
  if (self->deps == NULL || self->inputs == NULL) return tg_fail(2, "not enough memory for these graphs");
  return 0;
}

static int execute_step(serial* self, tg_run* run, int64_t g, int64_t step) {
  const size_t width = (size_t)tg_width(run, g), bytes = (size_t)tg_output_bytes(run, g);
  unsigned char* const now = self->outputs[g] + (size_t)(step % 2) * width * bytes;
  const unsigned char* const before = self->outputs[g] + (size_t)((step + 1) % 2) * width * bytes;
  const tg_interval points = tg_points(run, g, step);
  for (int64_t point = points.first; point <= points.last; ++point) {
    const int64_t count = tg_deps(run, g, step, point, self->deps, (int64_t)width);
    for (int64_t k = 0; k < count; ++k) self->inputs[k] = before + (size_t)self->deps[k] * bytes;
    const int code = tg_execute_point(run, 0, g, step, point, now + (size_t)point * bytes, self->inputs, count);
    if (code != 0) return code;
  }
  return 0;
}

static int execute(void* self, tg_run* run) {
  for (int64_t step = 0; step < tg_most_steps(run); ++step)
    for (int64_t g = 0; g < tg_graphs(run); ++g) {
      const int code = step < tg_steps(run, g) ? execute_step(self, run, g, step) : 0;
      if (code != 0) return code;
    }
  return 0;
}

int main(int argc, char** argv) {
  static serial self;
  int processor;
  const int count = tg_processors(&processor, 1);
  if (count < 0 || tg_pin_this_thread(processor) != 0) {
    fprintf(stderr, "%s: %s\n", argv[0], tg_error());
    return count == -1 ? 2 : EXIT_FAILURE;
  }
  const tg_system system = {
      .self = &self,
      .name = "c",
      .version = "1",
      .compiler = "C",
      .flags = "unknown",
      .cores = 1,
      .binding = binding,
      .prepare = prepare,
      .execute = execute,
  };
  const int code = tg_drive(argc, argv, &system);
  forget(&self);
  return code;
}
