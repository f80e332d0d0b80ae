#pragma once

/// What tasks have thrown, until a thread that waits throws it, or it is printed because nobody does.
///
/// Each failure is told once: what a task passes on, such as the failure of a launch, is thrown here and there, and has
/// one `told`.

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

/// From any thread.
class Failures {
 public:
  using List = std::vector<std::shared_ptr<Failure>>;

  /// Lets the next wait throw the exception that is being handled. The handler does not fail: it drops nothing.
  void report(Handler& handler, const std::string& task) noexcept;
  /// The last of a handler. \pre there is one
  std::exception_ptr of(const Handler& handler) const noexcept;
  /// Whether a wait has still to throw one of this handler.
  bool any_of(const Handler& handler) const noexcept;
  /// What a wait for a handler alone begins with, for `take_new`.
  unsigned seen(const Handler& handler) const noexcept;
  /// The last of a handler, if it is none of those that were seen; else null.
  std::exception_ptr take_new(const Handler& handler, unsigned seen) noexcept;
  /// Those of these handlers. All or nothing: \throws std::bad_alloc
  List take(const std::vector<Handler*>& handlers);
  List take_all() noexcept;
  /// The failure of an event, which its wait throws.
  void take(const std::exception_ptr& failure) noexcept;
  /// Whether a failure here only repeats that another rank has failed.
  static bool comes_from_ranks(const Failure& failure) noexcept;

  /// A wait is about to throw it.
  static void note_thrown(const std::exception_ptr& failure) noexcept;
  /// Throws the first, and prints the others.
  [[noreturn]] void throw_first(const List& failures);
  /// What no wait will throw. Where it was told, or is still to be told with what has passed it on, this does nothing.
  void print(const std::exception_ptr& failure) noexcept;
  static void print(const char* message) noexcept;
  /// Prints what no wait has thrown of a handler.
  void print_unreported(const Handler* handler) noexcept;
  /// Calls what waits where nobody is who could catch: prints what it throws, unless somebody was told.
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
  /// Of an exception of a task; else null.
  static std::shared_ptr<std::atomic<Told>> told_of(const std::exception_ptr& failure) noexcept;

  static inline constinit thread_local bool prints_ = false;  // what this thread's waits throw

  mutable std::mutex mutex_;  // protects the next, and what handlers say of their failures
  List untold_;               // that no wait has thrown yet
};

}  // namespace taskgrain::rt::detail
