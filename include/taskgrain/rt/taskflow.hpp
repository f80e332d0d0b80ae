#pragma once

/// Parametrised task graphs, after TaskTorrent (Cambier, Qian, Darve 2020, section II): the graph is given by functions
/// of a task's key and never stored. A task exists from its first fulfilment until it has run.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "taskgrain/rt/detail/flow_handler.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt {

namespace detail {
class Window;
}

/// Tasks with keys of type K: an integer, a tuple of integers, or anything that std::hash and == know. These, a move of
/// a key, and `number` (below) may not throw. Keys without a std::hash that are plain bytes are compared as bytes.
/// Errors and traces show a key as << prints it.
///
/// The functions are set before the first `fulfill` and called by any worker at any time; what they capture must live
/// until a `wait` has returned, or the destructor where that waits.
///
/// Instead of setting functions one by one, you can give the flow an object whose members they are, and the compiler
/// sees through all of them. This is for tasks of less than a microsecond. With `number` and `at_once` keys are plain
/// bytes, with `at_once` at most 24 of them, and then there is no `priority` and no `bound`.
///
///     struct Tasks {
///       int indegree(Key key) const;
///       void run(Key key) const;
///       int worker(Key key) const;                      // and priority, bound: if you want them
///       // These are for speed, and none is needed:
///       void after(Key key, auto notify) const;         // calls notify(next) for each task that comes after `key`
///       std::size_t number(Key key) const;              // tasks that wait at a time have mostly consecutive numbers
///       static constexpr std::size_t at_once = 16;      // 1 or more: ready tasks run before it looks up
///     };
///     Taskflow<Key, Tasks> flow(runtime, Tasks{…});
///
/// - `after`: the flow fulfills what comes after a task when it has run, so `run` must not. A worker that owns several
///   of these tasks gets one message for all, and calls `after` itself to find them: it is called by any worker, once
///   or more for each task, and must say the same each time. It may prefetch what those tasks will read. If it knows
///   them by owner, it can call notify(worker, range) or notify(worker, range, key_of) for those that a worker owns:
///   their keys are the elements of the range, or key_of(element). Then nobody asks for the `worker` of each, and
///   other workers pass the range by.
/// - `number`: counts lie in an array and not in a hash table. Other numbers are slower, but not wrong.
/// - `at_once`: a worker runs so many ready tasks, the oldest first, before it looks for messages and for other flows.
///   They cannot be stolen. Where tasks take longer than a microsecond, it queues them one by one all the same.
///
/// A member with one of these names that cannot be called like this does not compile. The flow does not use members
/// with other names, so a misspelt one has no effect.
template <typename K, typename Tasks = detail::Functions<K>>
class Taskflow final {
  static_assert(
      detail::is_key<K>(),
      "a key is plain bytes without gaps, or a type that std::hash and == know; of a pair or tuple each part is: "
      "specialise std::hash for this type and give it ==, or fill the gaps between its members");
  using Handler = detail::FlowHandler<K, Tasks>;
  static constexpr bool by_setters = std::is_same_v<Tasks, detail::Functions<K>>;

 public:
  /// K if it is small, else const K&.
  using Key = detail::KeyOf<K>;

  /// \param name  of the tasks, for errors and traces
  explicit Taskflow(Runtime& runtime, std::string name = "task")
    requires by_setters
      : Taskflow(runtime, Tasks(), std::move(name)) {}
  /// \param tasks  is moved into the flow
  Taskflow(Runtime& runtime, Tasks tasks, std::string name = "task")
      : engine_(detail::engine_of(runtime)),
        handler_(std::make_shared<Handler>(engine_, std::move(tasks), std::move(name))) {
    engine_.add(handler_);
  }
  /// Waits for the tasks of this flow, and for no others. Called by a task or in a callback it does not wait: the
  /// runtime keeps the functions until the tasks have run. It prints an exception that nobody has waited for.
  ~Taskflow() { detail::Engine::remove(engine_, handler_); }
  Taskflow(const Taskflow&) = delete;
  Taskflow& operator=(const Taskflow&) = delete;

