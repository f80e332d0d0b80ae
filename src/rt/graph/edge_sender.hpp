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

  /// \returns for each rank, what it needs to know of the groups that go there
  Messages::Gathered describe_groups(const Compiler& graph, const InOrderPrograms& programs);
  /// \param windows  for each rank, where it lets this one write
  /// \param tags     the first of the persistent messages; 0 with shared memory
  void attach(const Messages::Gathered& windows, int tags);

  // -- by workers

  /// Whether all credits are there that the next send to a destination needs.
  bool passed(std::uint32_t destination, std::int64_t iteration) const noexcept;
  std::atomic<std::uint32_t>& parked(std::uint32_t destination) noexcept { return *destinations_[destination].parked; }
  void send(std::uint32_t group, std::int64_t iteration);

  // -- by who polls, under the lock of the endpoint

  /// A rank has given credit, or what goes there has left its block.
  void on_credit(int rank) noexcept;
  /// Parked workers that send to this rank may go on.
  void resume(int rank) noexcept { endpoint_.resume(destination(rank).workers); }

  std::vector<int> ranks() const;
  /// A launch that ends there will need credits. \returns whether this rank sends to that one
  bool expect(int rank, std::int64_t end) noexcept;

 private:
  struct SendGroup {
    int rank;
    std::uint32_t number;  // among those from this rank to the other
    std::byte* blocks;     // in the receiver's window; without shared memory, own ones
    std::size_t block_bytes, bytes;
    std::atomic<std::uint32_t>* parked;  // somebody waits for it; null without shared memory
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
    std::vector<const std::atomic<std::int64_t>*> credits;  // what must be at least n + 2 - blocks
    std::atomic<std::uint32_t>* parked;                     // a worker of this rank waits for credits
    std::vector<int> workers{};                             // of this rank, that send to it
    // Without shared memory, else null:
    std::unique_ptr<std::atomic<std::uint32_t>> own_parked{};
    std::unique_ptr<PersistentMessage> credit{};
  };

  Destination& destination(int rank) noexcept;
  void repeat(Destination& to, SendGroup& group, int tags);

  Messages& ranks_;
  EdgeEndpoint& endpoint_;
  const bool shared_;                      // memory
  std::vector<SendGroup> groups_;          // as in InOrderPrograms
  std::vector<Destination> destinations_;  // as in InOrderPrograms::target_ranks
};

}  // namespace taskgrain::rt::detail
