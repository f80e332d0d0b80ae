/* include/taskgrain/rt/detail/stealable_range.hpp: the owner and two thieves on a ring of two slots of two words.
 *
 * Property: every entry that was shared is taken exactly once, and with all of its words.
 *
 * mutation: MAKE_RELAXED        the store that makes a stealable range is relaxed: it may pass the stores to the slots
 * mutation: ADD_RELAXED         so may the compare-and-swap that adds to one
 * mutation: TAKE_BACK_BLINDLY   the owner takes back with a store and no compare-and-swap
 * mutation: READ_AFTER_CAS      a thief reads the slots when the entries are already its own
 * mutation: SAME_NUMBER         a new range has the number of the last
 * mutation: ADD_SAME_NUMBER     what is added to a stealable range leaves its number as it is
 * mutation: MAKE_BESIDE         the owner makes a stealable range while something is left of the last
 */

#include "store_buffer.pml"

#define CAPACITY 2
#define THIEVES 2
#ifndef ENTRIES
#define ENTRIES 3
#endif
#ifndef STEALS
#define STEALS 1  /* of each thief */
#endif

/* The word: the number of the range, the first position of what is left, and how many are left. (The code writes the first position
 * of a stealable range beside the word, before it; here it is part of the word.) */
#define WORD(number, first, left) ((number) * 64 + (first) * 4 + (left))
#define NUMBER(word) ((word) / 64)
#define FIRST(word) ((word) / 4 % 16)
#define LEFT(word) ((word) % 4)

#ifndef TURNS
#define TURNS 4   /* of the owner, before it takes all back */
#endif

#define WORD_AT 0
#define SLOT(position, half) (1 + 2 * ((position) % CAPACITY) + (half))
#define LOCATIONS 5

#ifdef MAKE_RELAXED
#define MAKE_ORDER relaxed
#else
#define MAKE_ORDER release
#endif
#ifdef SAME_NUMBER
#define NEXT(number) (number)
#else
#define NEXT(number) ((number) + 1)
#endif
#ifdef ADD_SAME_NUMBER
#define ADDED(number) (number)
#else
#define ADDED(number) ((number) + 1)
#endif
#ifdef ADD_RELAXED
#define ADD_FLUSH true
#else
#define ADD_FLUSH FLUSH(buffer)
#endif

short memory[LOCATIONS];
chan buffer = BUFFER(6);

byte shared;             /* entries are 1 … shared */
bool taken[ENTRIES + 1];
byte finished;

inline take(entry) {
  assert(entry != 0 && entry <= shared);  /* else nobody has shared it */
  assert(!taken[entry]);
  taken[entry] = true
}

proctype draining() {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer)
  :: DRAIN_RELAXED(buffer, WORD_AT)
  :: DRAIN_RELAXED(buffer, SLOT(0, 0))
  :: DRAIN_RELAXED(buffer, SLOT(0, 1))
  :: DRAIN_RELAXED(buffer, SLOT(1, 0))
  :: DRAIN_RELAXED(buffer, SLOT(1, 1))
  od
}

/* The owner sees its own store at once: while the word is in its buffer, nobody else has changed it. */
inline look() {
  atomic {
    if
    :: pending && nempty(buffer) -> seen = stored
    :: else -> pending = false; seen = memory[WORD_AT]
    fi
  }
}

inline write_entry() {
  shared++;
  slots[end % CAPACITY] = shared;
  buffer!relaxed, SLOT(end, 0), shared;
  buffer!relaxed, SLOT(end, 1), shared;
  end++
}

/* With one entry or two, at the position of the last that was taken back or behind it. */
inline make() {
  atomic {
    first = end;
    stored = NEXT(NUMBER(seen));
    write_entry();
    if
    :: shared < ENTRIES -> write_entry()
    :: true
    fi;
    stored = WORD(stored, first, end - first);
    pending = true;
    buffer!MAKE_ORDER, WORD_AT, stored
  }
}

