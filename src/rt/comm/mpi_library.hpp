#pragma once

/// The MPI library: initialising and finalising it, its thread level, and texts of its errors.

#include <mpi.h>

#include <string>

namespace taskgrain::rt::detail {

/// The name of a call, and MPI's text for its error code.
std::string mpi_error(const char* call, int code);
/// \throws std::runtime_error with MPI's text, if the code is not MPI_SUCCESS
void check_mpi(const char* call, int code);

/// Holds MPI while it lives. The first holder initialises MPI if the program has not; then the last one finalises it,
/// unless the program has.
///
/// It requests MPI_THREAD_MULTIPLE, so that any worker may poll while a thread of the program calls MPI. Below that
/// level only MPI's main thread polls.
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
  /// Notes an error of MPI. The last holder does not call MPI_Finalize then, which might wait for ever.
  static void broken() noexcept;
  static bool finalised() noexcept;

 private:
  int level_ = MPI_THREAD_SINGLE;
};

/// MPI_Comm_dup of a communicator, with MPI_ERRORS_RETURN. All of its ranks make and free it together.
class MpiDuplicate {
 public:
  /// \throws UsageError  it is MPI_COMM_NULL or an inter-communicator; std::runtime_error with MPI's text
  explicit MpiDuplicate(MPI_Comm of);
  ~MpiDuplicate();
  MpiDuplicate(const MpiDuplicate&) = delete;
  MpiDuplicate& operator=(const MpiDuplicate&) = delete;

  operator MPI_Comm() const noexcept { return comm_; }  // NOLINT: implicit, to pass it to MPI

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace taskgrain::rt::detail
