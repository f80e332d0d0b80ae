/* TerminationDetection (src/rt/comm/termination_detection.hpp): ranks find out that nothing is left to do on any of them. The root asks all ranks, over a tree,
 * to count when they are idle, and asks again; if both waves have the same sums, and as much was processed as queued, it tells all
 * that the epoch has ended. Here are three ranks that wait twice, one after the other, without anything that holds them together.
 *
 * Each rank has a user, who adds tasks and then waits, a thread that looks whether the rank is idle and tells TerminationDetection later, and
 * workers that take messages and run tasks; a task, or who handles a message, may send. Whatever was sent arrives in any order: each
 * packet has a place of its own. What TerminationDetection does when it is called is one step, because its calls take turns. Waves have no
 * numbers, since a rank is asked for one when it has counted for the one before.
 *
 * Property: when the root ends an epoch, all ranks wait in it and no message is under way, handled, and no task left; it ends each
 * epoch once, with the number of ranks that are stuck, and after it was so, begins at most two more waves. Each rank hears of it, so
 * that no rank waits for ever. (Liveness, with two ranks, one message and weak fairness: both epochs end.)
 *
 * variant:  CHAIN              rank 2 is the child of rank 1, which is the child of the root
 * variant:  TWO_RANKS          two ranks, three messages
 * variant:  NUMBERED           the thread tells what it saw, unless something has come for TerminationDetection since; elsewhere it compares its
 *                              counts with those of now
 * variant:  PROCESSED_ALONE    the second wave compares only what was processed, which is enough
 * liveness: ends
 * mutation: QUEUED_ALONE       it compares only what was queued
 * mutation: ONE_WAVE           the first wave with as much processed as queued ends the epoch
 * mutation: NO_SUMS            two equal waves end it, whatever was queued
 * mutation: NO_EPOCH           a rank counts whenever it is asked, and takes any end for its own
 * mutation: FEW_BITS           the counters of a rank wrap, the sums do not
 * mutation: HELPER_UNCOUNTED   a message may come from a thread whose messages nobody counts
 * mutation: DEVICE_FORGOTTEN   a rank whose task is at a device is idle
 * mutation: EFFECTS_LATE       a message is counted as processed before it is handled, and who handles it does not count as busy
 * mutation: OTHER_TIME         the counts are of now, and the rank was idle at some time since it began to wait
 * mutation: BEFORE_ASKED       the counts are of that moment, and that of before the rank was asked
 * mutation: DROPPED_REQUEST    who is asked before it waits, or in the epoch before, forgets it
 * mutation: FINISHES_TWICE     the root goes on to ask after the end
 * liveness mutation: QUEUED_TWICE   a message is counted twice by its sender
 */

#if defined(LIVENESS) || defined(TWO_RANKS) || defined(BEFORE_ASKED)
#define RANKS 2
#else
#define RANKS 3
#endif
#ifndef MESSAGES
#ifdef LIVENESS
#define MESSAGES 1
#elif defined(TWO_RANKS)
#define MESSAGES 3
#else
#define MESSAGES 2
#endif
#endif
#ifndef TASKS
#define TASKS 2  /* that users add, in all */
#endif
#define EPOCHS 2
#define LAST (RANKS - 1)  /* so that loops unrolled for three do no harm to two */

#if defined(NUMBERED) || defined(BEFORE_ASKED)
#define OLD_COUNTS
#endif
/* Where mutations are to fail by what they are about. */
#if defined(QUEUED_ALONE) || defined(ONE_WAVE) || defined(BEFORE_ASKED)
#define ANY_STUCK
#endif
#if defined(BEFORE_ASKED) || defined(LIVENESS)
#define MORE_WAVES
#endif

#ifdef CHAIN
#define CHILDREN(rank) ((rank) < LAST)
#else
#define CHILDREN(rank) ((rank) == 0 -> LAST : 0)
#endif

#ifdef QUEUED_TWICE
#define QUEUED 2
#else
#define QUEUED 1
#endif

#ifdef FEW_BITS
#define WIDTH(count) ((count) % 2)
#else
#define WIDTH(count) (count)
#endif

/* Of the user, the workers and the threads of each rank. */
byte messages = MESSAGES, fresh = TASKS;  /* that may still come */
byte epoch[RANKS];   /* begun */
bool waits[RANKS];   /* in the last of them */
byte mail[RANKS], handled[RANKS], tasks[RANKS], queued[RANKS], processed[RANKS];
bool stuck[RANKS];
bool seen[RANKS];    /* it was idle, and its counts are the same since */
#ifdef HELPER_UNCOUNTED
byte uncounted[RANKS];
#endif
#ifdef DEVICE_FORGOTTEN
byte at_device[RANKS];
#endif
#ifdef OLD_COUNTS
byte old_queued[RANKS], old_processed[RANKS];
#endif

