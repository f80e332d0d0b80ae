/* Completion (include/taskgrain/rt/detail/completion.hpp), Worker::publish_idle and sleep (src/rt/engine/worker.cpp, work.hpp): worker 0
 * sleeps until everything is done. Two others become idle, and busy again when they get a message. A thread outside ends a hold.
 *
 * A look at the workers stops at one that is busy, and the next look goes on there. If that comes to the end, and not all is done as far as
 * it knows, a whole look follows. Before worker 0 sleeps, it says whom it awaits: the worker at which its last look has stopped, or anybody.
 * Only who is awaited wakes it on becoming idle. It does not sleep if the look that follows stops elsewhere.
 *
 * That a look is right when it finds that all is done is models/quiescence.pml, and how the kernel lets a thread sleep is
 * models/sleep.pml; here the number of messages under way is known to all, and to sleep is one step. Waits for one thing are left out:
 * they await anybody, and nap. So are other threads that wait; they are woken by all that become idle.
 *
 * Property: worker 0 finds that all is done. If it slept for ever, the search would end in a state that is no end.
 *
 * variant:  SYMMETRIC          no membarrier: the others have a fence of their own
 * variant:  INHERITED          the look goes on where an earlier wait has left it, and its first part is out of date
 * mutation: NO_HEAVY_BARRIER   nothing between "asleep" and the last look
 * mutation: CHANGE_IGNORED     worker 0 sleeps although its last look has stopped elsewhere
 * mutation: NOT_ANYBODY        who becomes idle tells only if it is awaited by name
 * mutation: ASKS_FIRST         who becomes idle asks whether it is awaited, and then publishes that it is idle
 * mutation: NO_WHOLE_LOOK      no whole look follows one that went on; with INHERITED
 */

#ifdef NO_WHOLE_LOOK
#define INHERITED
#endif

#include "store_buffer.pml"

#define OTHERS 2
#ifndef MESSAGES
#define MESSAGES 2
#endif

#define ASLEEP 1
#define AWAKE 0
#define ANYBODY 0

#define STATE 0           /* of worker 0 */
#define EPOCH(k) (k)      /* of worker 1, 2 */
#define AWAITED 3
#define LOCATIONS 4

short memory[LOCATIONS];
chan buffer[OTHERS + 2] = BUFFER(4);  /* that of the thread outside stays empty */

byte to_send = MESSAGES;
byte under_way;
byte holds = 1;
byte mail[OTHERS + 1];

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer[thread])
  :: DRAIN_RELAXED(buffer[thread], STATE)
  :: DRAIN_RELAXED(buffer[thread], AWAITED)
  od
}

inline heavy_barrier() {
#ifndef NO_HEAVY_BARRIER
  FLUSH(buffer[0]);
#ifndef SYMMETRIC
  if
  :: FLUSH(buffer[1]) -> FLUSH(buffer[2])
  :: FLUSH(buffer[2]) -> FLUSH(buffer[1])
  fi
#endif
#else
  skip
#endif
}

/* At worker `left`. */
inline look_at_next() {
  atomic {
    epochs[left - 1] = memory[EPOCH(left)];
    if
    :: epochs[left - 1] % 2 == 1 -> epochs[left - 1] = 0; busy = left; goto looked
    :: else -> left--
    fi
  }
}

inline look_again(k) {
  if
  :: memory[EPOCH(k)] != epochs[k - 1] -> goto failed
  :: else
  fi
}

/* Sets `done`. */
inline look() {
  if
  :: holds > 0 -> goto looked
  :: else
  fi;
  resumed = (left < OTHERS);
whole:
  do
  :: left > 0 -> look_at_next()
  :: else -> break
  od;
  atomic { left = OTHERS; busy = ANYBODY };
  if
  :: under_way > 0 -> goto failed
  :: else
  fi;
  look_again(1);
  look_again(2);
  if
  :: holds > 0 -> goto failed
  :: else -> done = true; goto looked
  fi;
failed:
#ifndef NO_WHOLE_LOOK
  if
  :: resumed -> resumed = false; goto whole
  :: else
  fi
#else
  skip
#endif
}

proctype worker0() {
  byte left = OTHERS;
  byte busy = ANYBODY;
  byte before;
  byte epochs[OTHERS];
  bool done, last, resumed;
#ifdef INHERITED
  atomic { left = 1; epochs[1] = 200 };
#endif
  do
  :: last = false;
again:
    look();
looked:
    if
    :: done -> break
    :: !done && !last ->
      before = busy;
      buffer[0]!relaxed, AWAITED, before;
      buffer[0]!relaxed, STATE, ASLEEP;
      heavy_barrier();
      last = true;
      goto again
    :: !done && last ->
      if
#ifndef CHANGE_IGNORED
      :: busy != before -> skip
      :: busy == before ->
#else
      :: true ->
#endif
        FLUSH(buffer[0]);  /* futex(2) */
        memory[STATE] == AWAKE
      fi;
      buffer[0]!relaxed, STATE, AWAKE
    fi
  od
}

inline wake() {
  if
  :: memory[STATE] == ASLEEP -> atomic { FLUSH(buffer[me]); memory[STATE] = AWAKE }
  :: else
  fi
}

inline tell_if_awaited() {
#ifdef SYMMETRIC
  FLUSH(buffer[me]);
#endif
#ifndef ASKS_FIRST
  awaited = memory[AWAITED];
#endif
  if
#ifndef NOT_ANYBODY
  :: awaited == ANYBODY || awaited == me ->
#else
  :: awaited == me ->
#endif
    wake()
  :: else
  fi
}

/* The end of a hold is a read-modify-write. */
proctype thread_outside() {
  byte me = 3;
  holds--;
  wake()
}

proctype other(byte me) {
  byte epoch = 1;
  byte awaited;
end:
  do
  :: atomic { epoch % 2 == 1 && to_send > 0 -> to_send--; under_way++; mail[3 - me]++ }
  :: atomic { mail[me] > 0 ->
      if
      :: epoch % 2 == 0 -> epoch++; buffer[me]!release, EPOCH(me), epoch
      :: else
      fi };
    atomic { FLUSH(buffer[me]); mail[me]--; under_way-- }  /* whoever sees what it has received sees that it is busy */
  :: epoch % 2 == 1 && mail[me] == 0 ->
#ifdef ASKS_FIRST
    awaited = memory[AWAITED];
#endif
    atomic { epoch++; buffer[me]!release, EPOCH(me), epoch };
    tell_if_awaited()
  od
}

init {
  atomic {
    memory[EPOCH(1)] = 1;
    memory[EPOCH(2)] = 1;
    run draining(0);
    run draining(1);
    run draining(2);
    run worker0();
    run other(1);
    run other(2);
    run thread_outside()
  }
}
