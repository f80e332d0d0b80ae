/* Counts and nothing_on_its_way (include/taskgrain/rt/detail/traffic.hpp), as FlowHandler::done uses them: a thread finds out that
 * nothing of one flow is left, while other flows go on. Two workers have the tasks of the flow. A third thread asks: it reads what the
 * workers have ended, then how many tasks wait, then what they have begun.
 *
 * A message makes a task wait, or ready, or completes one that waits. A task that runs may send a message. Worker 1 also runs a task
 * of another flow, which at any time completes a task that waits there; that other flow counts nothing here.
 *
 * Property: when the thread finds nothing on its way and nothing waiting, no message is under way and no task waits, is ready or runs.
 *
 * variant:  THREE_MESSAGES
 * mutation: BEGUN_FIRST      the thread reads what was begun before what was ended
 * mutation: SIZES_FIRST      the thread reads how many wait before what was ended
 * mutation: BEGIN_LATE       a message is counted as begun after it was sent
 * mutation: END_EARLY        a task is counted as ended before it sends
 * mutation: INSERT_LATE      a message is counted as ended before its task waits
 * mutation: READY_LATE       a task is counted as ready after it waits no longer
 * mutation: ENDED_RELAXED    what was ended is stored relaxed, and may pass what was begun before
 */

#include "store_buffer.pml"

#define WORKERS 2
#ifdef THREE_MESSAGES
#define MESSAGES 3
#else
#define MESSAGES 2  /* that tasks may send, in all, beside the first one */
#endif

#define BEGUN(worker) (worker)
#define ENDED(worker) (2 + (worker))
#define SIZE(worker) (4 + (worker))
#define MAIL(worker) (6 + (worker))
#define LOCATIONS 8

#ifdef ENDED_RELAXED
#define ENDED_ORDER relaxed
#else
#define ENDED_ORDER release
#endif

short memory[LOCATIONS];
chan buffer[WORKERS] = BUFFER(6);

byte messages = MESSAGES;
byte work = 1;  /* messages under way; tasks that wait, are ready or run */

/* A store to a mailbox is one more message. */
proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: atomic { buffer[thread]?release, at, value -> memory[at] = (at >= MAIL(0) -> memory[at] + 1 : value); at = 0; value = 0 }
  :: DRAIN_RELAXED(buffer[thread], BEGUN(thread))
#ifdef ENDED_RELAXED
  :: DRAIN_RELAXED(buffer[thread], ENDED(thread))
#endif
  od
}

inline begin_one() { begun++; buffer[me]!relaxed, BEGUN(me), begun }
inline end_one() { ended++; buffer[me]!ENDED_ORDER, ENDED(me), ended }
inline resize(by) { size = size + by; buffer[me]!release, SIZE(me), size }

inline send() {
  messages--;
  work++;
#ifdef BEGIN_LATE
  buffer[me]!release, MAIL(1 - me), 0;
  begin_one()
#else
  begin_one();
  buffer[me]!release, MAIL(1 - me), 0
#endif
}

inline complete() {
#ifdef READY_LATE
  resize(-1);
  begin_one();
#else
  begin_one();
  resize(-1);
#endif
  ready++
}

proctype worker(byte me) {
  short begun, ended, size;
  byte ready;
end:
  do
  :: atomic { memory[MAIL(me)] > 0 -> memory[MAIL(me)] = memory[MAIL(me)] - 1 };
#ifdef INSERT_LATE
    end_one();
#endif
    if
    :: resize(1)                    /* the first of two that the task needs; the message's work goes on as the task's */
    :: begin_one(); ready++
    :: size > 0 -> complete(); work--  /* the message's work; the task's goes on */
    fi;
#ifndef INSERT_LATE
    end_one()
#endif
  :: atomic { ready > 0 -> ready-- };  /* it runs */
#ifdef END_EARLY
    end_one();
#endif
    if
    :: messages > 0 -> send()
    :: true
    fi;
    work--;
#ifndef END_EARLY
    end_one()
#endif
  :: me == 1 && size > 0 -> complete()  /* by a task of another flow */
  od
}

inline read_ended() { on_its_way = on_its_way - memory[ENDED(0)]; on_its_way = on_its_way - memory[ENDED(1)] }
inline read_begun() { on_its_way = on_its_way + memory[BEGUN(0)]; on_its_way = on_its_way + memory[BEGUN(1)] }
inline read_sizes() { waiting = memory[SIZE(0)]; waiting = waiting + memory[SIZE(1)] }

active proctype asking() {
  short on_its_way = 1;  /* the first message, from outside */
  short waiting;
#ifdef SIZES_FIRST
  read_sizes();
  read_ended();
  read_begun();
#else
#ifdef BEGUN_FIRST
  read_begun();
  read_sizes();
  read_ended();
#else
  read_ended();
  read_sizes();
  read_begun();
#endif
#endif
  assert(on_its_way != 0 || waiting != 0 || work == 0)
}

init {
  atomic {
    memory[MAIL(0)] = 1;
    run draining(0);
    run draining(1);
    run worker(0);
    run worker(1)
  }
}