/* What TerminationDetection knows. */
bool is_done[RANKS];
byte asked[RANKS];   /* the epoch */
bool counted[RANKS];
byte heard[RANKS], sum_queued[RANKS], sum_processed[RANKS], sum_stuck[RANKS];
byte waves, queued_before, processed_before;  /* of the root. 2 waves are many */

/* On their way. */
byte ask_to[RANKS];      /* its epoch */
bool counts_of[RANKS];
byte counts_queued[RANKS], counts_processed[RANKS], counts_stuck[RANKS];
byte done_to[RANKS];     /* a bit for each epoch */

/* For the properties. */
byte ended;              /* by the root */
byte late;               /* waves that it has begun since nothing is left */

#ifdef EFFECTS_LATE
#define HANDLING(rank) 0
#else
#define HANDLING(rank) handled[rank]
#endif
#define IDLE(rank) (HANDLING(rank) + tasks[rank] == 0)

#if RANKS == 3
#define ALL(what) (what(0) && what(1) && what(2))
#else
#define ALL(what) (what(0) && what(1))
#endif
#ifdef HELPER_UNCOUNTED
#define QUIET(rank) (mail[rank] + handled[rank] + tasks[rank] + uncounted[rank] == 0 && epoch[rank] >= epoch[0])
#elif defined(DEVICE_FORGOTTEN)
#define QUIET(rank) (mail[rank] + handled[rank] + tasks[rank] + at_device[rank] == 0 && epoch[rank] >= epoch[0])
#else
#define QUIET(rank) (mail[rank] + handled[rank] + tasks[rank] == 0 && epoch[rank] >= epoch[0])
#endif
#define THROUGH(rank) (epoch[rank] == EPOCHS && !waits[rank])

ltl ends { <> ALL(THROUGH) }

/* The counts of the rank have changed. */
inline changed() {
#if !defined(OTHER_TIME) && !defined(OLD_COUNTS)
  seen[me] = false
#else
  skip
#endif
}

/* Something has come for TerminationDetection. */
inline has_heard() {
#ifdef NUMBERED
  seen[me] = false
#else
  skip
#endif
}

inline begin_wave(which) {
  asked[me] = which;
  counted[me] = false;
  heard[me] = 0;
  sum_queued[me] = 0;
  sum_processed[me] = 0;
  sum_stuck[me] = 0;
  if
  :: me == 0 ->
    assert(ended < which);
#ifndef MORE_WAVES
    late = late + ALL(QUIET);
    assert(late <= 2)
#endif
  :: else
  fi;
  if
  :: CHILDREN(me) >= 1 -> ask_to[me + 1] = which
  :: else
  fi;
  if
  :: CHILDREN(me) == 2 -> ask_to[LAST] = which
  :: else
  fi
}

inline end_epoch() {
  is_done[me] = true;
  if
  :: CHILDREN(me) >= 1 -> done_to[me + 1] = done_to[me + 1] | (1 << epoch[me])
  :: else
  fi;
  if
  :: CHILDREN(me) == 2 -> done_to[LAST] = done_to[LAST] | (1 << epoch[me])
  :: else
  fi
}

#ifdef NO_EPOCH
#define IS_ASKED(rank) true
#define IS_MINE done_to[me] != 0
#else
#define IS_ASKED(rank) (asked[rank] == epoch[rank])
#define IS_MINE (done_to[me] & (1 << epoch[me])) != 0
#endif

#ifdef QUEUED_ALONE
#define SAME (sum_queued[0] == queued_before)
#elif defined(PROCESSED_ALONE)
#define SAME (sum_processed[0] == processed_before)
#else
#define SAME (sum_queued[0] == queued_before && sum_processed[0] == processed_before)
#endif
#ifdef ONE_WAVE
#define STAYED true
#else
#define STAYED (waves == 2 && SAME)
#endif
#ifdef NO_SUMS
#define BALANCED true
#else
#define BALANCED (sum_queued[0] == sum_processed[0])
#endif

/* The rank adds its own counts to those of its children, and says them to its parent; the root decides. */
inline count() {
  counted[me] = true;
#ifdef OLD_COUNTS
  sum_queued[me] = sum_queued[me] + old_queued[me];
  sum_processed[me] = sum_processed[me] + old_processed[me];
#else
  sum_queued[me] = sum_queued[me] + WIDTH(queued[me]);
  sum_processed[me] = sum_processed[me] + WIDTH(processed[me]);
#endif
  sum_stuck[me] = sum_stuck[me] + stuck[me];
  if
  :: me > 0 ->
    counts_of[me] = true;
    counts_queued[me] = sum_queued[me];
    counts_processed[me] = sum_processed[me];
    counts_stuck[me] = sum_stuck[me]
  :: else ->
    if
    :: STAYED && BALANCED ->
      assert(ended + 1 == epoch[0]);
      assert(ALL(QUIET));
#ifdef ANY_STUCK
#elif RANKS == 3
      assert(sum_stuck[0] == stuck[0] + stuck[1] + stuck[2]);
#else
      assert(sum_stuck[0] == stuck[0] + stuck[1]);
#endif
      ended = epoch[0];
      waves = 0;
      queued_before = 0;
      processed_before = 0;
      late = 0;
      end_epoch();
#ifdef FINISHES_TWICE
      begin_wave(epoch[0])
#endif
    :: else ->
      waves = 2;
      queued_before = sum_queued[0];
      processed_before = sum_processed[0];
      begin_wave(epoch[0])
    fi
  fi;
  sum_queued[me] = 0;
  sum_processed[me] = 0;
  sum_stuck[me] = 0
}

