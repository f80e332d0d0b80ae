#pragma once

/// Keeps the exceptions of tasks until a thread that waits throws them. Those that no thread throws are printed.
///
/// The user is told of each failure once. A task may throw on what another one has thrown, such as the failure of a
/// launch that it waited for. These are two failures for the waits that throw them, but they share one `told`.

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/scope_exit.hpp"
#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

/// The failures of an engine. Any thread may call these functions.
class Failures {
 public:
  using List = std::vector<std::shared_ptr<Failure>>;

  /// Lets the next wait throw the exception that is being handled. The handler does not fail: it drops nothing.
  void report(Handler& handler, const std::string& task) noexcept;
  /// The last failure of a handler. \pre there is one
  std::exception_ptr of(const Handler& handler) const noexcept;
  /// True if the handler has a failure that no wait has thrown yet.
  bool any_of(const Handler& handler) const noexcept;
  /// The number of failures that are old for a wait for this handler alone, which begins now. The wait gives it to
  /// `take_new`. The failure that has stopped the handler is new, unless a wait has thrown it already.
  unsigned seen(const Handler& handler) const noexcept;
  /// Takes the last failure of a handler, so that its wait throws it; null if there is none since `seen`.
  std::exception_ptr take_new(const Handler& handler, unsigned seen) noexcept;
  /// Takes the failures of these handlers that no wait has thrown. \throws std::bad_alloc  and takes none then
  List take(const std::vector<Handler*>& handlers);
  List take_all() noexcept;
  /// Takes the failure of an event, which its wait throws.
  void take(const std::exception_ptr& failure) noexcept;
  /// True if a failure here only repeats that another rank has failed.
  static bool comes_from_ranks(const Failure& failure) noexcept;

  /// Notes that a wait is about to throw it.
  static void note_thrown(const std::exception_ptr& failure) noexcept;
  /// Throws the first, and prints the others.
  [[noreturn]] void throw_first(const List& failures);
  /// Prints an exception that no wait will throw. Does nothing if the user was told of this failure already, or if a
  /// task has thrown it on, and a wait may still throw it from there.
  void print(const std::exception_ptr& failure) noexcept;
  static void print(const char* message) noexcept;
  /// Prints the failures of a handler that no wait has thrown.
  void print_unreported(const Handler* handler) noexcept;
  /// Calls `call`, which waits where no caller could catch an exception. Prints what it throws, unless the user was
  /// told of that already.
  template <typename Call>
  void quietly(const Call& call) noexcept {
    const ScopedValue prints(prints_, true);
    try {
      call();
    } catch (const RankFailed&) {  // an earlier wait has thrown it, or this rank has ended before it
    } catch (...) {
      print(std::current_exception());
    }
  }

 private:
  /// The `told` of an exception of a task; null for others.
  static std::shared_ptr<std::atomic<Told>> told_of(const std::exception_ptr& failure) noexcept;

  static inline constinit thread_local bool prints_ = false;  // what this thread's waits throw

  mutable std::mutex mutex_;  // protects the next, and what handlers say of their failures
  List untold_;               // that no wait has thrown yet
};

}  // namespace taskgrain::rt::detail
