#pragma once

/// The tasks of a Taskflow, as its handler asks them. Errors name the task.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/key.hpp"
#include "taskgrain/rt/detail/tasks.hpp"
#include "taskgrain/rt/detail/worker.hpp"

namespace taskgrain::rt::detail {

template <typename K, typename Tasks>
class FlowTasks {
  static_assert(std::is_nothrow_move_constructible_v<K>, "keys are moved, and that may not fail");
  static_assert(worker_is_right<Tasks, K>, "`worker` of these tasks cannot be called as int worker(Key)");
  static_assert(priority_is_right<Tasks, K>, "`priority` of these tasks cannot be called as int priority(Key)");
  static_assert(bound_is_right<Tasks, K>, "`bound` of these tasks cannot be called as bool bound(Key)");
  static_assert(after_is_right<Tasks, K>, "`after` of these tasks cannot be called as void after(Key, auto notify)");
  static_assert(number_is_right<Tasks, K>, "`number` of these tasks cannot be called as std::size_t number(Key) const");
  static_assert(!WithAtOnce<Tasks> || (Payload::fits<K> && std::is_default_constructible_v<K>),
                "at_once is for keys that are plain data of at most 24 bytes");
  static_assert(
      [] {
        if constexpr (WithAtOnce<Tasks>) return Tasks::at_once >= 1;
        return true;
      }(),
      "at_once is a number of tasks, 1 at least");
  static_assert(!WithAtOnce<Tasks> || (!WithPriority<Tasks, K> && !WithBound<Tasks, K>),
                "tasks that run at_once have no priorities and are not bound");

 public:
  using Key = KeyOf<K>;
  static constexpr bool by_setters = std::is_same_v<Tasks, Functions<K>>;

  FlowTasks(Tasks&& of, std::string called, unsigned workers)
      : functions(std::move(of)), name(std::move(called)), workers_(workers) {
    if constexpr (by_setters) {
      functions.indegree = [this](Key) -> int { throw_usage({name, ": indegree is not set"}); };
      functions.run = [this](Key) { throw_usage({name, ": run is not set"}); };
      functions.worker = [workers = std::uint64_t{workers}](Key key) {
        return static_cast<int>(worker_of_key<K>(key, workers));
      };
    }
  }
  FlowTasks(const FlowTasks&) = delete;
  FlowTasks& operator=(const FlowTasks&) = delete;

  Tasks functions;
  const std::string name;

  int owner_of(Key key) {
    if constexpr (WithWorker<Tasks, K> || by_setters)
      return functions.worker(key);
    else
      return static_cast<int>(worker_of_key<K>(key, workers_));
  }
  /// True if tasks have a priority or may be bound.
  bool ranked() const noexcept {
    if constexpr (by_setters)
      return functions.ranked;
    else
      return WithPriority<Tasks, K> || WithBound<Tasks, K>;
  }
  Ready rank_of(Key key) {
    Ready how;
    if constexpr (by_setters) {
      how = {functions.priority ? functions.priority(key) : 0, functions.bound && functions.bound(key)};
    } else {
      if constexpr (WithPriority<Tasks, K>) how.priority = functions.priority(key);
      if constexpr (WithBound<Tasks, K>) how.bound = functions.bound(key);
    }
    return how;
  }

  /// \throws UsageError  `here` was given as the owner of a task that another worker owns
  void check_owner(Key key, const Worker& here) {
    if (const int owner = owner_of(key); owner != here.index())
      throw_usage({text(key), ": its worker is ", number_text(owner), ", and worker ", number_text(here.index()),
                   " was given as its owner"});
  }

  /// The name and key of a task, for people.
  std::string text(const K& key) const {
    try {
      return joined({name, " ", key_text(key)});
    } catch (...) {
      return joined({name, " with a key that cannot be shown"});
    }
  }

  /// \throws UsageError
  [[noreturn, gnu::noinline, gnu::cold]] void no_such_worker(const K& key, int worker) const {
    throw_usage({text(key), ": worker is ", number_text(worker), ", allowed are 0 to ", number_text(workers_ - 1)});
  }
  [[noreturn, gnu::noinline, gnu::cold]] void negative(const K& key, int indegree) const {
    throw_usage({text(key), ": indegree is ", number_text(indegree), ", allowed are 0 and more"});
  }
  [[noreturn, gnu::noinline, gnu::cold]] void too_often(const K& key) const {
    throw_usage(
        {text(key), " was fulfilled more often than its indegree, which is ", number_text(functions.indegree(key))});
  }

 private:
  const unsigned workers_;
};

}  // namespace taskgrain::rt::detail
