#pragma once

/// Ranks of MPI. This header and the CMake target taskgrain::rt_mpi need MPI; nothing else of the runtime does.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <mpi.h>

#include "taskgrain/rt/communicator.hpp"

namespace taskgrain::rt {

/// A Communicator whose ranks are those of an MPI communicator. It duplicates that one, initialises MPI if nobody
/// has, and finalises it only then. MPI_THREAD_FUNNELED is enough: then the thread that has initialised MPI takes all
/// messages, while it waits. With MPI_THREAD_MULTIPLE any worker does.
class MpiCommunicator : public Communicator {
 public:
  /// All ranks of `ranks` make it.
  /// \throws UsageError  a transport that there is not; MPI_THREAD_SINGLE; MPI_THREAD_FUNNELED and another thread than
  ///   MPI's main thread; std::runtime_error what MPI says
  explicit MpiCommunicator(MPI_Comm ranks, CommunicatorOptions options = {});
};

}  // namespace taskgrain::rt
