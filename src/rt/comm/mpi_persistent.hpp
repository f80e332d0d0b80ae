#pragma once

/// Persistent messages by persistent requests of MPI: one for each slot, made once and started again and again.
///
/// Each message has a tag that no other has or will have in its communicator. Its requests are started in the order of
/// their slots, and MPI matches those of one tag in that order. So they also complete in order as far as the user is
/// concerned, and only the oldest request under way of each message is tested.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt::detail {

class MpiPersistentMessages {
 public:
  /// \param first, most  tags
  /// \param piece_bytes  of a slot in one message of MPI, which counts with int
  /// \param report_error     called with the rank whose messages have failed, and why
  MpiPersistentMessages(MPI_Comm comm, int first, int most, std::size_t piece_bytes,
                        std::function<void(int rank, const char* call, int code)> report_error);
  ~MpiPersistentMessages();
  MpiPersistentMessages(const MpiPersistentMessages&) = delete;
  MpiPersistentMessages& operator=(const MpiPersistentMessages&) = delete;

  // -- by who may call MPI, one at a time

  /// \returns the first of so many tags \throws std::runtime_error  there are not so many left
  int numbers(int count);
  std::unique_ptr<PersistentMessage> make(PersistentMessage::Plan plan);
  /// Starts what has been allowed, as far as there are slots.
  void start();
  /// Nothing more goes to this rank or comes from it.
  void drop(int rank) noexcept { dropped_.push_back(rank); }

  PersistentCounts counts(int rank) const noexcept;
  /// Whether all that was allowed to go is on its way.
  bool all_sent() const noexcept;

  // -- by the poll as well

  /// Frees what has ended. \pre `done` is empty
  void free_ended();
  /// Asks MPI what is complete. \returns whether anything is
  bool test();
  /// A plan for each message that has gone or come; the poll clears it.
  std::vector<const PersistentMessage::Plan*> done;

  // -- by any thread
  bool any_allowed() const noexcept { return allowed_.load(std::memory_order_relaxed) != nullptr; }

 private:
  /// A test looks at so many, and the next one at others: a poll must not take long.
  static constexpr std::size_t most_tested = 64;

  struct Message {
    PersistentMessage::Plan plan;
    std::vector<MPI_Request> requests;  ///< by slot, and then by piece
    std::int64_t pieces;                ///< of a slot
    std::atomic<std::int64_t> allowed{0}, done{0};
    std::atomic<bool> listed{false};
    Message* next_allowed = nullptr;  ///< by who lists it, and who takes the list
    Message* next_ended = nullptr;
    // By who may call MPI: of requests.
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
  std::map<int, PersistentCounts> freed_;  ///< by rank: of those that have been freed
  std::vector<int> dropped_;               ///< ranks
  std::vector<Message*> ended_;            ///< and not yet freed
  std::vector<Message*> active_;           ///< a request is under way
  std::vector<MPI_Request> oldest_;        ///< of each of active_, the oldest one under way
  std::size_t next_tested_ = 0;            ///< in active_
  std::array<int, most_tested> indices_{};
  std::array<MPI_Status, most_tested> statuses_{};

  std::atomic<Message*> allowed_{nullptr}, closed_{nullptr};  ///< lists
};

}  // namespace taskgrain::rt::detail
