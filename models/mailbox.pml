/* include/taskgrain/rt/mailbox.hpp: a ring of two slots of two words, which a sender and a receiver go round more than twice.
 *
 * Property: what was sent is received, once, in order and with all of its words. If an entry were lost, the search would end in a
 * state that is no end.
 *
 * mutation: SEND_RELAXED     the sender's store to handler is relaxed: it may pass those to the payload
 * mutation: EMPTY_FIRST      the receiver gives the slot back before it has read the payload (a relaxed store might seem to)
 * mutation: NEVER_FULL       the sender does not look whether the slot is empty
 */

#include "store_buffer.pml"

#define CAPACITY 2
#ifndef MESSAGES
#define MESSAGES 6
#endif

#define HANDLER(position) (3 * ((position) % CAPACITY))
#define WORD(position, word) (3 * ((position) % CAPACITY) + 1 + (word))
#define LOCATIONS 6

#define SENDER 0
#define RECEIVER 1

#ifdef SEND_RELAXED
#define SEND_ORDER relaxed
#else
#define SEND_ORDER release
#endif

short memory[LOCATIONS];
chan buffer[2] = BUFFER(6);

/* What a thread sees in a handler: its own last store, if that is still on its way. */
#define ON_ITS_WAY(thread, position) (buffer[thread]??[_, eval(HANDLER(position)), _])
#define SEES_EMPTY(position) (memory[HANDLER(position)] == 0 && !ON_ITS_WAY(SENDER, position))
#define SEES_FULL(position) (memory[HANDLER(position)] != 0 && !ON_ITS_WAY(RECEIVER, position))

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer[thread])
  :: DRAIN_RELAXED(buffer[thread], HANDLER(0))
  :: DRAIN_RELAXED(buffer[thread], WORD(0, 0))
  :: DRAIN_RELAXED(buffer[thread], WORD(0, 1))
  :: DRAIN_RELAXED(buffer[thread], HANDLER(1))
  :: DRAIN_RELAXED(buffer[thread], WORD(1, 0))
  :: DRAIN_RELAXED(buffer[thread], WORD(1, 1))
  od
}

proctype sender() {
  byte sent;
  do
  :: sent < MESSAGES ->
#ifndef NEVER_FULL
    SEES_EMPTY(sent);
#endif
    buffer[SENDER]!relaxed, WORD(sent, 0), sent + 1;
    buffer[SENDER]!relaxed, WORD(sent, 1), sent + 1;
    atomic { buffer[SENDER]!SEND_ORDER, HANDLER(sent), 1; sent++ }
  :: else -> break
  od
}

proctype receiver() {
  byte received;
  short word0;
  short word1;
  do
  :: received < MESSAGES ->
    SEES_FULL(received);
#ifdef EMPTY_FIRST
    buffer[RECEIVER]!release, HANDLER(received), 0;
#endif
    word0 = memory[WORD(received, 0)];
    word1 = memory[WORD(received, 1)];
#ifndef EMPTY_FIRST
    buffer[RECEIVER]!release, HANDLER(received), 0;
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
