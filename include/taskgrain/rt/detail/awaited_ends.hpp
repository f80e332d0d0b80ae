#pragma once

/// Events that happen when a handler has nothing left to do, and fail when it is broken.
///
/// Each belongs to a handler that is not forgotten, and is settled once: by a wait that finds the handler done, by what
/// breaks it, or at once where the handler is broken already (Handler::broken_by_).

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/event.hpp"

namespace taskgrain::rt::detail {

class Failures;

/// The events of an engine's handlers. Any thread may call these functions.
class AwaitedEnds {
 public:
  /// \param failures  where what their callbacks throw is reported
  explicit AwaitedEnds(Failures& failures) noexcept : failures_(failures) {}

  void add(Handler& handler, const Event& event);
  /// Settles those of handlers that are done. \returns whether there were any
  bool settle() noexcept { return any_.load(std::memory_order_acquire) && settle(nullptr, nullptr); }
  /// A handler is broken: fails its events, and those that are added until it is mended.
  void fail(Handler& handler, const std::exception_ptr& why) noexcept;
  /// A handler is to be opened again: from then on it may break again.
  void mend(Handler& handler) noexcept;

 private:
  /// \param broken  whose events fail; null: those of handlers that are done are set
  bool settle(const Handler* broken, const std::exception_ptr& why) noexcept;

  Failures& failures_;
  std::mutex mutex_;  // protects the next, and Handler::broken_by_
  std::vector<std::pair<Handler*, Event>> awaited_;
  std::atomic<bool> any_{false};  // awaited_ is not empty; written under the mutex
};

}  // namespace taskgrain::rt::detail
