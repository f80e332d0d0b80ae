/* src/rt/global/global_memory.cpp: a rank and its copies of an element whose home is on another host. Messages of one rank to another may
 * overtake each other. In a phase between two fences the home writes, or the other rank does, or both only read.
 *
 * Property: each read finds what was written last. If a wait had no end, the search would end in a state that is no end.
 *
 * mutation: GET_OVERTAKES  a rank asks for what it has put before it has heard that it is stored
 * mutation: PUT_OVERTAKES  a rank puts again before it has heard of the first
 * mutation: EARLY_FENCE    a fence does not wait for what was put
 * mutation: STALE          a fence does not forget the copies
 * mutation: UNWRITTEN      a write leaves the copy that was there
 */

#define PHASES 3
#define STEPS 3

mtype { home_writes, copy_writes, all_read };

byte latest;  /* what was written last */
byte element; /* at its home */
mtype phase[PHASES];
byte come;    /* at fences, both together */

chan get = [2] of { bit };
chan got = [2] of { byte };
chan put = [2] of { byte };
chan stored = [2] of { bit };

/* Answers at any time, in any order of kinds. */
active proctype home_answers() {
  byte value;
end:
  do
  :: atomic { get?_ -> got!element }
  :: atomic { put?value -> element = value; stored!1 }
  :: atomic { len(put) > 1 -> put?value; put!value } /* one overtakes the other */
  od
}

inline fence() {
  come++;
  (come >= 2 * (now + 1))
}

proctype home() {
  byte now = 0, step;
  do
  :: now < PHASES ->
    step = 0;
    do
    :: step < STEPS ->
      if
      :: phase[now] == home_writes -> atomic { latest++; element = latest }
      :: phase[now] != copy_writes -> assert(element == latest)
      :: true
      fi;
      step++
    :: else -> break
    od;
    fence();
    now++
  :: else -> break
  od
}

proctype other() {
  byte now = 0, step, copy = 0, unheard = 0;
  bool listed = false;
  do
  :: now < PHASES ->
    step = 0;
    do
    :: step < STEPS ->
      if
      :: phase[now] != home_writes -> /* it reads */
        if
        :: listed
        :: !listed ->
#ifndef GET_OVERTAKES
          do
          :: unheard > 0 -> stored?_; unheard--
          :: else -> break
          od;
#endif
          get!1;
          got?copy;
          listed = true
        fi;
        assert(copy == latest)
      :: phase[now] == copy_writes -> /* it writes */
#ifndef PUT_OVERTAKES
        do
        :: unheard > 0 -> stored?_; unheard--
        :: else -> break
        od;
#endif
        latest++;
#ifndef UNWRITTEN
        copy = latest;
        listed = true;
#endif
        put!latest;
        unheard++
      :: stored?_ -> unheard--
      :: listed = false /* its memory is wanted for others */
      :: true
      fi;
      step++
    :: else -> break
    od;
#ifndef EARLY_FENCE
    do
    :: unheard > 0 -> stored?_; unheard--
    :: else -> break
    od;
#endif
    fence();
#ifndef STALE
    listed = false;
#endif
    now++
  :: else -> break
  od
}

init {
  byte k = 0;
  atomic {
    do
    :: k < PHASES ->
      if
      :: phase[k] = home_writes
      :: phase[k] = copy_writes
      :: phase[k] = all_read
      fi;
      k++
    :: else -> break
    od;
    run home();
    run other()
  }
}
