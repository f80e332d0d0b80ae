#include <mpi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "messenger.hpp"
#include "mpi_library.hpp"
#include "mpi_transport.hpp"
#include "segment.hpp"
#include "shared_transport.hpp"
#include "taskgrain/rt/mpi.hpp"

namespace taskgrain::rt {

namespace {

using namespace detail;

/// The collective operations by which ranks agree before they share memory.
Segment::Collectives collectives(MPI_Comm ranks) {
  return {.broadcast =
              [ranks](std::span<std::byte> bytes) {
                check_mpi("MPI_Bcast", MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, ranks));
              },
          .all =
              [ranks](bool own) {
                int mine = own ? 1 : 0, all = 0;
                check_mpi("MPI_Allreduce", MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, ranks));
                return all == 1;
              }};
}

/// Whether all ranks are on one host.
bool on_one_host(MPI_Comm ranks, int number) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi("MPI_Comm_split_type", MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  int there = 0;
  MPI_Comm_size(host, &there);
  MPI_Comm_free(&host);
  return collectives(ranks).all(there == number);
}

/// The transport that all ranks have chosen. \throws UsageError on all ranks, if one has chosen one that is not allowed
/// here, or another than rank 0
std::string agreed_transport(MPI_Comm ranks, const CommunicatorOptions& options) {
  std::string own, wrong;
  try {
    own = chosen_transport(options);
    if (own == "alone")
      throw UsageError("transport is alone, which is for Communicator; allowed here are auto, shared, mpi");
  } catch (const UsageError& error) {
    wrong = error.what();
  }
  std::array<char, 8> first{};
  own.copy(first.data(), first.size() - 1);
  collectives(ranks).broadcast(std::as_writable_bytes(std::span(first)));
  const std::string_view of_first = first.data();
  if (wrong.empty() && own != of_first)
    wrong = "transport is " + own + " on this rank, and on rank 0 " +
            (of_first.empty() ? "none that is allowed" : std::string(of_first)) + "; all ranks choose the same";
  if (collectives(ranks).all(wrong.empty())) return own;
  throw UsageError(wrong.empty() ? "another rank has chosen no transport that is allowed, or another than " + own
                                 : wrong);
}

std::unique_ptr<Messages> over_mpi(MPI_Comm of, const CommunicatorOptions& options) {
  auto mpi = std::make_shared<MpiLibrary>();
  int world = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (const char* const ranks = std::getenv("TASKGRAIN_RANKS");
      world == 1 && ranks != nullptr && std::string_view(ranks) != "1")
    throw UsageError("this program was started by taskgrain-run, as " + std::string(ranks) +
                     " ranks; an MpiCommunicator needs mpirun, and for taskgrain-run there is Communicator");
  const MpiDuplicate ranks(of);
  const std::string chosen = agreed_transport(ranks, options);
  if (chosen != "mpi") {
    int rank = 0, number = 1;
    MPI_Comm_rank(ranks, &rank);
    MPI_Comm_size(ranks, &number);
    if (number == 1) return std::make_unique<Messenger>(nullptr, options, mpi);
    const bool one_host = on_one_host(ranks, number);
    if (!one_host && chosen == "shared")
      throw UsageError("transport is shared, and the ranks are on several hosts; allowed there are auto, mpi");
    std::unique_ptr<Segment> segment;
    try {
      if (one_host) segment = std::make_unique<Segment>(rank, number, collectives(ranks));
    } catch (const std::system_error&) {  // on all ranks
      if (chosen == "shared") throw;
    }
    if (segment != nullptr)
      return std::make_unique<Messenger>(std::make_unique<SharedTransport>(std::move(segment)), options, mpi);
  }
  const bool may_progress = !options.progress_thread || mpi->thread_level() == MPI_THREAD_MULTIPLE;
  if (!collectives(ranks).all(may_progress))
    throw UsageError(std::string(may_progress ? "on another rank, " : "") +
                     "progress_thread is true, but the level of MPI's threads is below MPI_THREAD_MULTIPLE, so "
                     "its main thread alone may poll; initialise MPI with MPI_THREAD_MULTIPLE");
  return std::make_unique<Messenger>(std::make_unique<MpiTransport>(of), options, mpi);
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm ranks, CommunicatorOptions options)
    : Communicator(over_mpi(ranks, options)) {}

}  // namespace taskgrain::rt
