#pragma once

/// The failure of a rank: the first that this rank has heard of, or its own. It never ends.
///
///   failed_ is set once, after rank_ and why_, and after the transport has stopped to read and write bodies of large
///   messages: a thread that sees it may free them
/// A rank that fails tells all others; one that hears of it tells nobody, except a rank that is lost.

#include <atomic>
#include <mutex>
#include <string>

#include "joined_engine.hpp"
#include "outbox.hpp"

namespace taskgrain::rt::detail {

/// The functions may be called from any thread.
class RankFailure {
 public:
  RankFailure(Outbox& outbox, JoinedEngine& engine) noexcept : outbox_(outbox), engine_(engine) {}

  bool exists() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// \throws RankFailed \pre it exists
  [[noreturn]] void raise() const;
  /// True if this rank has failed first.
  bool is_own() const noexcept;

  /// Fails all ranks with this reason.
  void fail(const char* what) noexcept;
  void fail_for(int rank, const std::string& what) noexcept;
  /// Another rank has said that a rank has failed. \returns whether it is the first failure
  bool set(int rank, const std::string& why) noexcept;
  /// The process of a rank has ended, or its connection has failed.
  void lost(int rank, const std::string& why) noexcept;
  void tell_all() noexcept;

 private:
  void tell(int other) noexcept;

  Outbox& outbox_;
  JoinedEngine& engine_;
  mutable std::mutex mutex_;  // protects the two below
  int rank_ = -1;
  std::string why_;
  std::atomic<bool> failed_{false};  // `set` stores it under the mutex, after the two above and Transport::abandon
};

}  // namespace taskgrain::rt::detail
