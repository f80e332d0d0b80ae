/* What a store may do on its way to memory, for models of code with C++ memory orders.
 *
 * Each thread has a buffer of the stores that it has executed and that no other thread sees yet; a process of its own drains it.
 * - A relaxed store leaves the buffer at any time, also before older ones to other locations (as on ARM; x86 would keep the order).
 * - A release store leaves it only when all older stores have.
 * - A seq_cst store, a fence and a read-modify-write wait until the buffer is empty.
 * A thread sees its own stores at once: models keep a private copy of what their thread alone writes.
 * No model has a relaxed store overtake an older one to the same location. Loads are executed in program order.
 */

mtype = { relaxed, release };

#define BUFFER(entries) [entries] of { mtype, byte, short }   /* order, location, value */
#define FLUSH(buffer) empty(buffer)

/* Options of a draining process. */
#define DRAIN_RELEASE(buffer) atomic { buffer?release, at, value -> memory[at] = value }
#define DRAIN_RELAXED(buffer, location) atomic { buffer??relaxed, eval(location), value -> memory[location] = value }
