#pragma once

/// The options of a runtime.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace taskgrain::rt {

class Communicator;

/// The order of the ready tasks of one priority: the one that became ready last or first runs next.
enum class Order : std::uint8_t {
  newest,  ///< depth first: what it needs is still in the cache, and few tasks are alive at a time
  oldest,  ///< breadth first: no task waits for long. Other workers may wait for it, for example in a wavefront.
};

#if defined(_GLIBCXX_DEBUG)
inline namespace glibcxx_debug {  // its vectors are others, so a runtime that was compiled without it cannot be linked
#endif
struct RuntimeOptions {
  /// Number of workers; 0: as many as `cores`, or one for each core that this process may use. If its cgroup has a CPU
  /// quota (a container's limit), no more than that, rounded up.
  int workers = 0;
  /// The processor of each worker, as the operating system counts them; the same one may come twice. Empty: one of each
  /// core in the order of the machine, then the second of each; workers beyond the processors share them.
  std::vector<int> cores{};
  /// Binds a worker's thread to its processor, where `cores` names it or each core has a worker. Fewer
  /// workers are not bound, because two such programs would choose the same processors and leave others free; name
  /// `cores` to bind them. A thread in `wait` is bound for that time. If it waits often, bind it for good (`Pinned`):
  /// to bind and unbind it takes some microseconds each time.
  bool pin = true;
  /// The stack of a worker's thread in bytes; 0: the default of the C library (glibc: `ulimit -s`, or 2 MiB where that
  /// is unlimited). Worker 0 has the stack of the thread that waits.
  std::size_t stack_bytes = 0;
  /// The order in which a worker runs its ready tasks.
  Order order = Order::newest;
  /// The time that a worker without work spins before it sleeps.
  std::chrono::nanoseconds spin = std::chrono::milliseconds(2);
  /// Remember every task that ran, so that one that is fulfilled too often is found at once. Memory then grows with the
  /// graph, and an empty task takes tens of times as long. By default in programs that are compiled without NDEBUG, for
  /// debugging; all files of a program must agree on that. How the runtime itself was compiled does not matter.
#ifdef NDEBUG
  bool check = false;
#else
  bool check = true;
#endif
  /// File for a trace of all tasks, for chrome://tracing, ui.perfetto.dev, or taskgrain graph --from; empty: none. Of
  /// several ranks, each has a file of its own, with its number: trace-1.json. Two runtimes at a time cannot have one.
  std::string trace{};
  /// The ranks of the program; null: this process is alone. The workers take what other ranks send, and `wait` for
  /// everything is for all ranks together. It must live longer than the runtime.
  Communicator* communicator = nullptr;
};
#if defined(_GLIBCXX_DEBUG)
}  // namespace glibcxx_debug
#endif

}  // namespace taskgrain::rt
