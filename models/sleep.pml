/* include/taskgrain/rt/detail/sleep.hpp and src/rt/engine/sleep.cpp: one sleeper, two wakers.
 *
 * Property: the sleeper gets all that is published for it. If it slept for ever while work is there, the search would end in a state
 * that is no end.
 *
 * variant:  SYMMETRIC           no membarrier: the waker has a fence of its own
 * mutation: NO_HEAVY_BARRIER    nothing between "asleep" and the second look
 * mutation: NO_MEMBARRIER       only the sleeper's own fence there, and none in the waker
 * mutation: NO_SECOND_LOOK      the sleeper does not look for work again
 * mutation: NOTIFY_FIRST        wake_now notifies and then writes "awake"
 * mutation: WAIT_BLINDLY        the sleeper waits without the kernel's look whether it is still asleep
 */

#include "store_buffer.pml"

#define WAKERS 2
#ifndef MESSAGES
#define MESSAGES 2  /* of each waker */
#endif

#define ASLEEP 1
#define AWAKE 0

#define STATE 0
#define PUBLISHED(waker) (waker)  /* how many messages of waker 1, 2 are there */
#define LOCATIONS 3

short memory[LOCATIONS];
bool queued;  /* the sleeper, in the kernel */

chan buffer[LOCATIONS] = BUFFER(3);  /* of the sleeper, 0, and of the wakers */

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer[thread])
  :: DRAIN_RELAXED(buffer[thread], STATE)
  od
}

inline light_barrier(thread) {
#ifdef SYMMETRIC
  FLUSH(buffer[thread])
#else
  skip
#endif
}

/* membarrier: every other thread passes a full barrier some time between call and return. */
inline heavy_barrier() {
#ifndef NO_HEAVY_BARRIER
  FLUSH(buffer[0]);
#if !defined(SYMMETRIC) && !defined(NO_MEMBARRIER)
  if
  :: FLUSH(buffer[1]) -> FLUSH(buffer[2])
  :: FLUSH(buffer[2]) -> FLUSH(buffer[1])
  fi
#endif
#else
  skip
#endif
}

#define WORK(waker) (memory[PUBLISHED(waker)] > consumed[waker])

proctype sleeper() {
  byte consumed[WAKERS + 1];
  bool work;
  do
  :: WORK(1) -> consumed[1]++
  :: WORK(2) -> consumed[2]++
  :: consumed[1] == MESSAGES && consumed[2] == MESSAGES -> break
  :: consumed[1] < MESSAGES || consumed[2] < MESSAGES ->  /* whether it has seen work or not: what it saw is old by now */
    buffer[0]!relaxed, STATE, ASLEEP;
    heavy_barrier();
#ifdef NO_SECOND_LOOK
    work = false;
#else
    work = WORK(1);
    work = work || WORK(2);
#endif
    if
    :: work -> atomic { work = false; buffer[0]!relaxed, STATE, AWAKE }
    :: else ->
      do
      :: memory[STATE] != ASLEEP && empty(buffer[0]) -> break
      :: memory[STATE] == ASLEEP || nempty(buffer[0]) ->  /* futex(2): a full barrier, and the look and the queueing are one */
#ifdef WAIT_BLINDLY
        atomic { FLUSH(buffer[0]); queued = true };
#else
        atomic { FLUSH(buffer[0]); queued = (memory[STATE] == ASLEEP) };
#endif
        !queued
      od
    fi
  od
}

inline write_awake() {
  atomic { FLUSH(buffer[me]); was = memory[STATE]; memory[STATE] = AWAKE }
}

proctype waker(byte me) {
  byte message;
  short was;
  do
  :: message < MESSAGES ->
    atomic { message++; buffer[me]!release, PUBLISHED(me), message };
    light_barrier(me);
    if
    :: memory[STATE] == ASLEEP ->
#ifdef NOTIFY_FIRST
      queued = false;
      write_awake();
#else
      write_awake();
      if
      :: was == ASLEEP -> queued = false
      :: else
      fi
#endif
    :: else
    fi
  :: else -> break
  od
}

init {
  atomic {
    run draining(0);
    run draining(1);
    run draining(2);
    run sleeper();
    run waker(1);
    run waker(2)
  }
}
