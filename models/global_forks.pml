/* src/rt/global/global_forks.cpp: rank 0 makes one fork after another, which its first worker joins or drops. Its second worker takes what
 * is queued, and rank 1 asks for it, and begins it or sends it back. They use an element of a third host, of which each has a copy. A rank
 * may fail: then nothing comes any more, and each wait throws.
 *
 * Property: a fork runs once at most, and to its end before its join; nobody uses a frame that has ended; a call finds what was written before
 * its fork, and the join what the call has written. If a wait had no end, the search would end in a state that is no end.
 *
 * mutation: TAKEN_AGAIN   a join takes for ended what came back and was taken again between its two looks
 * mutation: LEAVES_WORKER after a failure a frame ends although a worker of its rank still runs it
 * mutation: LEAVES_GIVER  after a failure a frame ends although a worker of its rank still sends it
 * mutation: GIVEN_EARLY   what was written before is not at home when a fork is given away
 * mutation: SAID_EARLY    what a call has written is not at home when its rank says that it has ended
 * mutation: STALE_CALL    copies are not dropped before a call of another rank begins
 * mutation: STALE_JOIN    nor when it has ended
 * mutation: KEPT          a rank begins what it has sent back
 * mutation: UNANSWERED    rank 0 leaves without an answer to who has asked
 */

#define FORKS 2

mtype { none, queued, away, done };

/* The frame, on the stack of the first worker. */
bool there;
byte number;
mtype state = none;

bool is_away;     /* it is in the list of those that are with another rank */
byte giving;      /* threads that send one */
bool question;    /* of rank 1, which has come */
bool over, failed;
byte ran[FORKS + 1];

chan ask = [1] of { bit };
chan gave = [1] of { byte }; /* the number of a fork; 0: there is none */
chan back = [1] of { byte };
chan answer = [1] of { byte };

/* The element: at its home, and of each rank a copy, and what it has put and not heard of. */
byte home, copy[2], put[2];
bool listed[2];

inline write(rank, written) {
  (put[rank] == 0);
  atomic { copy[rank] = written; listed[rank] = true; put[rank] = written }
}
inline read(rank, wanted) {
  if
  :: listed[rank]
  :: !listed[rank] -> atomic { put[rank] == 0 -> copy[rank] = home; listed[rank] = true }
  fi;
  assert(copy[rank] == wanted)
}
inline call(rank, which) {
  ran[which]++;
  assert(ran[which] == 1);
  read(rank, 2 * which - 1);
  write(rank, 2 * which)
}

active proctype third_host() {
end:
  do
  :: atomic { put[0] != 0 -> home = put[0]; put[0] = 0 }
  :: atomic { put[1] != 0 -> home = put[1]; put[1] = 0 }
  od
}

/* What rank 0 does when a message has come, under its lock. */
active proctype messages() {
  byte which;
end:
  do
  :: atomic { !failed && nempty(ask) -> ask?_;
      if
      :: over -> gave!0
      :: else -> question = true
      fi }
  :: atomic { !failed && nempty(back) -> back?which;
      if
      :: is_away && number == which -> assert(there); is_away = false; state = queued
      :: else
      fi }
  :: atomic { !failed && nempty(answer) -> answer?which;
      if
      :: is_away && number == which -> assert(there); is_away = false; state = done
      :: else
      fi }
  od
}

inline give(given) {
  atomic {
    question -> question = false;
    if
    :: state == queued -> is_away = true; state = away; giving++; given = number
    :: else -> given = 0
    fi
  }
  if
  :: given == 0 -> gave!0
  :: else ->
#ifndef GIVEN_EARLY
    (put[0] == 0 || failed);
#endif
    if
    :: !failed -> assert(there && number == given); gave!given
    :: failed
    fi;
    giving--
  fi
}

/* Takes what is queued, and runs it. */
inline work(taken) {
  atomic { state == queued -> state = away; taken = number }
  assert(there && number == taken);
  call(0, taken);
  atomic { assert(there && number == taken); state = done }
}

active proctype second_worker() {
  byte which;
end:
  do
  :: work(which)
  :: give(which)
  :: over || failed -> break
  od
}

active proctype first_worker() {
  byte which, fork = 0;
  do
  :: fork < FORKS && !failed ->
    fork++;
    write(0, 2 * fork - 1);
    atomic { there = true; number = fork; state = queued }
    if
    :: goto join
    :: goto drop
    fi;
join:
    if
    :: atomic { state == queued -> state = none } -> call(0, fork); goto joined
    :: atomic { state != queued }
    fi;
    do
    :: state != away -> break
    :: work(which)
    :: give(which)
    :: failed -> goto drop
    od;
    if
#ifdef TAKEN_AGAIN
    :: state == queued -> goto join
    :: state != queued
#else
    :: state != done -> goto join
    :: state == done
#endif
    fi;
    atomic { assert(ran[fork] == 1 && state == done) }
#ifndef STALE_JOIN
    listed[0] = false;
#endif
joined:
    read(0, 2 * fork);
    goto ended;
drop:
    do
    :: atomic { state == queued -> state = none; break }
    :: state == done -> break
    :: give(which)
#ifdef LEAVES_WORKER
    :: failed && giving == 0 -> is_away = false; break
#elif defined(LEAVES_GIVER)
    :: atomic { failed && is_away -> is_away = false; break }
#else
    :: atomic { failed && giving == 0 && is_away -> is_away = false; break }
#endif
    od;
ended:
    atomic { there = false; state = none }
  :: else -> break
  od;
  over = true;
#ifndef UNANSWERED
  do
  :: give(which)
  :: !question -> break
  od
#endif
}

active proctype rank_1() {
  byte which;
  bool asked = false;
  do
  :: atomic { !over && !asked -> asked = true; ask!1 }
  :: atomic { gave?which -> asked = false }
    if
    :: which == 0
    :: which != 0 -> back!which
#ifdef KEPT
      ; call(1, which)
#endif
    :: which != 0 ->
#ifndef STALE_CALL
      listed[1] = false;
#endif
      call(1, which);
#ifndef SAID_EARLY
      (put[1] == 0);
#endif
      answer!which
    fi
  :: over && !asked -> break
  :: failed -> break
  od
}

active proctype failure() {
  if
  :: failed = true
  :: over
  fi
}
