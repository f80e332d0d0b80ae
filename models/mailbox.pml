/* include/taskgrain/rt/mailbox.hpp: a ring of two slots of two words, which a sender and a receiver go round more than twice.
 *
 * Property: what was sent is received, once, in order and with all of its words. If an entry were lost, the search would end in a
 * state that is no end.
 *
 * mutation: SEND_RELAXED     the sender's store to the word is relaxed: it may pass those to the payload
 * mutation: RECEIVED_FIRST   the receiver gives the slot back before it has read the payload (a relaxed store might seem to)
 * mutation: NEVER_FULL       the sender does not look how far the receiver is
 * mutation: ONE_LAP          the bit does not change from lap to lap: the receiver takes what it has had for new
 */

#include "store_buffer.pml"

#define CAPACITY 2
#ifndef MESSAGES
#define MESSAGES 6
#endif

#define LAP_WORD(position) (3 * ((position) % CAPACITY))
#define WORD(position, word) (3 * ((position) % CAPACITY) + 1 + (word))
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
  :: DRAIN_RELAXED(buffer[thread], LAP_WORD(0))
  :: DRAIN_RELAXED(buffer[thread], WORD(0, 0))
  :: DRAIN_RELAXED(buffer[thread], WORD(0, 1))
  :: DRAIN_RELAXED(buffer[thread], LAP_WORD(1))
  :: DRAIN_RELAXED(buffer[thread], WORD(1, 0))
  :: DRAIN_RELAXED(buffer[thread], WORD(1, 1))
  :: DRAIN_RELAXED(buffer[thread], RECEIVED)
  od
}

proctype sender() {
  byte sent;
  byte seen_received;
  do
  :: sent < MESSAGES ->
#ifndef NEVER_FULL
    do
    :: sent - seen_received < CAPACITY -> break
    :: else -> memory[RECEIVED] > seen_received; seen_received = memory[RECEIVED]
    od;
#endif
    buffer[SENDER]!relaxed, WORD(sent, 0), sent + 1;
    buffer[SENDER]!relaxed, WORD(sent, 1), sent + 1;
    atomic { buffer[SENDER]!SEND_ORDER, LAP_WORD(sent), LAP(sent); sent++ }
  :: else -> break
  od
}

proctype receiver() {
  byte received;
  short word0;
  short word1;
  do
  :: received < MESSAGES ->
    memory[LAP_WORD(received)] == LAP(received);
#ifdef RECEIVED_FIRST
    buffer[RECEIVER]!release, RECEIVED, received + 1;
#endif
    word0 = memory[WORD(received, 0)];
    word1 = memory[WORD(received, 1)];
#ifndef RECEIVED_FIRST
    buffer[RECEIVER]!release, RECEIVED, received + 1;
#endif
    atomic { received++; assert(word0 == received && word1 == received) }
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
