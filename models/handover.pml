/* Engine::First, wait_until, join, start, notify (src/rt/engine/first.hpp, wait.cpp, engine.cpp), Worker::sleep and starved (work.hpp): who is worker
 * 0, who sleeps, who wakes whom, and who has threads. Of three threads outside, one sends a task to worker 1 and then may wait, for
 * everything or for an event; one waits for either, or starts the threads; one joins. The task of worker 1 sends two messages to
 * worker 0, into a mailbox with room for one, and sets the event.
 *
 * That a sleeper misses nothing that is published before it is woken is models/sleep.pml, and how worker 0 finds out that nothing is
 * left is models/quiescence.pml; here both are single steps of sequential consistency. Whoever spins is taken as blocked until what it
 * looks at changes; a thread that naps looks again when there is something to see.
 *
 * Property: each thread's calls return, and what it has sent before was run. If a thread slept for ever, or worker 1 kept a message
 * though a thread waits, the search would end in a state that is no end. There is one worker 0, and only it starts and stops threads.
 *
 * variant:  HOLD               who sends holds the runtime until it has waited for the event
 * variant:  NAPS_ALONE         nobody tells the threads that wait for their turn, neither notify nor who was worker 0: naps make up for it
 * mutation: NO_NAP             who waits for its turn sleeps until it is told; worker 0 waits for its hold
 * mutation: JOINED_SLEEPS      who finds nothing to do after a join sleeps as worker 0, and does not start the threads later
 * mutation: STARVED_LATE       a worker counts itself as starved after it has looked for worker 0
 * mutation: STARVED_BLIND      it does not look for worker 0 before it sleeps
 * mutation: STARVED_SLEEP_ON   who becomes worker 0 does not wake the starved
 * mutation: NO_STARVING        a worker that keeps messages for worker 0 sleeps as if it had none: nobody wakes it
 * mutation: IDLE_IN_SILENCE    a worker that becomes idle does not wake worker 0
 * mutation: STOP_IN_SILENCE    stop_threads does not wake the threads
 * mutation: JOIN_BESIDE        join stops the threads while another thread is worker 0
 */

#ifdef NO_NAP
#define HOLD
#endif

#define USERS 3
#define MESSAGES 2  /* of a task, to worker 0 */

mtype = { send, wait, wait_event, stop_threads, start };

/* Of the engine. */
bool locked;       /* first_mutex_ */
bool first_taken;
byte others;
byte starved;
bool threads = true, alive = true;  /* worker 1 has a thread; it has not ended */
bool stop;
byte holds;
byte under_way;    /* messages: from outside, in the mailbox, kept back */

/* Of the workers. */
bool asleep[2];
bool idle = true;  /* as worker 1 has published */
byte mail;         /* of worker 1, from outside */
byte box;          /* of worker 0, from worker 1 */

/* Of the users. */
byte received;     /* messages, by worker 0 */
bool event;        /* the task of worker 1 sets it */
bool napping[USERS];
byte firsts;

#define QUIESCENT (under_way == 0 && idle && holds == 0)
#define LOCK atomic { !locked -> locked = true }
#define UNLOCK locked = false

inline wake(worker) { asleep[worker] = false }

inline notify_all() { d_step { napping[0] = false; napping[1] = false; napping[USERS - 1] = false } }

inline notify() {
  wake(0);
#ifndef NAPS_ALONE
  if
  :: others > 0 -> LOCK; atomic { notify_all(); UNLOCK }
  :: else
  fi
#else
  skip
#endif
}

/* Worker 1, in one thread after another. */
proctype worker() {
  byte kept;
  byte left;
  bool is_starved, work;
end:
  do
  :: alive ->
end_spinning:
    do
    :: mail > 0 -> idle = false;
      /* The task comes from the mail, and runs. */
      atomic { mail--; left = MESSAGES };
      do
      :: left > 0 ->
        atomic {
          left--;
          under_way = under_way + 1;
          if
          :: box == 0 && kept == 0 -> box++
          :: else -> kept++
          fi;
          if
          :: left == 0 -> under_way--  /* its own message was received, which is published with "idle" */
          :: else
          fi
        };
        wake(0)
      :: left == 0 -> break
      od;
      event = true;
      notify()
    :: atomic { kept > 0 && box == 0 -> kept--; box++ }; wake(0)
    :: mail == 0 && kept == 0 && !idle -> idle = true;
#ifndef IDLE_IN_SILENCE
      notify()
#endif
    :: mail == 0 && stop && (idle || kept > 0) -> break
    :: mail == 0 && !stop && (idle || (kept > 0 && !first_taken)) ->
#ifndef NO_STARVING
      is_starved = kept > 0;
#endif
#ifndef STARVED_LATE
      starved = starved + is_starved;
#endif
      asleep[1] = true;
      work = mail > 0 || stop;
#ifndef STARVED_BLIND
      work = work || (is_starved && first_taken);
#endif
#ifdef STARVED_LATE
      starved = starved + is_starved;
#endif
      if
      :: work -> asleep[1] = false
      :: else ->
end_asleep:
        !asleep[1]
      fi;
      atomic { starved = starved - is_starved; is_starved = false; work = false }
    od;
    alive = false
  od
}

