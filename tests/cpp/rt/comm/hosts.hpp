#pragma once

/// Communicators of several hosts, all of which are this one: they share out its ranks.

#include <mpi.h>

#include <memory>
#include <utility>

#include "comm/hosts_transport.hpp"
#include "comm/messenger.hpp"
#include "taskgrain/rt/communicator.hpp"

namespace taskgrain::rt {

/// By all ranks. Rank r is on host r mod hosts; a rank that is alone there has MPI only.
inline std::unique_ptr<detail::Transport> over_hosts(int hosts) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm split = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % hosts, 0, &split);
  const detail::HostRanks host(MPI_COMM_WORLD, split);
  if (host.ranks().size() == 1) return std::make_unique<detail::MpiTransport>(MPI_COMM_WORLD);
  return std::make_unique<detail::HostsTransport>(MPI_COMM_WORLD, host.make_segment(), host.ranks());
}

struct OverHosts : Communicator {
  explicit OverHosts(int hosts = 2, const CommunicatorOptions& options = {})
      : Communicator(std::make_unique<detail::Messenger>(over_hosts(hosts), options)) {}
};

}  // namespace taskgrain::rt
