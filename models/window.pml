/* src/rt/graph/queued.cpp: the window of ready_queue and stealing, and workers that park because of it.
 *
 * Three workers have one task each: root 0 and root 2 come before task 1 of another worker, root 0 by a carried edge. So task 1 of
 * iteration n waits for root 0 of n - 1 and root 2 of n. Its counts are kept by n mod 3. An iteration may start when it is below
 * min finished + 2; ready tasks of a worker run in any order. A worker whose tasks are all beyond the window sets "parked", passes the
 * heavy barrier and looks once more. Who finishes an iteration passes the light barrier and looks who is parked. Where the kernel
 * refuses the heavy barrier, the worker asks the others by a message to look for it.
 *
 * Property: each task runs once in each iteration, and after what it waits for; and all iterations end: if a worker waited for ever, the
 * search would end in a state that is no end.
 *
 * variant:  REFUSED             the kernel refuses each heavy barrier. To keep the search small, only worker 0 parks, iterations do not
 *                               overlap, and root 0 comes before the tasks of both others
 * variant:  SPINNING            nobody parks, and there are more iterations
 * mutation: WIDE_WINDOW         three iterations overlap
 * mutation: TWO_COUNTS          counts by n mod 2
 * mutation: FINISHED_EARLY      an iteration ends though the one before has not
 * mutation: NO_HEAVY_BARRIER    nothing between "parked" and the second look
 * mutation: NO_SECOND_LOOK      who has parked does not look again
 * mutation: PARK_ALL_THE_SAME   a refusal is ignored
 * mutation: LOOK_BEFORE_ASKING  the second look comes before the question, and the question tells what is finished now
 * mutation: NO_ANSWER           the others take the question and do nothing
 */

#include "store_buffer.pml"

#if defined(PARK_ALL_THE_SAME) || defined(LOOK_BEFORE_ASKING) || defined(NO_ANSWER)
#define REFUSED
#endif

#if defined(WIDE_WINDOW) || defined(TWO_COUNTS) || defined(FINISHED_EARLY)
#define SPINNING
#endif

#define WORKERS 3
#ifndef ITERATIONS
#ifdef SPINNING
#define ITERATIONS 5
#else
#define ITERATIONS 3
#endif
#endif

#ifdef WIDE_WINDOW
#define OVERLAP 3
#elif defined(REFUSED)
#define OVERLAP 1
#else
#define OVERLAP 2
#endif
#ifdef TWO_COUNTS
#define SLOT(iteration) ((iteration) % 2)
#else
#define SLOT(iteration) ((iteration) % 3)
#endif

#define FINISHED(worker) (worker)
#define PARKED(worker) (WORKERS + (worker))
#define LOCATIONS (2 * WORKERS)
#ifdef REFUSED
#define ROOT (me == 0)
#define INDEGREE 1
#define EARLY(iteration) ((ran[0] & BIT(iteration)) == 0)
#else
#define ROOT (me != 1)
#define INDEGREE 2
#define EARLY(iteration) ((ran[2] & BIT(iteration)) == 0 || (iteration > 0 && (ran[0] & BIT(iteration - 1)) == 0))
#endif
#define BIT(iteration) (1 << (iteration))
#define NEXT ((me + 1) % WORKERS)
#define LAST ((me + 2) % WORKERS)

mtype = { arrive, window, look };

short memory[LOCATIONS];
chan buffer[WORKERS] = BUFFER(3);
chan mail[9] = [4] of { mtype, byte };  /* from 3 · receiver + sender; an iteration, or what the asker has seen */
byte ran[WORKERS];                      /* iterations, a bit each */

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: atomic { buffer[thread]?release, at, value -> memory[at] = value; at = 0; value = 0 }
  :: atomic { buffer[thread]??relaxed, eval(PARKED(thread)), value -> memory[PARKED(thread)] = value; value = 0 }
  od
}

/* Whoever receives a message sees all that its sender did before: the sender's buffer is empty. */
inline send(to, kind, number) { atomic { FLUSH(buffer[me]) -> mail[3 * (to) + me]!kind, number } }

/* The least that others and this worker have finished. In one step: `finished` only grows, so two looks find no more than the second. */
inline look_for_least() {
  atomic {
    least = through;
    other = memory[FINISHED(NEXT)];
    least = (other < least -> other : least);
    other = memory[FINISHED(LAST)];
    least = (other < least -> other : least);
    other = 0
  }
}

inline enqueue(iteration) {
  if
  :: iteration < least + OVERLAP -> ready = ready | BIT(iteration)
  :: else ->
    look_for_least();
    atomic {
      if
      :: iteration < least + OVERLAP -> ready = ready | BIT(iteration)
      :: else -> deferred = deferred | BIT(iteration)
      fi
    }
  fi;
  parked = false
}

inline unpark(worker) {
  if
  :: memory[PARKED(worker)] == 1 ->
    atomic { FLUSH(buffer[me]) -> was = memory[PARKED(worker)]; memory[PARKED(worker)] = 0 };
    if
    :: was -> was = false; send(worker, window, 0)
    :: else
    fi
  :: else
  fi
}