  /// The number of fulfilments before a task runs. With 0 or 1 it runs at its first fulfilment.
  Taskflow& indegree(detail::Function<int, Key> of)
    requires by_setters
  {
    return set(handler_->tasks.functions.indegree, std::move(of));
  }
  /// Runs the task, which fulfills the tasks that depend on it.
  Taskflow& run(detail::Function<void, Key> of)
    requires by_setters
  {
    return set(handler_->tasks.functions.run, std::move(of));
  }
  /// The owner of a task, 0 … workers - 1: it counts the fulfilments, and runs the task unless another worker steals
  /// it. By default keys are spread evenly, as if drawn by chance.
  Taskflow& worker(detail::Function<int, Key> of)
    requires by_setters
  {
    return set(handler_->tasks.functions.worker, std::move(of));
  }
  /// Among the tasks of a worker that are ready, those of higher priority run first; 0 by default.
  Taskflow& priority(detail::Function<int, Key> of)
    requires by_setters
  {
    return rank(handler_->tasks.functions.priority, std::move(of));
  }
  /// Sets whether a task must not be stolen; by default any may be.
  Taskflow& bound(detail::Function<bool, Key> of)
    requires by_setters
  {
    return rank(handler_->tasks.functions.bound, std::move(of));
  }

  /// Fulfills one dependence of a task. From any thread.
  /// \throws UsageError  if `worker` returns one that there is not. What the owner finds wrong fails the flow
  void fulfill(Key key) { handler_->fulfill(key); }

  /// Fulfills all that comes after a task, as if it had run: it ran on another rank, whose message has come. From
  /// any thread; called by a worker, it sends each other worker one message, however many of these tasks that one owns.
  /// \throws UsageError  as `fulfill`
  void fulfill_after(Key key)
    requires detail::WithAfter<Tasks, K>
  {
    handler_->fulfill_after(key);
  }

  /// The object whose members are the functions.
  const Tasks& tasks() const noexcept
    requires(!by_setters)
  {
    return handler_->tasks.functions;
  }

  /// While the Hold exists, a thread outside may still fulfill tasks of this flow: its `wait`, its destructor and the
  /// `wait` for everything do not return. Waits for other flows do, and find what is stuck there, unless another thread
  /// waits for this one meanwhile. If tasks of this flow fulfill those of another one, hold that one, too.
  [[nodiscard]] Runtime::Hold hold() noexcept { return Runtime::Hold(engine_, handler_); }

  /// Works until no task of this flow is left, whatever other flows and graphs do. The flow can be used again, even if
  /// it throws. After a failure, a cancellation, or a run that is checked, each worker must come to the end of the task
  /// that it runs.
  /// \throws TaskFailed  one of its tasks threw; those that had not started were dropped
  /// \throws Stuck       its tasks wait, and nothing is left that could fulfill them
  /// \throws UsageError  when called by a task
  void wait() { engine_.waiting().wait_for(*handler_); }
  /// An event for launches that come after this flow: it happens when a wait of the runtime finds that no task of the
  /// flow is left, and fails with what a task throws, and if the tasks are stuck or cancelled. Fulfill the first tasks,
  /// or hold the flow, before you call it. Across ranks it is about the tasks that this rank has.
  /// Where the runtime checks, a key still counts as fulfilled until a `wait` for this flow or for everything.
  [[nodiscard]] Event done() {
    const Event event;
    engine_.set_when_done(*handler_, event);
    return event;
  }
  /// Drops the tasks of this flow that have not started. From any thread; tasks may call it. Then call a `wait`: until
  /// it returns, what is fulfilled is dropped, too.
  void cancel() noexcept { engine_.cancel(*handler_); }

 private:
  friend class detail::Window;

  template <typename F>
  Taskflow& set(F& function, F value) {
    function = std::move(value);
    return *this;
  }
  template <typename F>
  Taskflow& rank(F& function, F value) {
    handler_->tasks.functions.ranked = true;
    return set(function, std::move(value));
  }

  detail::Engine& engine_;
  const std::shared_ptr<Handler> handler_;
};

}  // namespace taskgrain::rt
