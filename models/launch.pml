/* src/rt/graph/graph_actors.cpp: launch, start_next, end_running, stop and meet_if_running. Threads outside launch a graph three times and
 * cancel it, while its actors run what has started, and fail, and end it.
 *
 * The graph has a task on each of two workers, one after the other, and a precondition before the first. Task 1 waits for a counter that
 * only grows, as in in_order.cpp; so does task 0, for its precondition. What is between a lock and its unlock is one step, and so
 * is each operation on `left`; how actors park is models/channel.pml. A launch that is stopped is one that was cancelled or is
 * stuck; here it may happen at any time.
 *
 * Property: no two launches run at a time; an actor runs its tasks only while their launch runs, and after their predecessor and
 * precondition; the event of each launch is settled once. If one never were, the search would end in a state that is no end.
 *
 * Here all events are set before, unless the variant says otherwise; to keep the search small no task fails there, and the event
 * of the last launch is set.
 *
 * variant:  PRECONDITIONS      each launch has an event for its precondition
 * variant:  AFTER              each launch comes after an event
 * variant:  HELD               nobody cancels: a launch is never found stuck, for it holds the runtime while it starts
 * mutation: NO_NUMBER          a start that comes late does not see that its launches were given up
 * mutation: NO_PLUS_ONE        a launch does not count itself among its actors while it starts
 * mutation: START_FIRST        the actors are told before the launch is said to run
 * mutation: MEET_LATE          an event that comes late meets a precondition of another launch
 * mutation: RESET_EARLY        the counters are reset when a launch is stopped, before all of its actors are through
 * mutation: LOSES_DROPPED      who ends a launch forgets those that failed with it
 * mutation: DROPS_RUNNING      what runs is settled at once when it is stopped, and again when it ends
 * mutation: NO_HOLD            launch does not hold the runtime
 */

#ifdef NO_HOLD
#define HELD
#endif

#ifdef MEET_LATE
#define PRECONDITIONS
#endif

#define LAUNCHES 3
#define MEMBERS 2
#define NOBODY 255
#define BIT(launch) (1 << (launch))

#ifdef HELD
#define STOPS 0
#else
#define STOPS 1
#endif

/* Protected by the mutex. */
chan queue = [LAUNCHES] of { byte };
byte dropped;              /* bits: they fail with the launch that runs */
byte number;
bool busy, is_running;
byte running = NOBODY;
byte begin, end_of_all;    /* iterations; each launch has one, or none if an event before it fails */

byte left;
bool failed;
byte holds;
chan mail[MEMBERS] = [LAUNCHES] of { byte };  /* to start: the iteration */
bool at_work[MEMBERS];                        /* an actor handles a message */

byte value, met;           /* the counter that task 1 waits for, and that of the precondition */
byte ran[MEMBERS];         /* bits: launches whose task k has run */
byte queued, settled;      /* how many; bits */
bool is_set[LAUNCHES];     /* the event of the launch */
byte waits[LAUNCHES];      /* the number with which someone waits for it; 0: nobody */
#if defined(AFTER) || defined(PRECONDITIONS)
byte throws = 0;
#else
byte throws = 1;
#endif

#define QUIET (empty(mail[0]) && empty(mail[1]) && !at_work[0] && !at_work[1] && holds == 0)

inline settle(launch) { d_step { assert((settled & BIT(launch)) == 0); settled = settled | BIT(launch) } }

inline settle_all(bits) {
  if
  :: bits & BIT(0) -> settle(0)
  :: else
  fi;
  if
  :: bits & BIT(1) -> settle(1)
  :: else
  fi;
  if
  :: bits & BIT(2) -> settle(2)
  :: else
  fi;
  bits = 0
}

/* From the queue to some bits. */
inline drop_queue(bits) {
  do
  :: queue?id -> bits = bits | BIT(id)
  :: empty(queue) -> break
  od
}

inline stop() {
  atomic {
    if
    :: is_running -> drop_queue(dropped); failed = true;
#ifdef RESET_EARLY
      value = end_of_all; met = end_of_all;
#endif
#ifdef DROPS_RUNNING
      mine = BIT(running);
#endif
    :: !is_running && busy -> drop_queue(mine); busy = false; number++
    :: else
    fi
  };
  settle_all(mine)
}

inline meet(launch, with) {
  atomic {
    if
#ifdef MEET_LATE
    :: is_running -> met = end_of_all
#else
    :: with == number && is_running -> met = end_of_all
#endif
    :: else
    fi
  }
}

#ifdef NO_NUMBER
#define IN_TIME true
#else
#define IN_TIME (last == number)
#endif

inline tell_actors() { mail[0]!begin; mail[1]!begin }

