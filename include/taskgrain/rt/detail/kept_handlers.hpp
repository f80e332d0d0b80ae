#pragma once

/// The handlers that an engine keeps: from `add` until `forget`, when nothing of them is left. One that is removed
/// while it is in use is retired meanwhile.
///   kept_[handler.place_] is the handler, as long as it is kept

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/handlers.hpp"

namespace taskgrain::rt::detail {

/// The table of an engine's handlers. Any thread may call these functions.
class KeptHandlers {
 public:
  using List = std::vector<std::shared_ptr<Handler>>;

  void add(const std::shared_ptr<Handler>& handler);
  /// Does nothing if it was forgotten before.
  void forget(const std::shared_ptr<Handler>& handler) noexcept;
  void retire(const std::shared_ptr<Handler>& handler) noexcept;
  /// Takes one back, to end it. \returns whether it was retired, and no other thread has taken it
  bool take_retired(const std::shared_ptr<Handler>& handler) noexcept;
  List retired() const;
  List all() const;
  /// The handlers that no thread waits for alone.
  List unwaited() const;
  /// A thread waits for a handler alone, or does so no more.
  void add_waiters(Handler& handler, int number) noexcept;

  Handlers numbered;  ///< changed under the mutex, once there are threads

 private:
  mutable std::mutex mutex_;  // protects the next, and Handler::place_ and waiters_
  List kept_, retired_;
};

}  // namespace taskgrain::rt::detail
