#pragma once

/// Parametrised task graphs, after TaskTorrent (Cambier, Qian, Darve 2020, section II): the graph is given by functions
/// of a task's key and never stored. A task exists from its first fulfilment until it has run.

#include <string>
#include <utility>

#include "taskgrain/rt/detail/flow_handler.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

/// Tasks with keys of type K: an integer, a tuple of integers, or anything that std::hash and == know. Errors and
/// traces show a key as << prints it.
///
/// The functions are set before the first `fulfill` and called by any worker at any time; what they capture must live
/// until `Runtime::wait` has returned.
template <typename K>
class Taskflow final {
  using Handler = detail::FlowHandler<K>;

 public:
  /// K if it is small, else const K&.
  using Key = typename Handler::Key;

  /// \param name  of the tasks, for errors and traces
  explicit Taskflow(Runtime& runtime, std::string name = "task")
      : handler_(detail::engine_of(runtime), std::move(name)) {}
  Taskflow(const Taskflow&) = delete;
  Taskflow& operator=(const Taskflow&) = delete;

  /// The number of fulfilments before a task runs. With 0 or 1 it runs at its first fulfilment.
  Taskflow& indegree(detail::Function<int, Key> of) { return set(handler_.functions.indegree, std::move(of)); }
  /// Runs the task, which fulfills the tasks that depend on it.
  Taskflow& run(detail::Function<void, Key> of) { return set(handler_.functions.run, std::move(of)); }
  /// The owner of a task, 0 … workers - 1: it counts the fulfilments, and runs the task unless another worker steals
  /// it. By default keys
  /// are spread evenly.
  Taskflow& worker(detail::Function<int, Key> of) { return set(handler_.functions.worker, std::move(of)); }
  /// Among the tasks of a worker that are ready, those of higher priority run first; 0 by default.
  Taskflow& priority(detail::Function<int, Key> of) { return rank(handler_.functions.priority, std::move(of)); }
  /// Whether a task must not be stolen; by default any may be.
  Taskflow& bound(detail::Function<bool, Key> of) { return rank(handler_.functions.bound, std::move(of)); }

  /// Fulfills one dependence of a task. From any thread.
  /// \throws UsageError  if a function is missing or returns a value that is not allowed
  void fulfill(Key key) { handler_.fulfill(key); }

 private:
  template <typename F>
  Taskflow& set(F& function, F value) {
    function = std::move(value);
    return *this;
  }
  template <typename F>
  Taskflow& rank(F& function, F value) {
    handler_.functions.ranked = true;
    return set(function, std::move(value));
  }

  Handler handler_;
};

}  // namespace taskgrain::rt