/* again: it is complete. */
inline start_next() {
  atomic {
    started = false;
    again = false;
    if
    :: IN_TIME ->
      number++;
      last = number;
      if
      :: empty(queue) -> busy = false
#ifdef AFTER
      :: queue?[id] ->
        queue?<id>;
        if
        :: is_set[id] -> started = true
        :: else -> waits[id] = number
        fi
#else
      :: nempty(queue) -> started = true
#endif
      fi
    :: else
    fi;
    if
    :: started ->
      assert(!is_running);
#ifdef START_FIRST
      begin = end_of_all;
    :: else
    fi
  };
  if
  :: started -> left = MEMBERS + 1; tell_actors()
  :: else
  fi;
  atomic {
    if
    :: started ->
#endif
      queue?id;
      running = id;
      is_running = true;
      begin = end_of_all;
      end_of_all++
    :: else
    fi
  };
  if
  :: started ->
#ifndef START_FIRST
#ifdef NO_PLUS_ONE
    left = MEMBERS;
#else
    left = MEMBERS + 1;
#endif
    tell_actors();
#endif
#ifndef AFTER
    atomic {
      if
      :: is_set[id] -> now = true
      :: else -> waits[id] = last
      fi
    };
    if
    :: now -> now = false; meet(id, last)
    :: else
    fi;
#endif
    atomic { left--; again = (left == 0); started = false }
  :: else
  fi
}

inline end_running() {
  atomic {
    last = number;
    id = running;
    assert(id != NOBODY);
    running = NOBODY;
    is_running = false;
#ifndef LOSES_DROPPED
    mine = dropped;
#endif
    dropped = 0;
    if
    :: failed -> failed = false; value = end_of_all; met = end_of_all
    :: else
    fi
  };
  settle(id);
  settle_all(mine)
}

inline start_and_complete() {
  start_next();
  do
  :: again -> end_running(); start_next()
  :: !again -> break
  od
}

proctype launcher(byte launches) {
  byte id, last, mine;
  bool again, started, now, was_busy;
  do
  :: launches > 0 ->
    launches--;
#ifndef NO_HOLD
    holds++;
#endif
    atomic { queue!queued; queued++; was_busy = busy; busy = true; last = number };
    if
    :: !was_busy -> start_and_complete()
    :: else
    fi;
#ifndef NO_HOLD
    holds--
#endif
  :: launches == 0 -> break
  od
}

proctype stopper() {
  byte id, mine;
  byte stops = STOPS;
  do
  :: stops > 0 -> stops--; stop()
  :: stops == 0 -> break
  od
}

/* Who sets the events, each after its launch was queued or before. */
proctype setter() {
  byte next, id, last, mine;
  bool again, started, now;
  do
  :: next < LAUNCHES - 1 ->
    atomic { is_set[next] = true; last = waits[next]; waits[next] = 0 };
    if
    :: last != 0 ->
#ifdef AFTER
      start_and_complete()
#else
      meet(next, last)
#endif
    :: else
    fi;
    next++
  :: next == LAUNCHES - 1 -> break
  od
}

#define RUNS assert(is_running && begin == iteration)

proctype actor(byte me) {
  byte iteration, id, last, mine;
  bool again, started, now;
end:
  do
  :: atomic { mail[me]?iteration -> at_work[me] = true };
#ifdef START_FIRST
    skip;
#else
    RUNS;
#endif
    if
    :: failed
    :: me == 0 && !failed && (met > iteration
#ifdef AFTER
        || true
#endif
      ) ->
      atomic {
        RUNS;
        assert(is_set[running]);
        ran[0] = ran[0] | BIT(running)
      };
      if
      :: atomic { throws > 0 -> throws--; failed = true }; stop()
      :: value = iteration + 1
      fi
    :: me == 1 && value > iteration ->  /* it looks whether the launch has failed only if it has to wait */
      atomic { RUNS; assert(ran[0] & BIT(running)); ran[1] = ran[1] | BIT(running) }
    fi;
    atomic { left--; again = (left == 0) };
    do
    :: again -> end_running(); start_next()
    :: !again -> break
    od;
    atomic { again = false; last = 0; id = 0; iteration = 0; at_work[me] = false }
  od
}

#ifdef HELD
/* Worker 0 looks for what is stuck. */
active proctype finds_stuck() {
end:
  atomic { QUIET && busy -> assert(false) }
}
#endif

/* Who waits for the launches. */
active proctype waiting() { settled == BIT(LAUNCHES) - 1 && !busy }

init {
  atomic {
    is_set[2] = true;
#if defined(AFTER) || defined(PRECONDITIONS)
    run setter();
#else
    is_set[0] = true; is_set[1] = true;
#endif
#ifndef HELD
    run stopper();
#endif
    run launcher(2);
    run launcher(1);
    run actor(0);
    run actor(1)
  }
}
