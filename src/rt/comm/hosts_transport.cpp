#include "hosts_transport.hpp"

#include <utility>

#include "mpi_library.hpp"

namespace taskgrain::rt::detail {

Segment::Collectives collectives_of(MPI_Comm ranks) {
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

HostRanks::HostRanks(MPI_Comm ranks, MPI_Comm host) : host_(host) {
  int rank = 0, here = 0;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(host_, &here);
  ranks_.resize(static_cast<std::size_t>(here));
  check_mpi("MPI_Allgather", MPI_Allgather(&rank, 1, MPI_INT, ranks_.data(), 1, MPI_INT, host_));
}

std::unique_ptr<Segment> HostRanks::make_segment() const {
  int local = 0;
  MPI_Comm_rank(host_, &local);
  return std::make_unique<Segment>(local, static_cast<int>(ranks_.size()), collectives_of(host_));
}

void HostsTransport::announce_failure(const std::string& reason) noexcept {
  shared_.announce_failure(reason);
  mpi_.announce_failure(reason);
}

void HostsTransport::count_queued_in(std::vector<std::atomic<std::size_t>*> by_rank) {
  shared_.count_queued_in(by_rank);
  mpi_.count_queued_in(std::move(by_rank));
}

bool HostsTransport::poll(Receiver& receiver) {
  bool came = shared_.poll(receiver);
  if (!came || mpi_.anything()) came |= mpi_.poll(receiver);
  return came;
}

bool HostsTransport::flush(Receiver& receiver) {
  if (shared_.flush(receiver)) return mpi_.flush(receiver);
  mpi_.poll(receiver);
  return false;
}

}  // namespace taskgrain::rt::detail
