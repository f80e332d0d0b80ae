/* Worker::publish_idle, Worker::publish_busy and Engine::quiescent (src/rt/engine/worker.cpp, engine.cpp): how the engine finds
 * out that everything is done, after Mattern's four counters (Distributed Computing 2, 1987). Three workers send one another messages
 * and steal one another's tasks; the first of them waits for completion.
 *
 * A worker that has nothing to do publishes how many messages it has sent and received, and an even epoch. Before it takes a message
 * or another's task it publishes an odd one. The waiting worker reads all publications twice: everything is done if in the first
 * pass all epochs are even and as many messages were received as sent, and in the second no epoch has changed. The first pass begins
 * with the last worker. It stops at one that is busy, and goes on there when the waiting worker looks again, which may have worked itself
 * meanwhile.
 *
 * Property: when completion is declared there is no message under way and no task queued or running; and (liveness, with one message
 * and weak fairness) it is declared in the end.
 *
 * variant:  OUTSIDE         one of the messages comes from a thread that is no worker, and that counts it before it sends it
 * liveness: done
 * mutation: ONE_PASS        no second pass
 * mutation: NO_SUMS         messages are not counted
 * mutation: STEAL_FIRST     a thief publishes after it has taken the task
 * mutation: RECEIVE_FIRST   a worker publishes after it has handled the message
 * mutation: SUMS_RELAXED    the sums are published by relaxed stores, which may pass that of the odd epoch before
 * mutation: OUTSIDE_LATE    the thread outside counts its message after it has sent it
 * liveness mutation: SENT_TWICE   a message is counted twice by its sender
 */

#include "store_buffer.pml"

#ifdef OUTSIDE_LATE
#define OUTSIDE
#endif

#define WORKERS 3
#ifndef MESSAGES
#if defined(LIVENESS) || defined(OUTSIDE)
#define MESSAGES 1
#else
#define MESSAGES 2  /* that workers send, in all; the task of a message is the message */
#endif
#endif
#ifndef TASKS
#ifdef OUTSIDE
#define TASKS 0
#else
#define TASKS 1     /* that are shared, in all, besides the first one of the first worker */
#endif
#endif

#define EPOCH(worker) (worker)
#define SENT(worker) (WORKERS + (worker))
#define RECEIVED(worker) (2 * WORKERS + (worker))
#define MAIL(worker) (3 * WORKERS + (worker))    /* messages in its mailboxes */
#define SHARED(worker) (4 * WORKERS + (worker))  /* stealable tasks */
#define LOCATIONS (5 * WORKERS)

#ifdef SUMS_RELAXED
#define SUMS_ORDER relaxed
#else
#define SUMS_ORDER release
#endif

#ifdef SENT_TWICE
#define COUNT 2
#else
#define COUNT 1
#endif

short memory[LOCATIONS];
chan buffer[WORKERS] = BUFFER(5);

byte messages = MESSAGES;  /* that may still be sent */
byte tasks = TASKS;        /* that may still be shared */
byte work = 1;             /* messages under way, tasks queued, tasks running */
short outside;             /* messages that came from no worker, as counted */
bool declared;

ltl done { <> declared }

/* A store to a publication is one; a store of a message or a task is one more. */
proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: atomic { buffer[thread]?release, at, value -> memory[at] = (at >= MAIL(0) -> memory[at] + 1 : value); at = 0; value = 0 }
#ifdef SUMS_RELAXED
  :: DRAIN_RELAXED(buffer[thread], SENT(thread))
  :: DRAIN_RELAXED(buffer[thread], RECEIVED(thread))
#endif
  od
}

/* What follows is in one atomic step where the rest of the step is seen by nobody: a store is seen only when the buffer is drained. */

inline publish_busy() {
  if
  :: epoch % 2 == 0 -> epoch++; buffer[me]!release, EPOCH(me), epoch
  :: else
  fi
}

inline publish_idle() {
  buffer[me]!SUMS_ORDER, SENT(me), sent;
  buffer[me]!SUMS_ORDER, RECEIVED(me), received;
  epoch++;
  buffer[me]!release, EPOCH(me), epoch
}

inline send(to) { messages > 0 -> messages--; work++; sent = sent + COUNT; buffer[me]!release, MAIL(to), 0 }
inline share() { tasks > 0 -> tasks--; work++; buffer[me]!release, SHARED(me), 0 }

/* A task, or the message of which one is made, sends and shares what it likes. Then it runs for a while. */
inline run_task() {
  atomic {
    do
    :: send((me + 1) % WORKERS)
    :: send((me + 2) % WORKERS)
    :: share()
    :: break
    od
  };
  work--
}

