/* include/taskgrain/rt/detail/deque.hpp: the owner and two thieves on a deque of two slots of two words.
 *
 * Property: every entry that was pushed is taken exactly once, and with all of its words.
 *
 * mutation: POP_RELEASE         pop's store to bottom is release, not seq_cst: it may pass the load of top
 * mutation: PUSH_RELAXED        push's store to bottom is relaxed: it may pass the stores to the slot
 * mutation: LAST_WITHOUT_CAS    pop takes the last entry without compare-and-swap
 * mutation: READ_AFTER_CAS      steal reads the slot when the entry is already its own
 * mutation: FULL_BY_ONE         push lets the deque hold one entry more than it has slots
 */

#include "store_buffer.pml"

#define CAPACITY 2
#define THIEVES 2
#ifndef PUSHES
#define PUSHES 3  /* so that the third reuses a slot */
#endif
#ifndef POPS
#define POPS 2    /* and those that empty the deque in the end */
#endif
#ifndef STEALS
#define STEALS 2  /* of each thief */
#endif

#define BOTTOM 0
#define SLOT(position, word) (1 + 2 * ((position) % CAPACITY) + (word))
#define LOCATIONS 5

#ifdef POP_RELEASE
#define POP_FLUSH true
#else
#define POP_FLUSH FLUSH(buffer)
#endif
#ifdef PUSH_RELAXED
#define PUSH_ORDER relaxed
#else
#define PUSH_ORDER release
#endif
#ifdef FULL_BY_ONE
#define MOST (CAPACITY + 1)
#else
#define MOST CAPACITY
#endif

short memory[LOCATIONS];
short top;  /* changed by compare-and-swap alone */
chan buffer = BUFFER(6);

byte pushed;             /* entries are 1 … pushed */
bool taken[PUSHES + 1];
byte finished;

inline take(entry) {
  assert(entry != 0 && entry <= pushed);  /* else nobody has pushed it */
  assert(!taken[entry]);
  taken[entry] = true
}

proctype draining() {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer)
  :: DRAIN_RELAXED(buffer, BOTTOM)
  :: DRAIN_RELAXED(buffer, SLOT(0, 0))
  :: DRAIN_RELAXED(buffer, SLOT(0, 1))
  :: DRAIN_RELAXED(buffer, SLOT(1, 0))
  :: DRAIN_RELAXED(buffer, SLOT(1, 1))
  od
}

inline push() {
  seen = top;
  if
  :: bottom - seen >= MOST
  :: else ->
    atomic {
      pushed++;
      slots[bottom % CAPACITY] = pushed;
      buffer!relaxed, SLOT(bottom, 0), pushed;
      buffer!relaxed, SLOT(bottom, 1), pushed;
      bottom++;
      buffer!PUSH_ORDER, BOTTOM, bottom
    }
  fi
}

inline pop() {
  atomic { got = false; bottom--; buffer!release, BOTTOM, bottom };
  POP_FLUSH;
  seen = top;
  atomic {
    if
    :: seen < bottom -> take(slots[bottom % CAPACITY]); got = true
#ifdef LAST_WITHOUT_CAS
    :: seen == bottom -> take(slots[bottom % CAPACITY]); got = true; top = seen + 1
#else
    :: seen == bottom -> FLUSH(buffer);
      if
      :: top == seen -> top = seen + 1; take(slots[bottom % CAPACITY]); got = true
      :: else
      fi
#endif
    :: else
    fi
  };
  atomic {
    if
    :: seen >= bottom -> bottom++; buffer!relaxed, BOTTOM, bottom
    :: else
    fi
  }
}

proctype owner() {
  short bottom;  /* the owner's view of what it alone writes */
  byte slots[CAPACITY];
  short seen;    /* of top */
  byte pops;
  bool got;
  do
  :: pushed < PUSHES -> push()
  :: pops < POPS -> pops++; pop()
  :: break
  od;
  do
  :: pop();
    if
    :: got
    :: else -> break
    fi
  od;
  finished++
}

inline read_slot() {
  word0 = memory[SLOT(first, 0)];
  word1 = memory[SLOT(first, 1)]
}

proctype thief() {
  byte steals;
  short first;
  short word0;
  short word1;
  bool won;
  do
  :: steals < STEALS ->
    atomic { steals++; first = top };
    if
    :: first >= memory[BOTTOM]
    :: else ->
#ifdef READ_AFTER_CAS
      atomic { won = (top == first); top = (won -> first + 1 : top) };
      read_slot();
      atomic {
#else
      read_slot();
      atomic {
        won = (top == first);
        top = (won -> first + 1 : top);
#endif
        if
        :: won -> assert(word0 == word1); take(word0)
        :: else
        fi;
        word0 = 0; word1 = 0; won = false  /* fewer states */
      }
    fi
  :: else -> break
  od;
  finished++
}

init {
  byte k;
  atomic {
    run draining();
    run owner();
    for (k : 1 .. THIEVES) { run thief() }
    k = 0
  };
  finished == 1 + THIEVES;
  for (k : 1 .. pushed) { assert(taken[k]) }
}
