/* src/rt/global/fence_counter.hpp: ranks of one host come to fences, and one that loses patience makes a fence slow.
 *
 * Property: who leaves a fence finds that all have come to it; and all exchange in a fence, or nobody. If some exchanged alone, the search
 * would end in a state that is no end.
 *
 * mutation: LATE     a rank makes a fence slow without looking whether all have come meanwhile
 * mutation: OWN_BIT  the last that comes clears the bit of its own fence
 * mutation: ONE_BIT  fences do not take turns with two bits
 */

#ifndef RANKS
#define RANKS 3
#endif
#define FENCES 4

#ifdef ONE_BIT
#define BIT(of) 0
#else
#define BIT(of) ((of) % 2)
#endif
#ifdef OWN_BIT
#define CLEARED BIT(fence)
#else
#define CLEARED BIT(fence + 1)
#endif

byte arrivals;
bit slow[2];
byte come[RANKS], exchanged[RANKS];

proctype rank(byte me) {
  byte fence = 0, k = 0;
  do
  :: fence < FENCES ->
    fence++;
    come[me] = fence;
    atomic {
      arrivals++;
      if
      :: arrivals == fence * RANKS -> slow[CLEARED] = 0
      :: else
      fi
    };
    do
    :: atomic { slow[BIT(fence)] -> exchanged[me] = fence };
      do
      :: k < RANKS -> (exchanged[k] >= fence); k++
      :: else -> break
      od;
      k = 0;
      break
    :: atomic { !slow[BIT(fence)] && arrivals >= fence * RANKS -> break }
#ifdef LATE
    :: !slow[BIT(fence)] && arrivals < fence * RANKS; slow[BIT(fence)] = 1
#else
    :: atomic { !slow[BIT(fence)] && arrivals < fence * RANKS; slow[BIT(fence)] = 1 }
#endif
    od;
    skip; /* both ways lead here */
    d_step {
      do
      :: k < RANKS -> assert(come[k] >= fence); k++
      :: else -> break
      od;
      k = 0
    }
  :: else -> break
  od
}

init {
  byte k = 0;
  atomic {
    do
    :: k < RANKS -> run rank(k); k++
    :: else -> break
    od
  }
}
