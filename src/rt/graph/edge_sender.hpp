#pragma once

/// The sending side of the edges between ranks (rank_edges.hpp).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edge_endpoint.hpp"
#include "program.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

struct Compiler;

class EdgeSender {
 public:
  EdgeSender(Messages& ranks, EdgeEndpoint& endpoint, const InOrderPrograms& programs);

  // -- set-up, in this order (rank_edges_compiler.cpp)

  /// \returns for each rank, a description of the groups that it receives
  Messages::Gathered describe_groups(const Compiler& graph, const InOrderPrograms& programs);
  /// \param windows  from each rank, the offsets to which this one writes (EdgeReceiver::make_windows)
  /// \param tags     the first of the persistent messages; 0 where all ranks share memory
  void attach(const Messages::Gathered& windows, int tags);

  // -- by workers

  /// True if the send of an iteration to a destination has all credits that it needs.
  bool passed(std::uint32_t destination, std::int64_t iteration) const noexcept;
  std::atomic<std::uint32_t>& parked(std::uint32_t destination) noexcept { return *destinations_[destination].parked; }
  void send(std::uint32_t group, std::int64_t iteration);

  // -- by the polling thread, under the lock of the endpoint

  /// A credit of a rank has come, or a persistent message to it is complete: resumes workers that wait for that.
  void on_credit(int rank) noexcept;
  /// Resumes the parked workers that send to a rank.
  void resume(int rank) noexcept { endpoint_.resume(destination(rank).workers); }

  std::vector<int> ranks() const;
  /// Allows the credits from a rank up to iteration `end`. \returns whether they are persistent messages
  bool expect(int rank, std::int64_t end) noexcept;

 private:
  struct SendGroup {
    int rank;
    std::uint32_t number;  // among the groups from this rank to the other
    std::byte* blocks;     // in the receiver's window; without shared memory, own ones
    std::size_t block_bytes, bytes;
    std::atomic<std::uint32_t>* parked;  // 1: a worker of the receiver waits for this group; null without shared memory
    std::int64_t mask = 0;               // blocks - 1
    std::shared_ptr<OwnBlocks> own{};    // null with shared memory, as the next
    std::unique_ptr<PersistentMessage> message{};
    struct Send {
      std::span<const std::byte> from;
      std::size_t offset;  // in a block
    };
    std::vector<Send> sends{};
  };
  /// A rank to which this one sends.
  struct Destination {
    int rank;
    std::int64_t blocks;                                    // a power of two
    std::vector<const std::atomic<std::int64_t>*> credits;  // before a send of n, each must be ≥ n + 2 − blocks
    std::atomic<std::uint32_t>* parked;                     // 1: a worker of this rank waits for credits
    std::vector<int> workers{};                             // of this rank, that send to it
    // Without shared memory, else null:
    std::unique_ptr<std::atomic<std::uint32_t>> own_parked{};
    std::unique_ptr<PersistentMessage> credit{};  // n of them are credits of n · per_credit
    std::int64_t per_credit = 1;
  };

  Destination& destination(int rank) noexcept;
  void repeat(Destination& to, SendGroup& group, int tags);

  Messages& ranks_;
  EdgeEndpoint& endpoint_;
  std::vector<SendGroup> groups_;          // as in InOrderPrograms
  std::vector<Destination> destinations_;  // as in InOrderPrograms::target_ranks
};

}  // namespace taskgrain::rt::detail
