#pragma once

/// Packets between ranks of several hosts: through shared memory to ranks of this host (SharedTransport), by MPI to all
/// others (MpiTransport).

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mpi_transport.hpp"
#include "shared_transport.hpp"
#include "transport.hpp"

namespace taskgrain::rt::detail {

/// The collective operations by which ranks agree before they share memory.
Segment::Collectives collectives_of(MPI_Comm ranks);

/// The ranks of this host.
class HostRanks {
 public:
  /// \param host  a part of `ranks`, which this frees
  HostRanks(MPI_Comm ranks, MPI_Comm host);
  ~HostRanks() { MPI_Comm_free(&host_); }
  HostRanks(const HostRanks&) = delete;
  HostRanks& operator=(const HostRanks&) = delete;

  const std::vector<int>& ranks() const noexcept { return ranks_; }
  /// Makes the memory of these ranks, all of which call it. \throws as Segment, on all of them
  std::unique_ptr<Segment> make_segment() const;

 private:
  MPI_Comm host_;
  std::vector<int> ranks_;
};

class HostsTransport final : public Transport {
 public:
  /// All ranks of `ranks` make it.
  /// \param segment  that two or more ranks of this host share
  /// \param host     HostRanks::ranks
  /// \throws as MpiTransport
  HostsTransport(MPI_Comm ranks, std::unique_ptr<Segment> segment, std::vector<int> host)
      : shared_(std::move(segment), std::move(host), ranks_in(ranks)), mpi_(ranks) {}

  int rank() const noexcept override { return mpi_.rank(); }
  int ranks() const noexcept override { return mpi_.ranks(); }
  const char* name() const noexcept override { return "shared and mpi"; }
  std::size_t most_bytes() const noexcept override { return std::min(shared_.most_bytes(), mpi_.most_bytes()); }

  void send(int to, std::span<const std::byte> packet) override { to_rank(to).send(to, packet); }
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override {
    to_rank(to).send_large(to, head, body, token);
  }
  bool anything() const noexcept override { return shared_.anything() || mpi_.anything(); }
  /// Null: nobody rings for what comes by MPI.
  std::atomic<std::uint32_t>* doorbell() noexcept override { return nullptr; }
  void announce_failure(const std::string& reason) noexcept override;
  void blame(int rank, const std::string& how) noexcept override { shared_.blame(rank, how); }
  bool may_poll() const noexcept override { return mpi_.may_poll(); }
  void use(std::span<const int> processors, int workers) noexcept override { shared_.use(processors, workers); }
  bool oversubscribed() const noexcept override { return shared_.oversubscribed(); }
  SharedMemory* shared_memory() noexcept override { return shared_.shared_memory(); }
  void count_queued_in(std::vector<std::atomic<std::size_t>*> by_rank) override;
  void watch(Receiver& receiver) override { shared_.watch(receiver); }

  int persistent_tags(int count) override { return mpi_.persistent_tags(count); }
  std::unique_ptr<PersistentMessage> persistent(PersistentMessage::Plan plan) override {
    return mpi_.persistent(std::move(plan));
  }
  void start_persistent() noexcept override { mpi_.start_persistent(); }
  PersistentCounts persistent_counts(int rank) noexcept override { return mpi_.persistent_counts(rank); }

  /// Asks MPI only if it is time to, or if nothing came through memory: to look there takes a few loads, and MPI may
  /// call the system.
  bool poll(Receiver& receiver) override;
  bool all_sent() noexcept override { return shared_.all_sent() && mpi_.all_sent(); }
  /// All ranks leave together, as with MPI alone, when nothing waits in memory.
  bool flush(Receiver& receiver) override;
  void abandon() noexcept override { shared_.abandon(); }
  void leave() noexcept override { shared_.leave(); }

 private:
  Transport& to_rank(int rank) noexcept { return shared_.reaches(rank) ? static_cast<Transport&>(shared_) : mpi_; }

  SharedTransport shared_;
  MpiTransport mpi_;  // ends first: it waits for messages whose bytes may lie in shared memory
};

}  // namespace taskgrain::rt::detail
