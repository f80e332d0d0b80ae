/* Completion::reached and awaits (include/taskgrain/rt/detail/completion.hpp), Worker::publish_idle and sleep (src/rt/engine/worker.cpp,
 * work.hpp): worker 0 sleeps until everything is done. Two others become idle, and busy again when they get a message.
 *
 * A look at the workers stops at one that is busy: it is awaited, and the next look goes on there. If a look comes to the end, and not
 * all is done, anybody is awaited. Only who is awaited wakes worker 0 when it becomes idle.
 *
 * That a look is right when it finds that all is done is models/quiescence.pml, and how the kernel lets a thread sleep is
 * models/sleep.pml; here the number of messages under way is known to all, and to sleep is one step.
 *
 * Property: worker 0 finds that all is done. If it slept for ever, the search would end in a state that is no end.
 *
 * variant:  SYMMETRIC          no membarrier: the others have a fence of their own
 * mutation: NO_HEAVY_BARRIER   nothing between "asleep" and the last look
 * mutation: CHANGE_IGNORED     worker 0 sleeps although its last look has found another worker to await
 * mutation: NO_RESET           a look that comes to the end leaves who was awaited
 * mutation: NOT_ANYBODY        who becomes idle tells only if it is awaited by name
 * mutation: ASKS_FIRST         who becomes idle asks whether it is awaited, and then publishes that it is idle
 */

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
chan buffer[OTHERS + 1] = BUFFER(4);

byte to_send = MESSAGES;
byte under_way;
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

inline await(worker) {
  if
  :: awaited != worker -> awaited = worker; buffer[0]!relaxed, AWAITED, worker
  :: else
  fi
}

/* At worker `seen` + 1. What worker 0 stores is seen by others only when its buffer is drained. */
inline look_at_next() {
  atomic {
    epochs[seen] = memory[EPOCH(seen + 1)];
    if
    :: epochs[seen] % 2 == 1 -> epochs[seen] = 0; await(seen + 1); goto looked
    :: else -> seen++
    fi
  }
}

inline look_again(k) {
  if
  :: memory[EPOCH(k + 1)] != epochs[k] -> goto looked
  :: else
  fi
}

/* Goes on where the last look has stopped. Sets `done`. */
inline look() {
  do
  :: seen < OTHERS -> look_at_next()
  :: else -> break
  od;
  atomic {
    seen = 0;
#ifndef NO_RESET
    await(ANYBODY)
#endif
  };
  if
  :: under_way > 0 -> goto looked
  :: else
  fi;
  look_again(0);
  look_again(1);
  done = true
}

proctype worker0() {
  byte awaited = ANYBODY;
  byte before;
  byte seen;
  byte epochs[OTHERS];
  bool done, last;
  do
  :: last = false;
again:
    look();
looked:
    if
    :: done -> break
    :: !done && !last ->
      before = awaited;
      buffer[0]!relaxed, STATE, ASLEEP;
      heavy_barrier();
      last = true;
      goto again
    :: !done && last ->
      if
#ifndef CHANGE_IGNORED
      :: awaited != before -> skip
      :: awaited == before ->
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
    if
    :: memory[STATE] == ASLEEP -> atomic { FLUSH(buffer[me]); memory[STATE] = AWAKE }
    :: else
    fi
  :: else
  fi
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
    run other(2)
  }
}
