/* src/rt/graph/channel.hpp and in_order.cpp: a channel between two workers of a graph, and a reader that parks.
 *
 * The writer stores n after task n, passes the light barrier, and looks whether the reader is parked. The reader waits for each n. When
 * that takes too long, it sets "parked", passes the heavy barrier (membarrier) and looks once more; then only a message lets it go on.
 * The kernel may refuse the heavy barrier at any time. Then the reader asks the writer by a message to look for it.
 *
 * Property: the reader gets through all of its tasks, and what it reads behind the counter is there. If it waited for ever, the search
 * would end in a state that is no end.
 *
 * variant:  SYMMETRIC           no membarrier: the writer has a fence of its own
 * variant:  GRANTED             the kernel never refuses
 * mutation: PARK_ALL_THE_SAME   a refusal is ignored
 * mutation: NO_HEAVY_BARRIER    nothing between "parked" and the second look
 * mutation: NO_SECOND_LOOK      the reader does not look again
 * mutation: ASK_FIRST           the reader asks, and then says that it is parked
 * mutation: NO_ANSWER           the writer takes the question and does nothing
 * mutation: VALUE_RELAXED       the counter passes the data before it
 */

#include "store_buffer.pml"

#ifndef TASKS
#define TASKS 3
#endif

#define VALUE 0
#define PARKED 1
#define DATA 2
#define LOCATIONS 3

#define WRITER 0
#define READER 1

short memory[LOCATIONS];
chan buffer[2] = BUFFER(4);
chan question = [4] of { byte };  /* to the writer: the value that the reader waits for */
chan resume = [8] of { bit };     /* to the reader */

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer[thread])
  :: DRAIN_RELAXED(buffer[thread], PARKED)
  :: DRAIN_RELAXED(buffer[thread], DATA)
#ifdef VALUE_RELAXED
  :: DRAIN_RELAXED(buffer[thread], VALUE)
#endif
  od
}

inline light_barrier() {
#ifdef SYMMETRIC
  FLUSH(buffer[WRITER])
#else
  skip
#endif
}

/* Whoever receives a message sees all that its sender did before: the sender's buffer is empty. */
inline answer(wanted) {
#ifndef NO_ANSWER
  if
  :: done >= wanted -> atomic { FLUSH(buffer[WRITER]) -> resume!1 }
  :: else
  fi
#else
  skip
#endif
}

proctype writer() {
  byte done;
  byte wanted;
  bool was;
end:
  do
  :: atomic { question?wanted -> skip };
    answer(wanted);
    wanted = 0
  :: done < TASKS ->
    atomic { done++; buffer[WRITER]!relaxed, DATA, done };
#ifdef VALUE_RELAXED
    buffer[WRITER]!relaxed, VALUE, done;
#else
    buffer[WRITER]!release, VALUE, done;
#endif
    light_barrier();
    if
    :: memory[PARKED] == 1 ->
      atomic { FLUSH(buffer[WRITER]) -> was = memory[PARKED]; memory[PARKED] = 0 };
      if
      :: was -> atomic { was = false; resume!1 }
      :: else
      fi
    :: else
    fi
  od
}

inline say_parked() { buffer[READER]!relaxed, PARKED, 1 }
inline ask() { atomic { FLUSH(buffer[READER]) -> question!task } }

inline heavy_barrier() {
#ifndef NO_HEAVY_BARRIER
  FLUSH(buffer[READER]);  /* a fence of the reader's own */
#ifndef SYMMETRIC
  if
  :: FLUSH(buffer[WRITER])  /* some time between call and return */
#ifndef GRANTED
  :: refused = true
#endif
  fi
#endif
#else
  skip
#endif
}

proctype reader() {
  byte task = 1;
  bool refused;
  bool parked;
  do
  :: task > TASKS -> break
  :: atomic { resume?_ -> skip }  /* not parked: ignored */
  :: task <= TASKS && memory[VALUE] >= task -> atomic { assert(memory[DATA] >= task); task++ }
  :: task <= TASKS && memory[VALUE] < task ->  /* for too long */
#ifdef ASK_FIRST
    refused = true;  /* known before */
    ask();
    say_parked();
#else
    say_parked();
    heavy_barrier();
#ifndef PARK_ALL_THE_SAME
    if
    :: refused -> ask()
    :: else
    fi;
#endif
#endif
    refused = false;
#ifdef NO_SECOND_LOOK
    parked = true;
#else
    parked = !(memory[VALUE] >= task);
#endif
    if
    :: parked -> atomic { resume?_ -> parked = false }
    :: else
    fi
  od;
end:
  do
  :: resume?_
  od
}

init {
  atomic {
    run draining(WRITER);
    run draining(READER);
    run writer();
    run reader()
  }
}