#define UNTIL ((call == wait_event && event) || QUIESCENT || !threads)

proctype user(byte me) {
  mtype call, then;
  bool has_sent, work, is_first;
  atomic {
    if
    :: me == 0 -> call = send;
      if
      :: true
#ifndef HOLD
      :: then = wait
#endif
      :: then = wait_event
      fi
    :: me == 1 ->
      if
      :: call = wait
      :: call = wait_event
      :: call = start
      fi
    :: me == 2 -> call = wait; then = stop_threads  /* join */
    fi
  };
  do
  :: call == 0 -> break
  :: else ->
    if
    :: call == send ->
#ifdef HOLD
      holds++;
#endif
      atomic { has_sent = true; under_way++; mail++ };
      wake(1)
    :: else ->
      /* First */
      atomic { !locked -> locked = true; others++ };
      do
      :: !first_taken -> is_first = true; break
#ifdef JOIN_BESIDE
      :: call == stop_threads -> break
#endif
      :: else ->
        UNLOCK;
        if
        :: call == wait_event && event -> LOCK; break
        :: else -> LOCK
        fi;
        if
        :: first_taken ->
          atomic { napping[me] = true; UNLOCK };
          atomic {
            if
            :: !napping[me]
#ifndef NO_NAP
            :: !first_taken || (call == wait_event && event)
#endif
            fi;
            napping[me] = false
          };
          LOCK
        :: else
        fi
      od;
      if
      :: is_first ->
        atomic { first_taken = true; firsts++; assert(firsts == 1) };
#ifndef STARVED_SLEEP_ON
        if
        :: starved > 0 -> wake(1)
        :: else
        fi;
#endif
      :: else
      fi;
      atomic { others--; UNLOCK };

      if
      :: call == stop_threads ->
        stop = true;
#ifndef STOP_IN_SILENCE
        wake(1);
#endif
        !alive || !threads;
        atomic { threads = false; stop = false }
      :: call == start && is_first ->
        if
        :: !threads -> atomic { threads = true; alive = true }
        :: else
        fi
      :: (call == wait || call == wait_event) && is_first ->
#ifdef JOINED_SLEEPS
        if
        :: !threads && !QUIESCENT -> atomic { threads = true; alive = true }
        :: else
        fi;
#endif
        do
#ifndef JOINED_SLEEPS
        :: !threads && !QUIESCENT && box == 0 && !(call == wait_event && event) -> atomic { threads = true; alive = true }
#endif
        :: atomic { box > 0 -> box--; under_way--; received++ }
        :: box == 0 && ((call == wait_event && event) || QUIESCENT) -> break
        :: else ->
          asleep[0] = true;
#ifdef JOINED_SLEEPS
          work = box > 0 || (call == wait_event && event) || QUIESCENT;
#else
          work = box > 0 || UNTIL;
#endif
          if
          :: work -> asleep[0] = false
          :: else -> !asleep[0]
          fi;
          work = false
        od
      :: else
      fi;
      /* ~First */
      if
      :: is_first ->
        LOCK;
        atomic {
          is_first = false;
          first_taken = false;
          firsts--;
#ifndef NAPS_ALONE
          notify_all();
#endif
          UNLOCK
        }
      :: else
      fi;
      assert(!has_sent || (event && (call != wait || received == MESSAGES)))
    fi;
    atomic { call = then; then = 0 }
  od;
#ifdef HOLD
  if
  :: has_sent -> holds--; notify()
  :: else
  fi
#endif
}

init {
  atomic {
    run worker();
    run user(0);
    run user(1);
    run user(2)
  }
}
