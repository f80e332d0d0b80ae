#pragma once

/// The edges of a compiled graph that cross ranks: nothing is matched or allocated while it runs.
///
/// The sends of one record to one rank are a *group*. For each group the receiver has a ring of blocks, in a *window*:
/// memory that the sender writes. A block is a counter and the bytes of the sends. In iteration n (counted over all
/// launches)
///   the sender writes the bytes of block n mod blocks, and then stores n + 1 to its counter;
///   the receiver waits until that counter is at least n + 1; for a carried edge, until that of block n - 1 is at
///   least n.
/// The counter and the bytes of a small group lie in one cache line, so one line moves from core to core.
///
/// A block is written again only when nobody reads its bytes any more. Each worker of the receiver that reads any of
/// them publishes, after its last record of iteration n, a *credit* of n + 1 for the sending rank. Before its first
/// send of iteration n to a rank, the sender waits for credits of n + 2 - blocks: block n - blocks is read until
/// iteration n - blocks, or by carried edges until n - blocks + 1. Two blocks would do where no edge is carried; small
/// groups have four, so that nobody waits for credits.
///
/// Two mechanisms carry an edge:
///   shared stores         Where ranks share memory, blocks, counters and credits are stores to the receiver's arena.
///   persistent requests   Elsewhere (MPI) each group is a persistent message, from a ring of blocks on the sender to
///                         that on the receiver, which writes the counters when it sees what has come. The credit for
///                         a rank is one more, without bytes: that n have come says that all workers have published
///                         n. Receives are posted as far as credits go, for launches of this rank and for those that
///                         the sender has announced: so all that is sent comes, and between launches nothing is
///                         posted.
///
/// Three parts share the work: an EdgeSender, an EdgeReceiver, and a LaunchAgreement, which compares how ranks launch.
/// An EdgeEndpoint (edge_endpoint.hpp) takes their messages. rank_edges_compiler.cpp sets all of them up.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "edge_receiver.hpp"
#include "edge_sender.hpp"
#include "launch_agreement.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

class EdgeEndpoint;

class RankEdges {
 public:
  /// By all ranks.
  RankEdges(Messages& ranks, const Compiler& graph, const InOrderPrograms& programs);
  ~RankEdges();
  RankEdges(const RankEdges&) = delete;
  RankEdges& operator=(const RankEdges&) = delete;

  /// \param resume  resume(worker): it may go on. Called by whoever polls. Called with null before what it calls ends
  void on_resume(std::function<void(int worker)> resume);

  /// A launch begins: its neighbours must launch as many iterations, or they would wait for one another for ever. What
  /// differs fails all ranks, as soon as both have launched.
  void launch(std::int64_t end) { launches_.launch(end); }
  /// A neighbour that has not said that it has made a launch which this rank has; -1 if there is none.
  int without_launch() { return launches_.without_launch(); }

  /// All ranks cancel the graph; some have launched it more often than others by then.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

  // -- by workers; `begin` is that of the launch

  /// Whether a wait for another rank has been met.
  bool passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept {
    return wait.channel >= first_credit_ ? sender_.passed(wait.channel - first_credit_, iteration)
                                         : receiver_.passed(wait, iteration, begin);
  }
  /// From now on, this worker is resumed when it may have been met. \returns whether it has not been met yet
  ///
  /// The worker sets `parked` and then looks once more; whoever writes what it waits for looks at `parked` after that,
  /// with a full fence between in both: one of the two sees the other's write (Dekker).
  bool park(const Wait& wait, std::int64_t iteration, std::int64_t begin) noexcept;
  void send(std::uint32_t group, std::int64_t iteration) { sender_.send(group, iteration); }
  /// The worker is through an iteration.
  void finish(int worker, std::int64_t iteration) { receiver_.finish(worker, iteration); }

  /// Where the bytes of a receive are.
  std::span<const std::byte> received(std::size_t number, std::int64_t iteration) const noexcept {
    return receiver_.received(number, iteration);
  }

 private:
  friend class EdgeEndpoint;

  /// By who polls.
  void receive(int from, const EdgeMessage& what);

  const std::uint32_t first_credit_;        // channel
  std::shared_ptr<EdgeEndpoint> endpoint_;  // outlives this: messages may come later
  EdgeSender sender_;
  EdgeReceiver receiver_;
  LaunchAgreement launches_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace taskgrain::rt::detail
