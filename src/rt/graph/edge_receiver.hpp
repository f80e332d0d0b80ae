#pragma once

/// The receiving side of the edges between ranks (rank_edges.hpp).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "comm/spin_lock.hpp"
#include "edge_endpoint.hpp"
#include "program.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

struct Compiler;

class EdgeReceiver {
 public:
  EdgeReceiver(Messages& ranks, EdgeEndpoint& endpoint, const Compiler& graph, const InOrderPrograms& programs);

  /// Makes the windows (rank_edges_compiler.cpp).
  /// \param groups  for each rank, what it has said of the groups that it sends
  /// \param tags    the first of the persistent messages; 0 with shared memory
  /// \returns for each rank, where it is to write
  Messages::Gathered make_windows(const Compiler& graph, const InOrderPrograms& programs,
                                  const Messages::Gathered& groups, int tags);

  // -- by workers

  bool passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept;
  std::atomic<std::uint32_t>& parked(const Wait& wait) noexcept {
    return *slots_[wait.channel - first_receive_].parked;
  }
  /// Publishes the credits of a worker that is through an iteration.
  void finish(int worker, std::int64_t iteration);
  std::span<const std::byte> received(std::size_t number, std::int64_t iteration) const noexcept;

  // -- by who polls, under the lock of the endpoint

  /// So many iterations of a group are there.
  void on_group(int rank, std::size_t group, std::int64_t iterations) noexcept;
  /// Parked workers that read this group may go on.
  void resume(int rank, std::size_t group) noexcept { endpoint_.resume(origin(rank).groups[group].readers); }

  std::vector<int> ranks() const;
  /// A launch that ends there will send. \returns whether this rank receives from that one
  bool expect(int rank, std::int64_t end) noexcept;

 private:
  /// Where a receive finds its bytes.
  struct ReceiveSlot {
    const std::byte* blocks;
    std::size_t block_bytes, offset, bytes;
    std::int64_t mask;  // blocks - 1
    std::atomic<std::uint32_t>* parked;
  };
  struct ReceiveGroup {
    std::vector<int> readers;
    std::byte* blocks;
    std::size_t block_bytes, bytes;
    std::unique_ptr<PersistentMessage> message{};
  };
  /// A rank from which this one receives.
  struct Origin {
    explicit Origin(int of) : rank(of) {}
    int rank;
    std::vector<int> readers{};  // workers, ascending
    std::vector<ReceiveGroup> groups{};
    std::int64_t blocks = 0;
    std::shared_ptr<ReceiveWindow> window{};
    // Where messages are repeated:
    std::unique_ptr<PersistentMessage> credit{};
    SpinLock lock;                       // protects the members below
    std::vector<std::int64_t> read{};    // by reader: iterations that it is through
    std::int64_t all_read = 0, end = 0;  // by all readers; of the last launch
  };

  Origin& origin(int rank) noexcept;
  void repeat(Origin& from, std::size_t group, int tags);
  void grant_credit(Origin& from) noexcept;
  void allow_groups(Origin& from) noexcept;

  Messages& ranks_;
  EdgeEndpoint& endpoint_;
  const bool shared_;                  // memory
  const std::uint32_t first_receive_;  // channel
  std::vector<ReceiveSlot> slots_;     // by receive
  std::deque<Origin> origins_;
};

}  // namespace taskgrain::rt::detail
