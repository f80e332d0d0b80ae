#pragma once

/// Packets between ranks of several hosts: through shared memory to ranks of this host (SharedTransport), by MPI to all
/// others (MpiTransport).
///
/// Two kinds of numbers: `rank` is among all ranks, `local` among those that share memory with this one.

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
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
  /// By all of these. \throws as Segment, on all of them
  std::unique_ptr<Segment> make_segment() const;

 private:
  MPI_Comm host_;
  std::vector<int> ranks_;
};

class HostsTransport final : public Transport {
 public:
  /// On all ranks of `ranks`.
  /// \param segment  that two or more ranks of this host share
  /// \param host     HostRanks::ranks
  /// \throws as MpiTransport
  HostsTransport(MPI_Comm ranks, std::unique_ptr<Segment> segment, std::vector<int> host);

  int rank() const noexcept override { return mpi_.rank(); }
  int ranks() const noexcept override { return mpi_.ranks(); }
  const char* name() const noexcept override { return "shared and mpi"; }
  std::size_t most_bytes() const noexcept override;

  void send(int to, std::span<const std::byte> packet) override;
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override;
  bool anything() const noexcept override { return shared_.anything() || mpi_.anything(); }
  /// Nobody rings for what comes by MPI.
  std::atomic<std::uint32_t>* doorbell() noexcept override { return nullptr; }
  void announce_failure(const std::string& reason) noexcept override;
  void blame(int rank, const std::string& how) noexcept override;
  bool may_poll() const noexcept override { return mpi_.may_poll(); }
  void use(std::span<const int> processors, int workers) noexcept override { shared_.use(processors, workers); }
  bool oversubscribed() const noexcept override { return shared_.oversubscribed(); }
  SharedMemory* shared_memory() noexcept override { return &memory_; }
  void count_queued_in(std::vector<std::atomic<std::size_t>*> by_rank) override;
  void watch(Receiver& receiver) override;

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
  /// The receiver of what comes through memory: it tells another one, with ranks.
  class OfHost final : public Receiver {
   public:
    OfHost(Receiver& to, const std::vector<int>& host) : to_(to), host_(host) {}
    void packet(int from, std::span<const std::byte> bytes) override { to_.packet(rank(from), bytes); }
    Place place(int from, std::span<const std::byte> head, std::size_t bytes) override {
      return to_.place(rank(from), head, bytes);
    }
    bool take_in_place(int from, std::span<const std::byte> head, std::span<const std::byte> body) override {
      return to_.take_in_place(rank(from), head, body);
    }
    void arrived(int from, void* token) override { to_.arrived(rank(from), token); }
    void reusable(void* token) override { to_.reusable(token); }
    void drop(void* token) noexcept override { to_.drop(token); }
    void lost(int lost, const std::string& why) noexcept override { to_.lost(rank(lost), why); }

   private:
    int rank(int local) const noexcept { return host_[static_cast<std::size_t>(local)]; }

    Receiver& to_;
    const std::vector<int>& host_;
  };

  class Memory final : public SharedMemory {
   public:
    explicit Memory(HostsTransport& of) : of_(of) {}
    std::byte* allocate(std::size_t bytes) override { return arena().allocate(bytes); }
    void release(const std::byte* piece) noexcept override { arena().release(piece); }
    std::size_t offset(const std::byte* piece) const noexcept override { return arena().offset(piece); }
    std::byte* at(int rank, std::size_t offset) const noexcept override { return arena().at(of_.local(rank), offset); }
    bool shared_with(int rank) const noexcept override { return of_.local(rank) != elsewhere; }

   private:
    SharedMemory& arena() const noexcept { return *of_.shared_.shared_memory(); }

    HostsTransport& of_;
  };

  static constexpr int elsewhere = -1;
  int local(int rank) const noexcept { return locals_[static_cast<std::size_t>(rank)]; }

  const std::vector<int> host_;  // rank by local
  std::vector<int> locals_;      // local by rank, or `elsewhere`
  SharedTransport shared_;
  MpiTransport mpi_;
  Memory memory_{*this};
  std::optional<OfHost> receiver_;  // of the Watch; set by `watch`
};

}  // namespace taskgrain::rt::detail
