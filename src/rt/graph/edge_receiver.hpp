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
  /// \param groups  from each rank, the description of the groups that it sends (EdgeSender::describe_groups)
  /// \param tags    the first of the persistent messages; 0 where all ranks share memory
  /// \returns for each rank, the offsets to which it writes
  Messages::Gathered make_windows(const Compiler& graph, const InOrderPrograms& programs,
                                  const Messages::Gathered& groups, int tags);
  /// Leaves out waits for a group for which an earlier record of the program waits, because all that a group sends
  /// arrives together. Called after make_windows.
  void leave_out_waits(InOrderProgram& program, std::uint32_t first_credit) const;

  // -- by workers

  bool passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept;
  std::atomic<std::uint32_t>& parked(const Wait& wait) noexcept {
    return *slots_[wait.channel - first_receive_].parked;
  }
  /// Publishes the credits of a worker that has finished an iteration.
  void finish(int worker, std::int64_t iteration);
  std::span<const std::byte> received(std::size_t number, std::int64_t iteration) const noexcept;

  // -- by the polling thread, under the lock of the endpoint

  /// Notes that so many iterations of a group have arrived by its persistent message.
  void on_group(int rank, std::size_t group, std::int64_t iterations) noexcept;
  /// Resumes the parked workers that read a group.
  void resume(int rank, std::size_t group) noexcept { endpoint_.resume(origin(rank).groups[group].readers); }

  std::vector<int> ranks() const;
  /// Allows the persistent messages from a rank up to iteration `end`. \returns whether there are any
  bool expect(int rank, std::int64_t end) noexcept;

 private:
  /// The place of a receive in its blocks.
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
    // With persistent messages:
    std::unique_ptr<PersistentMessage> credit{};  // n of them are credits of n · per_credit
    std::int64_t per_credit = 1;
    SpinLock lock;                       // protects the members below
    std::vector<std::int64_t> read{};    // by reader: the iterations that it has finished
    std::int64_t all_read = 0, end = 0;  // all_read ≤ min read; end: of the last launch
  };

  Origin& origin(int rank) noexcept;
  void repeat(Origin& from, std::size_t group, int tags);
  void grant_credit(Origin& from) noexcept;
  void allow_groups(Origin& from) noexcept;

  Messages& ranks_;
  EdgeEndpoint& endpoint_;
  const std::uint32_t first_receive_;  // the channel of the first receive
  std::vector<ReceiveSlot> slots_;     // by receive
  std::deque<Origin> origins_;
};

}  // namespace taskgrain::rt::detail
