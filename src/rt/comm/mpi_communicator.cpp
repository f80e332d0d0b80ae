#include <mpi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "hosts_transport.hpp"
#include "messenger.hpp"
#include "mpi_library.hpp"
#include "mpi_transport.hpp"
#include "segment.hpp"
#include "shared_transport.hpp"
#include "taskgrain/rt/mpi.hpp"

namespace taskgrain::rt {

namespace {

using namespace detail;

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
  collectives_of(ranks).broadcast(std::as_writable_bytes(std::span(first)));
  const std::string_view of_first = first.data();
  if (wrong.empty() && own != of_first)
    wrong = "transport is " + own + " on this rank, and on rank 0 " +
            (of_first.empty() ? "none that is allowed" : std::string(of_first)) + "; all ranks choose the same";
  if (collectives_of(ranks).all(wrong.empty())) return own;
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
  std::unique_ptr<Segment> segment;
  std::vector<int> host;
  if (chosen != "mpi") {
    int number = 1;
    MPI_Comm_size(ranks, &number);
    if (number == 1) return std::make_unique<Messenger>(nullptr, options, mpi);
    MPI_Comm split = MPI_COMM_NULL;
    check_mpi("MPI_Comm_split_type", MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &split));
    const HostRanks here(ranks, split);
    host = here.ranks();
    const bool one_host = collectives_of(ranks).all(host.size() == static_cast<std::size_t>(number));
    if (!one_host && chosen == "shared")
      throw UsageError("transport is shared, and the ranks are on several hosts; allowed there are auto, mpi");
    try {
      if (host.size() > 1) segment = here.make_segment();
    } catch (const std::system_error&) {  // on all ranks of the host
      if (chosen == "shared") throw;
    }
    if (segment != nullptr && one_host)
      return std::make_unique<Messenger>(std::make_unique<SharedTransport>(std::move(segment)), options, mpi);
  }
  const bool may_progress = !options.progress_thread || mpi->thread_level() == MPI_THREAD_MULTIPLE;
  if (!collectives_of(ranks).all(may_progress))
    throw UsageError(std::string(may_progress ? "on another rank, " : "") +
                     "progress_thread is true, but the level of MPI's threads is below MPI_THREAD_MULTIPLE, so "
                     "its main thread alone may poll; initialise MPI with MPI_THREAD_MULTIPLE");
  std::unique_ptr<Transport> transport;
  if (segment != nullptr)
    transport = std::make_unique<HostsTransport>(of, std::move(segment), std::move(host));
  else
    transport = std::make_unique<MpiTransport>(of);
  return std::make_unique<Messenger>(std::move(transport), options, mpi);
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm ranks, CommunicatorOptions options)
    : Communicator(over_mpi(ranks, options)) {}

}  // namespace taskgrain::rt
