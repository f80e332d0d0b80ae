/* Engine::Closed and Worker::publish_busy (src/rt/engine/engine.cpp, worker.cpp): at the end of a run worker 0 looks at what belongs
 * to the others, while threads outside may send them something. A worker that has been idle says in its epoch that it is busy, passes a
 * fence and waits while the run is closed; worker 0 closes the run, passes a fence and looks whether all are idle.
 *
 * Property: worker 0 and another worker never touch the same at the same time, and nobody waits for ever.
 *
 * mutation: NO_FENCE_OF_WORKER   nothing between the odd epoch and the look whether the run is closed
 * mutation: NO_FENCE_OF_CLOSER   nothing between "closed" and the look at the epochs
 * mutation: NO_SECOND_LOOK       worker 0 looks at the epochs only before it closes
 * mutation: CLOSED_FIRST         a worker looks whether the run is closed before it says that it is busy
 * mutation: NEVER_OPEN           worker 0 leaves the run closed
 */

#include "store_buffer.pml"

#define WORKERS 2   /* beside worker 0 */
#ifndef MESSAGES
#define MESSAGES 2  /* from outside, to each of them */
#endif
#ifndef LOOKS
#define LOOKS 2     /* of worker 0: ends of runs */
#endif

#define CLOSED 0
#define EPOCH(worker) (worker)
#define LOCATIONS 3

short memory[LOCATIONS];
bool touching[WORKERS + 1];  /* what belongs to worker 1, 2: they themselves */
bool looking;                /* worker 0 */

chan buffer[LOCATIONS] = BUFFER(3);  /* of worker 0, 1, 2 */

proctype draining(byte thread) {
  byte at;
  short value;
end:
  do
  :: DRAIN_RELEASE(buffer[thread])
  od
}

inline wait_while_closed() { memory[CLOSED] == 0 }

proctype worker(byte me) {
  byte message;
  short epoch;
  do
  :: message < MESSAGES ->  /* one has come */
    message++;
#ifdef CLOSED_FIRST
    wait_while_closed();
#endif
    atomic { epoch++; buffer[me]!release, EPOCH(me), epoch };
#ifndef NO_FENCE_OF_WORKER
    FLUSH(buffer[me]);
#endif
#ifndef CLOSED_FIRST
    wait_while_closed();
#endif
    atomic { touching[me] = true; assert(!looking) };
    touching[me] = false;
    atomic { epoch++; buffer[me]!release, EPOCH(me), epoch }
  :: else -> break
  od
}

inline look_whether_idle() {
  idle = (memory[EPOCH(1)] % 2 == 0);
  idle = idle && (memory[EPOCH(2)] % 2 == 0)
}

proctype worker_0() {
  byte looks;
  bool idle;
  do
  :: looks < LOOKS ->
    looks++;
    look_whether_idle();
    if
    :: idle ->
      buffer[0]!release, CLOSED, 1;  /* relaxed in the code; worker 0 writes nothing else here that it could pass */
#ifndef NO_FENCE_OF_CLOSER
      FLUSH(buffer[0]);
#endif
#ifndef NO_SECOND_LOOK
      look_whether_idle();
#endif
      if
      :: idle -> atomic { looking = true; assert(!touching[1] && !touching[2]) }; looking = false
      :: else
      fi;
#ifndef NEVER_OPEN
      buffer[0]!release, CLOSED, 0
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
    run worker(1);
    run worker(2);
    run worker_0()
  }
}
