#pragma once

/// RankEdges: the edges of a compiled graph that cross ranks. All matching and allocation is done at compile time.
///
/// The sends of one record to one rank are a *group*. For each group the receiver has a ring of blocks, in a *window*:
/// memory that the sender writes. A block is a counter and the bytes of the sends. In iteration n (counted over all
/// launches)
///   the sender writes the bytes of block n mod blocks, and then stores n + 1 to its counter;
///   the receiver waits until that counter is at least n + 1; for a carried edge, until that of block n - 1 is at
///   least n.
/// The counter and the bytes of a small group lie in one cache line, so one line moves from core to core.
///
/// A block is overwritten only when no worker reads it any more. Each worker of the receiver that reads any of
/// them publishes, after its last record of iteration n, a *credit* of n + 1 for the sending rank. Before its first
/// send of iteration n to a rank, the sender waits for credits of n + 2 - blocks: block n - blocks is read until
/// iteration n - blocks, or by carried edges until n - blocks + 1. Two blocks would do where no edge is carried; small
/// groups have four or more, so that nobody waits for credits.
///
/// Two mechanisms carry an edge, chosen for each pair of ranks:
///   shared stores         Where they share memory, blocks, counters and credits are stores to the receiver's arena.
///   persistent requests   With MPI each group is a persistent message, from a ring of blocks on the sender to that on
///                         the receiver. The receiver's polling thread stores the counters when messages arrive. The
///                         credits for a rank are one more persistent message, without bytes: when n of them have come,
///                         all workers have published credit n · c. Receives are posted as far as blocks are free, up
///                         to the end of launches that this rank has made or the sender has announced. So all that is
///                         sent is received, and no receive is posted between launches.
///
/// A message costs more than a store, so c is 4 for small groups, which then have 8 blocks; else it is 1. Because
/// blocks > c, the sender waits for nothing that is never told: when all of the n iterations before are read, it knows
/// of n − n mod c ≥ n + 1 − c ≥ n + 2 − blocks.
///
/// Three parts share the work: an EdgeSender, an EdgeReceiver, and a LaunchAgreement, which compares how ranks launch.
/// An EdgeEndpoint (edge_endpoint.hpp) receives their active messages. rank_edges_compiler.cpp sets all of them up.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "edge_endpoint.hpp"
#include "edge_receiver.hpp"
#include "edge_sender.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

/// Checks that ranks that share edges launch a graph equally often, each time with the same number of iterations,
/// because otherwise they would wait for one another for ever. Each rank sends its neighbours where its launches end,
/// and compares what they send with its own.
class LaunchAgreement {
 public:
  LaunchAgreement(Messages& ranks, EdgeEndpoint& endpoint, EdgeSender& sender, EdgeReceiver& receiver)
      : ranks_(ranks), endpoint_(endpoint), sender_(sender), receiver_(receiver) {}

  /// The neighbours: ranks to which this one sends, or from which it receives. Call it once both parts know them.
  void set_neighbours();

  /// This rank launches: sends `end` to the neighbours, and compares.
  void launch(std::int64_t end);
  /// A neighbour from which a launch of this rank is missing; -1 if there is none.
  int missing_launch();
  /// The graph ends. It is an error if a neighbour has launched it once more: what that sent found room and no reader.
  void end();
  std::uint32_t number_of_launches() const noexcept { return number_of_launches_; }
  /// A neighbour launches. By the polling thread.
  void on_launch(int rank, std::uint32_t number, std::int64_t end);

 private:
  void expect(int rank, std::int64_t end) noexcept;
  void compare(int rank);

  Messages& ranks_;
  EdgeEndpoint& endpoint_;
  EdgeSender& sender_;
  EdgeReceiver& receiver_;
  std::vector<int> neighbours_;
  std::mutex mutex_;  // protects the members below
  std::uint32_t number_of_launches_ = 0;
  std::deque<std::int64_t> own_;  // ends of this rank's last launches: those that are not compared with all neighbours
  // By rank and number of the launch: ends that are not compared yet. A map, because messages may overtake one another.
  std::map<int, std::map<std::uint32_t, std::int64_t>> theirs_;
  std::map<int, std::size_t> compared_;  // by rank: the first so many of own_ were compared
};

class RankEdges {
 public:
  /// Leaves out waits of the programs that others imply. All ranks make it.
  RankEdges(Messages& ranks, const Compiler& graph, InOrderPrograms& programs);
  ~RankEdges();

  /// \param resume  resume(worker) is called by the polling thread when a parked worker may go on. Null: call it no
  ///   more
  void on_resume(std::function<void(int worker)> resume);

  /// This rank launches up to iteration `end`. Launches that differ between neighbours fail all ranks.
  void launch(std::int64_t end) { launches_.launch(end); }
  /// Gives LaunchAgreement::missing_launch.
  int missing_launch() { return launches_.missing_launch(); }

  /// All ranks cancel the graph, perhaps after different numbers of launches: they are compared no more when it ends.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

  // -- by workers; `begin` is that of the launch

  /// True if a wait for another rank has ended.
  bool passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept {
    return wait.channel >= first_credit_ ? sender_.passed(wait.channel - first_credit_, iteration)
                                         : receiver_.passed(wait, iteration, begin);
  }
  /// Parks the worker: it is resumed when the wait may have ended. \returns false if it has ended meanwhile
  ///
  /// Dekker: the worker stores `parked`, and then loads the counter or credit that it waits for. The other side stores
  /// that, and then loads `parked`. With a full fence between store and load, one of the two sees the other's store.
  bool park(const Wait& wait, std::int64_t iteration, std::int64_t begin) noexcept;
  void send(std::uint32_t group, std::int64_t iteration) { sender_.send(group, iteration); }
  /// The worker has finished an iteration.
  void finish(int worker, std::int64_t iteration) { receiver_.finish(worker, iteration); }

  /// The bytes of a receive.
  std::span<const std::byte> received(std::size_t number, std::int64_t iteration) const noexcept {
    return receiver_.received(number, iteration);
  }

 private:
  friend class EdgeEndpoint;

  /// Takes a message. The polling thread calls it.
  void receive(int from, const EdgeMessage& what);

  const std::uint32_t first_credit_;        // the channel of the first credit
  std::shared_ptr<EdgeEndpoint> endpoint_;  // outlives this: messages may come later
  EdgeSender sender_;
  EdgeReceiver receiver_;
  LaunchAgreement launches_;
  std::atomic<bool> cancelled_{false};  // any thread sets it, and nobody clears it
};

}  // namespace taskgrain::rt::detail
