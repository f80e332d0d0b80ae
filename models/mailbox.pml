/* include/taskgrain/rt/detail/mailbox.hpp: a ring of three slots, which a sender and a receiver go round at least twice with messages of one slot
 * or of two.
 *
 * Property: what was sent is received, once, in order and with all of its words. If a message were lost, the search would end in a
 * state that is no end.
 *
 * mutation: SEND_RELAXED     the sender's store to the head is relaxed: it may pass those to the payload
 * mutation: RECEIVED_FIRST   the receiver gives the slots back before it has read the payload (a relaxed store might seem to)
 * mutation: NEVER_FULL       the sender does not look how far the receiver is
 * mutation: ONE_LAP          the bit does not change from lap to lap: the receiver takes what it has had for new
 * mutation: UNMARKED         a message's second slot is left with the bit of an earlier lap
 */

#include "store_buffer.pml"

#define CAPACITY 3
#ifndef MESSAGES
#define MESSAGES 8
#endif

#define HEAD(position) (2 * ((position) % CAPACITY))
#define PAYLOAD(position) (2 * ((position) % CAPACITY) + 1)
#define RECEIVED 6
#define LOCATIONS 7

#define SENDER 0
#define RECEIVER 1

#ifdef SEND_RELAXED
#define SEND_ORDER relaxed
#else
#define SEND_ORDER release
#endif

#ifdef ONE_LAP
#define LAP(position) 1
#else
#define LAP(position) (1 - ((position) / CAPACITY) % 2)
#endif

short memory[LOCATIONS];
chan buffer[2] = BUFFER(6);

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer[thread])
  :: DRAIN_RELAXED(buffer[thread], HEAD(0))
  :: DRAIN_RELAXED(buffer[thread], PAYLOAD(0))
  :: DRAIN_RELAXED(buffer[thread], HEAD(1))
  :: DRAIN_RELAXED(buffer[thread], PAYLOAD(1))
  :: DRAIN_RELAXED(buffer[thread], HEAD(2))
  :: DRAIN_RELAXED(buffer[thread], PAYLOAD(2))
  :: DRAIN_RELAXED(buffer[thread], RECEIVED)
  od
}

proctype sender() {
  byte message;
  byte sent;
  byte seen_received;
  byte more;
  do
  :: message < MESSAGES ->
    if
    :: more = 0
    :: more = 1
    fi;
#ifndef NEVER_FULL
    do
    :: sent + 1 + more - seen_received <= CAPACITY -> break
    :: else -> memory[RECEIVED] > seen_received; seen_received = memory[RECEIVED]
    od;
#endif
    if
    :: more == 1 ->
      buffer[SENDER]!relaxed, PAYLOAD(sent + 1), message + 1;
#ifndef UNMARKED
      buffer[SENDER]!relaxed, HEAD(sent + 1), LAP(sent + 1)
#endif
    :: else
    fi;
    buffer[SENDER]!relaxed, PAYLOAD(sent), message + 1;
    atomic {
      buffer[SENDER]!SEND_ORDER, HEAD(sent), 2 * more + LAP(sent);
      sent = sent + 1 + more;
      message++
    }
  :: else -> break
  od
}

proctype receiver() {
  byte message;
  byte received;
  byte more;
  short word0;
  short word1;
  do
  :: message < MESSAGES ->
    atomic { memory[HEAD(received)] % 2 == LAP(received); more = memory[HEAD(received)] / 2 }
#ifdef RECEIVED_FIRST
    buffer[RECEIVER]!release, RECEIVED, received + 1 + more;
#endif
    word0 = memory[PAYLOAD(received)];
    word1 = memory[PAYLOAD(received + more)];
#ifndef RECEIVED_FIRST
    buffer[RECEIVER]!release, RECEIVED, received + 1 + more;
#endif
    atomic {
      assert(word0 == message + 1 && word1 == message + 1);
      received = received + 1 + more;
      message++
    }
  :: else -> break
  od
}

init {
  atomic {
    run draining(SENDER);
    run draining(RECEIVER);
    run sender();
    run receiver()
  }
}