inline receive(from) {
  atomic {
    mail[3 * me + (from)]?kind, number;
    if
    :: kind == arrive ->
      kind = 0;
      assert(ROOT == false && count[SLOT(number)] > 0);
      count[SLOT(number)]--;
      if
      :: count[SLOT(number)] == 0 -> count[SLOT(number)] = INDEGREE; enqueue(number)
      :: else
      fi
    :: kind == window -> kind = 0; parked = false
    :: kind == look ->
      kind = 0;
#ifndef NO_ANSWER
      if
      :: through > number -> unpark(from)
      :: else
      fi
#else
      skip
#endif
    fi;
    number = 0
  }
}

inline execute(iteration) {
  atomic {
    ready = ready & ~BIT(iteration);
    assert((ran[me] & BIT(iteration)) == 0);
    assert(ROOT || EARLY(iteration) == false);
    ran[me] = ran[me] | BIT(iteration);
    at = iteration
  };
  if
#ifdef REFUSED
  :: me == 0 -> send(1, arrive, at); send(2, arrive, at)
#else
  :: me == 0 && at + 1 < ITERATIONS -> send(1, arrive, at + 1)
  :: me == 2 -> send(1, arrive, at)
#endif
  :: else
  fi;
#ifndef FINISHED_EARLY
  if
  :: at != through -> assert(at == through + 1); ahead = true
  :: else ->
    atomic { through = through + (ahead -> 2 : 1); ahead = false };
#else
    through++;
#endif
    buffer[me]!release, FINISHED(me), through;
    /* the light barrier: nothing that the processor does */
    unpark(NEXT);
    unpark(LAST);
    at = at + OVERLAP;
    do
    :: ROOT && at < ITERATIONS && at < through + OVERLAP -> enqueue(at); at++
    :: else -> break
    od;
#ifndef FINISHED_EARLY
  fi;
#endif
  at = 0;
  parked = false
}

inline heavy_barrier() {
#ifndef NO_HEAVY_BARRIER
  FLUSH(buffer[me]);
#ifdef REFUSED
  refused = true
#else
  if
  :: FLUSH(buffer[NEXT]) -> FLUSH(buffer[LAST])
  :: FLUSH(buffer[LAST]) -> FLUSH(buffer[NEXT])
  fi
#endif
#else
  skip
#endif
}

inline ask() {
  if
  :: refused ->
    refused = false;
    seen = memory[FINISHED(NEXT)];
    send(NEXT, look, seen);
    seen = memory[FINISHED(LAST)];
    send(LAST, look, seen);
    seen = 0
  :: else
  fi
}

#define OPEN (((deferred & 1) && least + OVERLAP > 0) || ((deferred & 2) && least + OVERLAP > 1) || ((deferred & 4) && least + OVERLAP > 2) || \
              ((deferred & 8) && least + OVERLAP > 3) || ((deferred & 16) && least + OVERLAP > 4))

#define MORE_FINISHED (memory[FINISHED(NEXT)] > least && memory[FINISHED(LAST)] > least && through > least)

/* To keep the search small, some only spin. */
#if defined(SPINNING)
#define PARKS false
#elif defined(REFUSED)
#define PARKS (me == 0)
#else
#define PARKS true
#endif

inline await_window() {
  look_for_least();
  if
  :: OPEN || !PARKS
  :: !OPEN && PARKS ->  /* for too long */
    buffer[me]!relaxed, PARKED(me), 1;
    heavy_barrier();
#ifdef PARK_ALL_THE_SAME
    refused = false;
#endif
#ifndef LOOK_BEFORE_ASKING
    ask();
#endif
#ifndef NO_SECOND_LOOK
    look_for_least();
#endif
    if
    :: OPEN -> buffer[me]!relaxed, PARKED(me), 0
    :: else -> parked = true
    fi;
#ifdef LOOK_BEFORE_ASKING
    ask();
#endif
  fi;
  atomic {
    do
    :: at < ITERATIONS && (deferred & BIT(at)) && at < least + OVERLAP ->
      deferred = deferred & ~BIT(at); ready = ready | BIT(at); at++
    :: at < ITERATIONS && !((deferred & BIT(at)) && at < least + OVERLAP) -> at++
    :: at == ITERATIONS -> at = 0; break
    od
  }
}

proctype worker(byte me) {
  byte ready;     /* iterations of its task, a bit each */
  byte deferred;
  byte count[3];  /* of task 1 */
  byte through;   /* what it stores in FINISHED */
  byte least;     /* of what it has seen of all */
  byte other, at, number, seen;
  mtype kind;
  bool ahead, parked, refused, was;
  atomic {
    count[0] = 1; count[1] = INDEGREE; count[2] = INDEGREE;  /* in the first iteration nothing is carried */
    if
    :: ROOT -> ready = BIT(OVERLAP) - 1
    :: else
    fi
  };
  do
  :: nempty(mail[3 * me + NEXT]) -> receive(NEXT)
  :: nempty(mail[3 * me + LAST]) -> receive(LAST)
  :: ready & 1 -> execute(0)
  :: ready & 2 -> execute(1)
  :: ready & 4 -> execute(2)
  :: ready & 8 -> execute(3)
  :: ready & 16 -> execute(4)
  :: ready == 0 && deferred != 0 && !parked && (PARKS || OPEN || MORE_FINISHED) -> await_window()
  :: through == ITERATIONS -> break
  od;
end:
  do
  :: nempty(mail[3 * me + NEXT]) -> receive(NEXT)
  :: nempty(mail[3 * me + LAST]) -> receive(LAST)
  od
}

init {
  atomic {
    run draining(0);
    run draining(1);
    run draining(2);
    run worker(0);
    run worker(1);
    run worker(2)
  }
}