inline hear(child) {
  has_heard();
  heard[me]++;
  sum_queued[me] = sum_queued[me] + counts_queued[child];
  sum_processed[me] = sum_processed[me] + counts_processed[child];
  sum_stuck[me] = sum_stuck[me] + counts_stuck[child];
  counts_of[child] = false;
  counts_queued[child] = 0;
  counts_processed[child] = 0;
  counts_stuck[child] = 0
}

/* The user, the thread that looks and tells, and what comes for TerminationDetection. */
proctype waiting(byte me) {
  byte which;
  do
  :: atomic { !waits[me] && epoch[me] < EPOCHS && fresh > 0 -> fresh--; tasks[me]++ }
  :: atomic { !waits[me] && epoch[me] < EPOCHS -> epoch[me]++; waits[me] = true; is_done[me] = false; seen[me] = false }
  :: atomic { waits[me] && is_done[me] -> waits[me] = false; seen[me] = false; stuck[me] = false }
  :: !waits[me] && epoch[me] == EPOCHS -> break

  :: atomic { waits[me] && !seen[me] && IDLE(me) -> seen[me] = true;
#ifdef OLD_COUNTS
      old_queued[me] = queued[me];
      old_processed[me] = processed[me]
#endif
    }
  :: d_step { waits[me] && seen[me] && me == 0 && asked[0] != epoch[0] -> waves = 1; begin_wave(epoch[0]) }
  :: d_step { waits[me] && seen[me] && IS_ASKED(me) && !counted[me] && heard[me] == CHILDREN(me) ->
#ifndef OTHER_TIME
      seen[me] = false;
#endif
      count()
    }

  :: d_step { ask_to[me] != 0 -> which = ask_to[me]; ask_to[me] = 0; has_heard();
#ifdef DROPPED_REQUEST
      if
      :: which == epoch[me] && waits[me] -> begin_wave(which)
      :: else
      fi;
#else
      begin_wave(which);
#endif
      which = 0
    }
  :: d_step { CHILDREN(me) >= 1 && counts_of[(me + 1) % RANKS] -> hear((me + 1) % RANKS) }
#if RANKS == 3 && !defined(CHAIN)
  :: d_step { me == 0 && counts_of[2] -> hear(2) }
#endif
  :: d_step { IS_MINE && !is_done[me] ->
      assert(ended >= epoch[me]);
      done_to[me] = 0;
      end_epoch()
    }
  od
}

inline send(to) { messages--; queued[me] = queued[me] + QUEUED; changed(); mail[to]++ }

/* Messages are handled and tasks run, each by some thread of the rank. */
proctype working(byte me) {
end:
  do
#ifdef EFFECTS_LATE
  :: d_step { mail[me] > 0 -> mail[me]--; handled[me]++; processed[me]++; changed() }
  :: d_step { handled[me] > 0 -> handled[me]--; tasks[me]++ }
#else
  :: d_step { mail[me] > 0 -> mail[me]--; handled[me]++ }
  :: d_step { handled[me] > 0 -> handled[me]--; tasks[me]++; processed[me]++; changed() }
#endif
  :: atomic { messages > 0 && tasks[me] + handled[me] > 0 ->
      if
      :: send((me + 1) % RANKS)
#if RANKS == 3
      :: send((me + 2) % RANKS)
#endif
#ifdef HELPER_UNCOUNTED
      :: tasks[me] > 0 -> messages--; uncounted[(me + 1) % RANKS]++
#endif
      fi
    }
  :: atomic { tasks[me] > 0 -> tasks[me]--;
      if
      :: true
      :: me == LAST -> stuck[me] = true  /* it has made one that waits for what never comes; this rank is enough */
      fi
    }
#ifdef HELPER_UNCOUNTED
  :: d_step { uncounted[me] > 0 -> uncounted[me]--; tasks[me]++ }
#endif
#ifdef DEVICE_FORGOTTEN
  :: d_step { tasks[me] > 0 -> tasks[me]--; at_device[me]++ }
  :: d_step { at_device[me] > 0 -> at_device[me]--; tasks[me]++ }
#endif
  od
}

init {
  byte k;
  atomic {
    do
    :: k < RANKS -> counted[k] = true; is_done[k] = true; run waiting(k); run working(k); k++
    :: else -> break
    od
  }
}
