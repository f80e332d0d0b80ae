#pragma once

/// Persistent messages by persistent requests of MPI: MPI_Send_init or MPI_Recv_init once for each slot (or piece of
/// one), then MPI_Start again and again.
///
/// Each message has a tag of its own, which is never used again in its communicator. Its requests are started in the
/// order of their slots, and MPI matches requests of one tag in the order in which they are started. So message n is
/// complete only after message n − 1, and only the oldest started request of each message is tested.

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

class MpiPersistentMessages {
 public:
  /// \param first, most   the range of tags
  /// \param piece_bytes   the most bytes of one request: MPI counts with int
  /// \param report_error  called with the rank whose messages have failed (-1: no single one), the call and MPI's code
  MpiPersistentMessages(MPI_Comm comm, int first, int most, std::size_t piece_bytes,
                        std::function<void(int rank, const char* call, int code)> report_error);
  ~MpiPersistentMessages();

  // -- under MpiTransport::mpi_

  /// Reserves tags. \returns the first \throws std::runtime_error  there are not so many left
  int reserve_tags(int count);
  std::unique_ptr<PersistentMessage> make(PersistentMessage::Plan plan);
  /// Starts the messages that were allowed since the last call, as far as their slots are free.
  void start();
  /// The rank is lost: no message to it or from it is started any more.
  void drop(int rank) noexcept { dropped_.push_back(rank); }

  PersistentCounts counts(int rank) const noexcept;
  /// True if all sends that were allowed have been started.
  bool all_sent() const noexcept;

  // -- under MpiTransport::mpi_, by the polling thread

  /// Frees messages whose handle was destroyed and which are complete. \pre `done` is empty
  void free_ended();
  /// A test: requests that may be complete, for an MPI_Testsome together with others, since each asks the network.
  std::span<const MPI_Request> to_test() noexcept;
  /// True if these are all the requests that may be complete.
  bool tests_all() const noexcept { return end_tested_ - first_tested_ == oldest_.size(); }
  /// Notes that the request at this place of `to_test` is complete, with MPI's code.
  void complete(std::size_t tested, int code);
  /// Ends the test, after all calls of `complete`.
  void end_test() noexcept;
  /// The plan of each message that a test found complete, once for each completion. The polling thread clears it.
  std::vector<const PersistentMessage::Plan*> done;

  // -- by any thread
  bool any_allowed() const noexcept { return allowed_.load(std::memory_order_relaxed) != nullptr; }

 private:
  /// The most requests of one test; the next one is of others. It bounds the time of a poll.
  static constexpr std::size_t most_tested = 64;

  struct Message {
    PersistentMessage::Plan plan;
    std::vector<MPI_Request> requests;  ///< by slot, and then by piece
    std::int64_t pieces;                ///< requests of a slot
    /// Messages, with done ≤ allowed. The owner of the handle writes `allowed`, the polling thread `done`, both with
    /// release.
    std::atomic<std::int64_t> allowed{0}, done{0};
    /// True while it is in the list allowed_. The thread that changes it to true pushes it there; `start` resets it
    /// before it reads `allowed`, so no later value is lost.
    std::atomic<bool> listed{false};
    Message* next_allowed = nullptr;  ///< in allowed_
    Message* next_closed = nullptr;   ///< in closed_
    /// Requests, under mpi_: complete ≤ started ≤ complete + requests.size(), and started ≤ allowed · pieces.
    std::int64_t started = 0, complete = 0;
    bool tested = false;  ///< it is in active_

    MPI_Request& request(std::int64_t number) noexcept {
      return requests[static_cast<std::size_t>(number) % requests.size()];
    }
  };
  class Handle;

  static void push(std::atomic<Message*>& list, Message* message, Message* Message::* next) noexcept {
    message->*next = list.load(std::memory_order_relaxed);
    while (!list.compare_exchange_weak(message->*next, message, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  void start(Message& message);
  static void count(const Message& message, PersistentCounts& counts) noexcept;
  bool lost(const Message& message) const noexcept {
    return std::ranges::find(dropped_, message.plan.rank) != dropped_.end();
  }

  const MPI_Comm comm_;
  int next_;
  const int most_;
  const std::int64_t piece_bytes_;
  const std::function<void(int, const char*, int)> report_error_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::map<int, PersistentCounts> freed_;          ///< by rank: sums over the messages that were freed
  std::vector<int> dropped_;                       ///< lost ranks
  std::vector<Message*> ended_;                    ///< their handles were destroyed, and they are not freed yet
  std::vector<Message*> active_;                   ///< they have started requests that are not complete
  std::vector<MPI_Request> oldest_;                ///< of each of active_, the oldest of these
  std::size_t first_tested_ = 0, end_tested_ = 0;  ///< those of oldest_ that are tested

  /// Lock-free lists: any thread pushes, `start` takes all. allowed_: to be started; closed_: the handle was destroyed.
  std::atomic<Message*> allowed_{nullptr}, closed_{nullptr};
};

}  // namespace taskgrain::rt::detail