/* Compare-and-swap of the word of a stealable range. */
inline take(victim) {
  atomic {
    FLUSH(buffer[me]);
    if
    :: memory[SHARED(victim)] > 0 -> memory[SHARED(victim)] = memory[SHARED(victim)] - 1; got = true
    :: else -> got = false
    fi
  }
}

inline steal(victim) {
#ifdef STEAL_FIRST
  take(victim);
  atomic { publish_busy() };
#else
  take(victim);
#endif
  if
  :: got -> got = false; run_task()
  :: else
  fi
}

#define OWN_TASK (memory[SHARED(me)] > 0)
#define OWN_TASK_UNDER_WAY (buffer[me]??[release, eval(SHARED(me)), _])
#define ANY_STEALABLE(distance) (memory[SHARED((me + distance) % WORKERS)] > 0)
#define NOTHING_TO_DO (memory[MAIL(me)] == 0 && !OWN_TASK && !OWN_TASK_UNDER_WAY && !ANY_STEALABLE(1) && !ANY_STEALABLE(2))

#ifdef STEAL_FIRST
#define BEFORE_STEALING skip
#else
#define BEFORE_STEALING publish_busy()
#endif

/* Of worker left - 1, if it is not busy. */
inline read() {
  atomic {
    epochs[left - 1] = memory[EPOCH(left - 1)];
    if
    :: epochs[left - 1] % 2 == 0
    :: else -> epochs[left - 1] = 0; goto failed
    fi
  };
#ifndef NO_SUMS
  under_way = under_way + memory[SENT(left - 1)];
  atomic { under_way = under_way - memory[RECEIVED(left - 1)]; left-- }
#else
  left--
#endif
}

inline read_again(k) {
  if
  :: atomic { memory[EPOCH(k)] == epochs[k] -> epochs[k] = 0 }
  :: atomic { memory[EPOCH(k)] != epochs[k] -> goto ended }
  fi
}

/* What worker 0 itself has published, it sees at once: it looks only when its buffer is empty. */
inline look_for_completion() {
  do
  :: left > 0 -> read()
  :: else -> break
  od;
  atomic {
    outside_seen = outside;
#ifndef NO_SUMS
    under_way = under_way + outside_seen;
#endif
    if
    :: under_way == 0
    :: else -> goto ended
    fi
  };
#ifndef ONE_PASS
  read_again(0);
  read_again(1);
  read_again(2);
#endif
  atomic {
    if
    :: outside == outside_seen -> assert(work == 0); declared = true
    :: else
    fi
  };
ended:
  atomic { epochs[0] = 0; epochs[1] = 0; epochs[2] = 0; under_way = 0; outside_seen = 0; left = WORKERS };  /* fewer states */
failed:
  skip
}

proctype worker(byte me) {
  byte epoch;
  byte sent;
  byte received;
  bool got;
  byte epochs[WORKERS];
  byte left = WORKERS;
  short under_way;
  short outside_seen;
  if
  :: me == 0 -> atomic { epoch = 1; memory[EPOCH(0)] = 1 }; run_task()
  :: else
  fi;
end:
  do
#ifdef RECEIVE_FIRST
  :: atomic { memory[MAIL(me)] > 0 -> memory[MAIL(me)] = memory[MAIL(me)] - 1; received++ };
    run_task();
    atomic { publish_busy() }
#else
  :: atomic { memory[MAIL(me)] > 0 -> publish_busy(); memory[MAIL(me)] = memory[MAIL(me)] - 1; received++ };
    run_task()
#endif
  :: OWN_TASK -> steal(me)
  :: atomic { ANY_STEALABLE(1) -> BEFORE_STEALING }; steal((me + 1) % WORKERS)
  :: atomic { ANY_STEALABLE(2) -> BEFORE_STEALING }; steal((me + 2) % WORKERS)
  :: atomic { epoch % 2 == 1 && NOTHING_TO_DO -> publish_idle() }
  :: me == 0 && epoch % 2 == 0 && NOTHING_TO_DO && !declared && FLUSH(buffer[0]) -> look_for_completion()
  od
}

#ifdef OUTSIDE
proctype thread_outside(byte to) {
#ifdef OUTSIDE_LATE
  atomic { work++; memory[MAIL(to)] = memory[MAIL(to)] + 1 };
  outside++
#else
  atomic { work++; outside++ };
  memory[MAIL(to)] = memory[MAIL(to)] + 1
#endif
}
#endif

init {
#ifdef OUTSIDE
  byte to;
  select(to : 0 .. 2);
  run thread_outside(to);
#endif
  atomic {
    run draining(0);
    run draining(1);
    run draining(2);
    run worker(0);
    run worker(1);
    run worker(2)
  }
}