/* Where there is room: thieves have taken all that lay in the slot. */
inline add() {
  atomic { write_entry(); FLUSH(buffer) || true };
  do
  :: look();
    if
    :: LEFT(seen) == 0 ->  /* a stealable range of its own */
      atomic {
        stored = WORD(NEXT(NUMBER(seen)), end - 1, 1);
        pending = true;
        buffer!MAKE_ORDER, WORD_AT, stored
      };
      break
    :: else ->
      ADD_FLUSH;
      atomic {
        if
        :: !pending || empty(buffer) ->
          if
          :: memory[WORD_AT] == seen -> memory[WORD_AT] = WORD(ADDED(NUMBER(seen)), FIRST(seen), LEFT(seen) + 1); break
          :: else
          fi
        :: else  /* its own range is still on the way */
        fi
      }
    fi
  od
}

inline take_back() {
#ifdef TAKE_BACK_BLINDLY
  look();
  FLUSH(buffer);
  atomic {
    if
    :: LEFT(seen) > 0 ->
      end--;
      memory[WORD_AT] = WORD(NUMBER(seen), FIRST(seen), LEFT(seen) - 1);
      take(slots[end % CAPACITY])
    :: else
    fi
  }
#else
  do
  :: look();
    FLUSH(buffer);
    atomic {
      if
      :: LEFT(seen) == 0 -> break
      :: LEFT(seen) > 0 && memory[WORD_AT] == seen ->
        end--;
        memory[WORD_AT] = WORD(NUMBER(seen), FIRST(seen), LEFT(seen) - 1);
        take(slots[end % CAPACITY]);
        break
      :: else
      fi
    }
  od
#endif
}

proctype owner() {
  short end;  /* behind the newest entry */
  short first;
  byte slots[CAPACITY];
  short seen;
  short stored;
  bool pending;
  byte turns;
  do
  :: turns < TURNS ->
    turns++;
    look();
    if
#ifdef MAKE_BESIDE
    :: shared < ENTRIES -> make()
#else
    :: shared < ENTRIES && LEFT(seen) == 0 -> make()
#endif
    :: shared < ENTRIES && LEFT(seen) == 1 -> add()
    :: LEFT(seen) > 0 -> take_back()
    :: true
    fi
  :: break
  od;
  do
  :: look();
    if
    :: LEFT(seen) == 0 -> break
    :: else -> take_back()
    fi
  od;
  finished++
}

inline read_slot(half) {
  word0[half] = memory[SLOT(FIRST(was) + half, 0)];
  word1[half] = memory[SLOT(FIRST(was) + half, 1)]
}

/* Takes one entry or all. */
proctype thief() {
  byte steals;
  byte number;
  short was;
  short word0[2];
  short word1[2];
  bool won;
  do
  :: steals < STEALS ->
    atomic { steals++; was = memory[WORD_AT] };
    if
    :: LEFT(was) == 0
    :: LEFT(was) > 0 ->
      if
      :: number = 1
      :: LEFT(was) == 2 -> number = 2
      fi;
#ifndef READ_AFTER_CAS
      read_slot(0);
      if
      :: number == 2 -> read_slot(1)
      :: else
      fi;
#endif
      atomic {
        won = (memory[WORD_AT] == was);
        if
        :: won -> memory[WORD_AT] = WORD(NUMBER(was), FIRST(was) + number, LEFT(was) - number)
        :: else
        fi
      };
#ifdef READ_AFTER_CAS
      read_slot(0);
      if
      :: number == 2 -> read_slot(1)
      :: else
      fi;
#endif
      atomic {
        if
        :: won ->
          assert(word0[0] == word1[0]);
          take(word0[0]);
          if
          :: number == 2 -> assert(word0[1] == word1[1]); take(word0[1])
          :: else
          fi
        :: else
        fi;
        word0[0] = 0; word1[0] = 0; word0[1] = 0; word1[1] = 0; won = false; was = 0; number = 0  /* fewer states */
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
  for (k : 1 .. shared) { assert(taken[k]) }
}
