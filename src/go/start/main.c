/* The program of a driver in Go, whose part of it is a library. Go's threads move from core to core, so that the process
 * as a whole keeps to the processors that it is given. */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "taskgrain/driver.h"

int taskgrain_go_drive(int argc, char** argv);

/* The exit code after a failure with a code of taskgrain.h. */
static int fail(const char* program, int code) {
  fprintf(stderr, "%s: %s\n", program, tg_error());
  return code == 1 ? 2 : EXIT_FAILURE;
}

int main(int argc, char** argv) {
  int processors[CPU_SETSIZE];
  const int count = tg_processors(processors, CPU_SETSIZE);
  if (count < 0) return fail(argv[0], -count);
  cpu_set_t now, wanted;
  CPU_ZERO(&now);
  if (sched_getaffinity(0, sizeof now, &now) != 0) return perror(argv[0]), EXIT_FAILURE;
  CPU_ZERO(&wanted);
  for (int k = 0; k < count && k < CPU_SETSIZE; ++k) {
    const int code = tg_pin_this_thread(processors[k]);
    if (code != 0) return fail(argv[0], code); /* it says what is wrong with this one */
    CPU_SET((size_t)processors[k], &wanted);
  }
  if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) return perror(argv[0]), EXIT_FAILURE;
  /* Go has started its first threads; they would stay where they are. */
  if (!CPU_EQUAL(&now, &wanted)) {
    execv("/proc/self/exe", argv);
    perror(argv[0]);
    return EXIT_FAILURE;
  }
  return taskgrain_go_drive(argc, argv);
}
