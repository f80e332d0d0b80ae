#include "mpi_library.hpp"

#include <mutex>
#include <stdexcept>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {
namespace {

std::mutex mutex;
int holders = 0;
bool ours = false;        // an MpiLibrary has initialised MPI
bool has_failed = false;  // MpiLibrary::broken

void finalise() noexcept {
  ours = false;
  if (!has_failed && !MpiLibrary::finalised()) MPI_Finalize();
}

}  // namespace

std::string mpi_error(const char* call, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    return std::string(call) + ": error " + std::to_string(code);
  return std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length));
}

void check_mpi(const char* call, int code) {
  if (code != MPI_SUCCESS) throw std::runtime_error(mpi_error(call, code));
}

bool MpiLibrary::finalised() noexcept {
  int finalised = 0;
  MPI_Finalized(&finalised);
  return finalised != 0;
}

void MpiLibrary::broken() noexcept {
  const std::scoped_lock guard(mutex);
  has_failed = true;
}

MpiLibrary::MpiLibrary() {
  const std::scoped_lock guard(mutex);
  if (finalised())
    throw UsageError(
        "MPI has been finalised, and cannot be initialised again: a program that makes MPI communicators "
        "one after the other calls MPI_Init_thread itself");
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised == 0) {
    check_mpi("MPI_Init_thread", MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level_));
    ours = true;
  } else {
    check_mpi("MPI_Query_thread", MPI_Query_thread(&level_));
  }
  if (level_ == MPI_THREAD_SINGLE) {
    if (initialised == 0) finalise();
    throw UsageError(initialised == 0 ? "MPI gives no more than MPI_THREAD_SINGLE; MPI_THREAD_FUNNELED is needed"
                                      : "MPI was initialised with MPI_THREAD_SINGLE; allowed: MPI_THREAD_FUNNELED and "
                                        "above. Call MPI_Init_thread instead of MPI_Init, or leave it to the "
                                        "communicator");
  }
  int is_main = 1;
  if (level_ == MPI_THREAD_FUNNELED) check_mpi("MPI_Is_thread_main", MPI_Is_thread_main(&is_main));
  if (is_main == 0) {
    if (initialised == 0) finalise();
    throw UsageError(
        "the level of MPI's threads is MPI_THREAD_FUNNELED, and this is not the thread that has initialised MPI: make "
        "the communicator and wait in that one, or initialise MPI with MPI_THREAD_MULTIPLE");
  }
  ++holders;
}

MpiLibrary::~MpiLibrary() {
  const std::scoped_lock guard(mutex);
  if (--holders == 0 && ours) finalise();
}

MpiDuplicate::MpiDuplicate(MPI_Comm of) {
  if (of == MPI_COMM_NULL) throw UsageError("the communicator is MPI_COMM_NULL");
  // A failing MPI_Comm_dup calls the error handler of the original, which may abort: replace it meanwhile.
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  check_mpi("MPI_Comm_get_errhandler", MPI_Comm_get_errhandler(of, &before));
  MPI_Comm_set_errhandler(of, MPI_ERRORS_RETURN);
  int two_groups = 0;
  int code = MPI_Comm_test_inter(of, &two_groups);
  if (code == MPI_SUCCESS && two_groups == 0) code = MPI_Comm_dup(of, &comm_);
  MPI_Comm_set_errhandler(of, before);
  MPI_Errhandler_free(&before);
  check_mpi("MPI_Comm_dup", code);
  if (two_groups != 0) throw UsageError("the communicator has two groups of ranks (an inter-communicator)");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

MpiDuplicate::~MpiDuplicate() {
  if (comm_ != MPI_COMM_NULL && !MpiLibrary::finalised()) MPI_Comm_free(&comm_);
}

}  // namespace taskgrain::rt::detail
