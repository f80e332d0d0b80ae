/* include/taskgrain/rt/detail/inbox.hpp with sleep.hpp: one receiver, and two senders whose mailboxes share a bit.
 *
 * At first the receiver looks at both mailboxes. At some time it wants notices, and from then on looks only where a bit is set. It may
 * sleep before and after. A mailbox is a counter here; models/mailbox.pml has what is in it.
 *
 * Property: the receiver gets all messages. If one lay there and nobody told it, the search would end in a state that is no end.
 *
 * variant:  SYMMETRIC           no membarrier: senders have a fence of their own between the message and the look at the state
 * mutation: NO_SENDERS_FENCE    nothing between the message and the look at the bit
 * mutation: BIT_FIRST           the sender looks at the bit, and then writes the message
 * mutation: CLEAR_LAST          the receiver clears the bit when it has looked
 * mutation: NO_SWEEP            the receiver wants notices, and does not look once more at all mailboxes
 * mutation: NO_BARRIER          nothing between "I want notices" and that look
 * mutation: WAKE_FIRST          the sender looks whether the receiver sleeps, and then sets the bit
 * mutation: WAKER_FORGETS       who wakes the receiver writes that it wants no notices
 */

#include "store_buffer.pml"

#ifndef MESSAGES
#define MESSAGES 2  /* of each sender */
#endif

#define ASLEEP 1
#define NOTICES 2

#define STATE 0
#define SENT(sender) (sender)  /* messages of sender 1, 2 */
#define BIT 3
#define LOCATIONS 4

short memory[LOCATIONS];
bool queued;  /* the receiver, in the kernel */

chan buffer[3] = BUFFER(3);  /* of the receiver, 0, and of the senders */

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
  FLUSH(buffer[0]);
#ifndef SYMMETRIC
  if
  :: FLUSH(buffer[1]) -> FLUSH(buffer[2])
  :: FLUSH(buffer[2]) -> FLUSH(buffer[1])
  fi
#endif
}

#define NEW(sender) (memory[SENT(sender)] > received[sender])

proctype receiver() {
  byte received[3];
  byte mode;  /* 0 or NOTICES */
  bool work;
  do
  :: received[1] == MESSAGES && received[2] == MESSAGES -> break
  :: mode == 0 && NEW(1) -> received[1]++
  :: mode == 0 && NEW(2) -> received[2]++
  :: mode == 0 ->  /* too many senders by now */
    mode = NOTICES;
    buffer[0]!relaxed, STATE, NOTICES;
#ifndef NO_BARRIER
    heavy_barrier();
#endif
#ifndef NO_SWEEP
    atomic { FLUSH(buffer[0]); memory[BIT] = 1 }
#endif
  :: mode == NOTICES && memory[BIT] == 1 ->
#ifndef CLEAR_LAST
    atomic { FLUSH(buffer[0]); memory[BIT] = 0 }
#endif
    received[1] = memory[SENT(1)];
    received[2] = memory[SENT(2)];
#ifdef CLEAR_LAST
    atomic { FLUSH(buffer[0]); memory[BIT] = 0 }
#endif
  :: received[1] < MESSAGES || received[2] < MESSAGES ->  /* whether it has seen a message or not: what it saw is old by now */
    buffer[0]!relaxed, STATE, mode + ASLEEP;
    heavy_barrier();
    if
    :: mode == 0 -> work = NEW(1); work = work || NEW(2)
    :: else -> work = memory[BIT]
    fi;
    if
    :: work -> atomic { work = false; buffer[0]!relaxed, STATE, mode }
    :: else ->
      do
      :: memory[STATE] != mode + ASLEEP && empty(buffer[0]) -> break
      :: memory[STATE] == mode + ASLEEP || nempty(buffer[0]) ->  /* futex(2): a full barrier, and the look and the queueing are one */
        atomic { FLUSH(buffer[0]); queued = (memory[STATE] == mode + ASLEEP) };
        !queued
      od
    fi
  od
}

inline wake() {
  light_barrier(me);
  if
  :: memory[STATE] % 2 == ASLEEP ->
    atomic {
      FLUSH(buffer[me]);
      was = memory[STATE];
#ifdef WAKER_FORGETS
      memory[STATE] = 0
#else
      memory[STATE] = was - was % 2
#endif
    }
    if
    :: was % 2 == ASLEEP -> atomic { was = 0; queued = false }
    :: else -> was = 0
    fi
  :: else
  fi
}

inline set_bit() {
#ifndef NO_SENDERS_FENCE
  FLUSH(buffer[me]);
#endif
  if
  :: memory[BIT] == 0 -> atomic { FLUSH(buffer[me]); memory[BIT] = 1 }
  :: else
  fi
}

proctype sender(byte me) {
  byte message;
  short was;
  do
  :: message < MESSAGES ->
#ifdef BIT_FIRST
    set_bit();
#endif
    atomic { message++; buffer[me]!release, SENT(me), message };
    light_barrier(me);
    if
    :: memory[STATE] != 0 ->
#ifdef WAKE_FIRST
      wake();
#endif
#ifndef BIT_FIRST
      set_bit();
#endif
#ifndef WAKE_FIRST
      wake();
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
    run receiver();
    run sender(1);
    run sender(2)
  }
}
