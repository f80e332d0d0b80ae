#pragma once

/// The edges of a compiled graph that cross ranks: nothing is matched or allocated while it runs.
///
/// What one record sends to one rank is a *group* of sends. The receiver has a
/// ring of blocks for each group; each block has a counter and the bytes of the sends, and the sender writes the
/// counter last. In iteration n (counted over all launches)
///   the sender writes block n mod blocks, and then n + 1 into its counter;
///   the receiver waits until that counter is at least n + 1; for a carried edge, until that of block n - 1 is at
/// least n. Small groups take one cache line, counter and bytes together.
///
/// A block is written again only when its bytes are read no more. Each worker of the receiver that reads any of them
/// publishes, after its last record of iteration n, a *credit* of n + 1 for the sending rank. Before its first send of
/// iteration n to a rank, the sender waits for credits of n + 2 - blocks: block n - blocks is read until n - blocks, or
/// by carried edges until n - blocks + 1. Two blocks would do where no edge is carried; small groups have four, so that
/// nobody waits for credits.
///
/// Where ranks share memory, all this is stores to the arena of the receiver. Where the transport has repeated messages
/// (MPI), each group is one, from a ring of blocks on the sender to that on the receiver; the receiver writes the
/// counters when it sees what has come. The credit for a rank is one more, without bytes: that n have come says that
/// all workers have published n. A rank has receives posted for what it will get, as far as credits go: in launches of
/// its own, and in those of which the sender has told it. So all that is sent comes, and between launches nothing is
/// posted.
///
/// Elsewhere, or if there are no numbers left for repeated messages, each group is one active message an iteration, and
/// each credit one.

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

#include "comm/spin_lock.hpp"
#include "in_order_program.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

struct Compiler;

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
  void launch(std::int64_t end);
  /// A neighbour that has not said that it has made a launch which this rank has; -1 if there is none.
  int without_launch();

  /// All ranks cancel the graph; some have launched it more often than others by then.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

  // -- by workers; `begin` is that of the launch

  /// Whether a wait for another rank has been met.
  bool passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept;
  /// From now on, this worker is resumed when it may have been met. \returns whether it has not been met yet
  bool park(const Wait& wait, std::int64_t iteration, std::int64_t begin) noexcept;
  void send(std::uint32_t group, std::int64_t iteration);
  /// The worker is through an iteration.
  void finish(int worker, std::int64_t iteration);

  /// Where the bytes of a receive are.
  std::span<const std::byte> received(std::size_t number, std::int64_t iteration) const noexcept;

 private:
  struct Board;
  class Mail;
  using Blocks = std::vector<std::byte, ApartAllocator<std::byte>>;

  /// On the sender. A block begins with its counter.
  struct Group {
    int rank;
    std::uint32_t number;  // among those from this rank to the other
    std::byte* blocks;     // in the receiver's arena; without shared memory, own ones
    std::size_t block_bytes, bytes;
    std::atomic<std::uint32_t>* parked;          // somebody waits for it; null without shared memory
    std::int64_t mask = 0;                       // blocks - 1
    std::shared_ptr<Blocks> own{};               // without shared memory; one block without repeated messages
    std::unique_ptr<RepeatedMessage> message{};  // null if there are none
    struct Send {
      std::span<const std::byte> from;
      std::size_t offset;  // in a block
    };
    std::vector<Send> sends{};
  };
  /// A rank to which this one sends.
  struct Target {
    int rank;
    std::int64_t blocks;                                    // a power of two
    std::vector<const std::atomic<std::int64_t>*> credits;  // what must be at least n + 2 - blocks
    std::atomic<std::uint32_t>* parked;                     // a worker of this rank waits for credits
    std::vector<int> workers{};                             // of this rank, that send to it
    // Without shared memory:
    std::unique_ptr<std::atomic<std::int64_t>[]> own{};
    std::unique_ptr<std::atomic<std::uint32_t>> own_parked{};
    std::unique_ptr<RepeatedMessage> credit{};  // null if there are none
  };
  /// On the receiver.
  struct Arrival {
    const std::byte* blocks;
    std::size_t block_bytes, offset, bytes;
    std::int64_t mask;  // blocks - 1
    std::atomic<std::uint32_t>* parked;
  };
  /// A rank from which this one receives.
  struct Source {
    explicit Source(int of) : rank(of) {}
    int rank;
    std::vector<int> readers{};  // workers, ascending
    struct Group {
      std::vector<int> readers;
      std::byte* blocks;
      std::size_t block_bytes, bytes;
      std::unique_ptr<RepeatedMessage> message{};
    };
    std::vector<Group> groups{};
    std::int64_t blocks = 0;
    std::shared_ptr<Board> board{};
    // Where messages are repeated:
    std::unique_ptr<RepeatedMessage> credit{};
    SpinLock lock;                       // protects the members below
    std::vector<std::int64_t> read{};    // by reader: iterations that it is through
    std::int64_t all_read = 0, end = 0;  // by all readers; of the last launch
  };

  static std::atomic<std::int64_t>& counter(std::byte* block) noexcept {
    return *reinterpret_cast<std::atomic<std::int64_t>*>(block);
  }
  struct Note;
  Messages::Gathered find_groups(const Compiler& graph, const InOrderPrograms& programs);
  Messages::Gathered make_boards(const Compiler& graph, const InOrderPrograms& programs,
                                 const Messages::Gathered& groups);
  void take_boards(const Messages::Gathered& boards);
  void repeat(Source& from, std::size_t group);
  void repeat(Target& to, Group& group);
  void came(Source& from, std::size_t group, std::int64_t iterations) noexcept;
  void credited(Target& to) noexcept;
  void expect(int rank, std::int64_t end) noexcept;
  void note_read(Source& from) noexcept;
  void allow_groups(Source& from) noexcept;
  void tell(int rank, const Note& note, std::span<const std::byte> bytes = {});
  void hear(int from, Reader& message, const Note& note);
  void compare_launches(int from);
  Target& target(int rank) noexcept;
  Source& source(int rank) noexcept;

  Messages& ranks_;
  const bool shared_;                           // memory
  std::uint32_t first_receive_, first_credit_;  // channels
  int numbers_ = -1;                            // of repeated messages: the credits', and then those of groups
  std::vector<Group> groups_;                   // as in InOrderPrograms
  std::vector<Target> targets_;                 // as in InOrderPrograms::target_ranks
  std::vector<Arrival> arrivals_;
  std::deque<Source> sources_;
  std::atomic<bool> cancelled_{false};
  std::mutex launches_mutex_;  // protects the members below
  std::uint32_t number_of_launches_ = 0;
  std::deque<std::int64_t> own_launches_;  // where each ends; those that some neighbour has not said
  // By rank: those that are not compared, by number. Messages may overtake one another.
  std::map<int, std::map<std::uint32_t, std::int64_t>> launches_;
  std::map<int, std::size_t> compared_;  // by rank: how many of own_launches_
  std::shared_ptr<Mail> mail_;           // outlives this: messages may come later
};

}  // namespace taskgrain::rt::detail
