#ifndef TASKGRAIN_PARSEC_PART_H
#define TASKGRAIN_PARSEC_PART_H

/* What points.jdf asks of a graph, and has done by a task. C, because PaRSEC makes C of it. */

#ifdef __cplusplus
extern "C" {
#endif

struct part; /* a graph of a run */

/* The tasks that there are. */
int last_step(const struct part*);
int first_point(const struct part*, int step);
int last_point(const struct part*, int step);

/* The tasks that come after none. */
int roots_of(const struct part*);
int root_step(const struct part*, int k);
int root_point(const struct part*, int k);

/* The points of the step before that a task comes after, and those of the next step that come after it. */
int number_before(const struct part*, int step, int point);
int point_before(const struct part*, int step, int point, int k);
int number_after(const struct part*, int step, int point);
int point_after(const struct part*, int step, int point, int k);

void execute_task(const struct part*, int worker, int step, int point);

#ifdef __cplusplus
}
#endif

#endif
