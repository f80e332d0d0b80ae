#pragma once

/// MPI itself: who initialises and finalises it, what its threads may do, and what its errors say.

#include <mpi.h>

#include <string>

namespace taskgrain::rt::detail {

/// What MPI says about an error code, after the name of the call.
std::string mpi_error(const char* call, int code);
/// \throws std::runtime_error with MPI's text, if the code is one of an error
void check_mpi(const char* call, int code);

/// Holds MPI while it lives. The first one initialises it, if the program has not; then the last one finalises it, if
/// nobody else has.
///
/// It asks for MPI_THREAD_MULTIPLE, so that any worker may poll while a thread of the program is in a call of MPI. With
/// less, only MPI's main thread polls.
class MpiLibrary {
 public:
  /// \throws UsageError  the level is MPI_THREAD_SINGLE, or MPI_THREAD_FUNNELED and this is another thread than MPI's,
  ///   or MPI has been finalised
  MpiLibrary();
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  /// MPI_THREAD_FUNNELED, SERIALIZED or MULTIPLE.
  int thread_level() const noexcept { return level_; }
  /// MPI has failed, and its end might wait for ever: it is left out.
  static void broken() noexcept;
  static bool finalised() noexcept;

 private:
  int level_ = MPI_THREAD_SINGLE;
};

/// A duplicate of a communicator, whose errors are returned. Made and freed by all of its ranks.
class MpiDuplicate {
 public:
  /// \throws UsageError  it is null, or has two groups; std::runtime_error what MPI says
  explicit MpiDuplicate(MPI_Comm of);
  ~MpiDuplicate();
  MpiDuplicate(const MpiDuplicate&) = delete;
  MpiDuplicate& operator=(const MpiDuplicate&) = delete;

  operator MPI_Comm() const noexcept { return comm_; }  // NOLINT: it is one

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace taskgrain::rt::detail
