#include "hosts_transport.hpp"

#include <algorithm>

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

HostsTransport::HostsTransport(MPI_Comm ranks, std::unique_ptr<Segment> segment, std::vector<int> host)
    : host_(std::move(host)), shared_(std::move(segment)), mpi_(ranks) {
  locals_.assign(static_cast<std::size_t>(mpi_.ranks()), elsewhere);
  for (std::size_t k = 0; k < host_.size(); ++k) locals_[static_cast<std::size_t>(host_[k])] = static_cast<int>(k);
}

std::size_t HostsTransport::most_bytes() const noexcept { return std::min(shared_.most_bytes(), mpi_.most_bytes()); }

void HostsTransport::send(int to, std::span<const std::byte> packet) {
  local(to) == elsewhere ? mpi_.send(to, packet) : shared_.send(local(to), packet);
}

void HostsTransport::send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) {
  local(to) == elsewhere ? mpi_.send_large(to, head, body, token) : shared_.send_large(local(to), head, body, token);
}

void HostsTransport::announce_failure(const std::string& reason) noexcept {
  shared_.announce_failure(reason);
  mpi_.announce_failure(reason);
}

/// Ranks of other hosts have no block that could be named.
void HostsTransport::blame(int rank, const std::string& how) noexcept {
  if (local(rank) != elsewhere) shared_.blame(local(rank), how);
}

void HostsTransport::count_queued_in(std::vector<std::atomic<std::size_t>*> by_rank) {
  std::vector<std::atomic<std::size_t>*> by_local;
  for (const int rank : host_) by_local.push_back(by_rank[static_cast<std::size_t>(rank)]);
  shared_.count_queued_in(std::move(by_local));
  mpi_.count_queued_in(std::move(by_rank));
}

void HostsTransport::watch(Receiver& receiver) { shared_.watch(receiver_.emplace(receiver, host_)); }

bool HostsTransport::poll(Receiver& receiver) {
  OfHost of_host(receiver, host_);
  bool came = shared_.poll(of_host);
  if (!came || mpi_.anything()) came |= mpi_.poll(receiver);
  return came;
}

bool HostsTransport::flush(Receiver& receiver) {
  OfHost of_host(receiver, host_);
  if (shared_.flush(of_host)) return mpi_.flush(receiver);
  mpi_.poll(receiver);
  return false;
}

}  // namespace taskgrain::rt::detail
