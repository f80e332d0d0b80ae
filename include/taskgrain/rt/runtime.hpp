#pragma once

/// Pinned threads that run tasks. The faces stand on it: Taskflow, CompiledGraph, Sequence, fork_join.
///
///     rt::Runtime runtime({.workers = 4});
///     rt::Taskflow<int> flow(runtime, "hello");
///     flow.indegree(…).run(…).worker(…);
///     flow.fulfill(0);
///     runtime.wait();

#include "taskgrain/rt/detail/cxx20.hpp"

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/event.hpp"
#include "taskgrain/rt/options.hpp"

namespace taskgrain::rt {

class Runtime;

namespace detail {
class Engine;
class Handler;
Engine& engine_of(Runtime& runtime) noexcept;
inline constinit thread_local int worker_index = -1;  // of this thread
}  // namespace detail

inline constexpr const char* version = "0.1.0";

/// Index of the worker whose thread calls; -1 outside of workers.
inline int this_worker() noexcept { return detail::worker_index; }

/// Worker 0 is whoever waits: a thread in `wait` runs its tasks. The others are threads of their own. Several threads
/// may submit and wait at a time; one of them is worker 0, and the others sleep.
///
/// Several runtimes can be in one process, and know nothing of each other. Those that have fewer workers than there are
/// cores are not bound, and the system spreads their threads; to share out the cores, name the `cores` of each.
///
/// A process that is forked has none of the threads. It may end, by exec or exit or from main, and make runtimes of its
/// own. With those of its parent it can do nothing: to fulfill or to wait throws UsageError, and their destructors
/// leave everything as it is, the trace too. A task that forks must not return in the child.
///
/// A task may call `exit`. Then a static runtime is left as it is, as are the tasks that run; no trace is written.
///
/// The destructor waits for all that was given. A flow, a graph or a sequence that ends after its runtime does nothing
/// then.
///
/// A task that throws ends its flow or its launch, and no other. The exception is thrown by the `wait` for this flow or
/// event, or by the next `wait` for everything. If nobody waits, or several flows fail and only one exception can be
/// thrown, it is printed to the standard error output. Of several exceptions in one flow or launch the first counts.
class Runtime {
 public:
  /// Starts the threads.
  /// \throws UsageError, std::system_error
  explicit Runtime(RuntimeOptions options = {});
  /// Waits for all tasks. It prints the errors that nobody waited for.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int workers() const noexcept { return options_.workers; }
  /// The processor of each worker.
  const std::vector<int>& cores() const noexcept { return options_.cores; }
  /// The options as given; what was left open is filled in.
  const RuntimeOptions& options() const noexcept { return options_; }

  /// Works until nothing is left to do: no task, no message, no hold. Afterwards you can use the runtime again, even if
  /// it throws. Starts the threads if it is joined and there is something to do. It looks for tasks that wait for ever
  /// when nothing else is left to do, so it does not find them while other threads submit something again and again.
  ///
  /// With a communicator it works until nothing is left to do on any rank, and all ranks call it equally often. The
  /// other waits are those of this rank alone, and do not find what is stuck, because other ranks may still send
  /// something.
  /// \throws TaskFailed  a task threw; the tasks of its flow or launch that had not started were dropped. It does not
  ///   throw for a launch that failed with an event before it
  /// \throws Stuck       tasks wait for what can no longer come
  /// \throws UsageError  when called by a task: what is to come after other tasks is a task, too, which they fulfill
  void wait();
  /// Works until the event is set, whatever else is left to do.
  /// \throws the event's failure: TaskFailed, Stuck, Cancelled, or what Event::fail was given
  /// \throws Stuck       nothing is left that could set it
  /// \throws UsageError  when called by a task
  void wait(const Event& event);
  /// Works until `done()` or until nothing is left to do. `done` is asked again and again, between tasks and while this
  /// thread finds none, by this thread and not as one of its tasks; it may fulfill, but not wait. Whoever makes it true
  /// calls `notify` after that, or it is seen some milliseconds later.
  /// \throws as wait, and what `done` throws
  void work_until(const std::function<bool()>& done);
  /// Calls `body(worker)` once on every worker, and waits.
  /// \returns the results of the calls, by worker, if they have results
  /// \throws as wait
  template <std::invocable<int> Body>
  auto on_each_worker(const Body& body) {
    using Result = std::invoke_result_t<const Body&, int>;
    static_assert(!std::is_same_v<Result, bool>, "the workers would write into one word of a vector of bits");
    if constexpr (std::is_void_v<Result>) {
      call_on_each_worker(body);
    } else {
      std::vector<Result> results(static_cast<std::size_t>(workers()));
      call_on_each_worker([&](int worker) { results[static_cast<std::size_t>(worker)] = body(worker); });
      return results;
    }
  }
  /// Wakes the thread in `wait` or `work_until`, if it sleeps, to look again.
  void notify() noexcept;

  /// Waits, and ends the threads. Another thread that waits goes on, and starts them again.
  /// \throws as wait
  void join();
  /// Starts the threads again after `join`, unless another thread has.
  void start();

  /// While a Hold exists, `wait` for everything does not return, and nothing is found stuck, because a thread outside
  /// may still fulfill something. `Taskflow::hold` says it of one flow.
  class [[nodiscard]] Hold {
   public:
    explicit Hold(Runtime& runtime) noexcept;
    Hold(Hold&& other) noexcept : engine_(std::exchange(other.engine_, nullptr)), of_(std::move(other.of_)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    template <typename K, typename Tasks>
    friend class Taskflow;
    /// Holds one flow alone.
    Hold(detail::Engine& engine, std::shared_ptr<detail::Handler> of) noexcept;

    detail::Engine* engine_;
    std::shared_ptr<detail::Handler> of_;  // null: of the runtime
  };
  [[nodiscard]] Hold hold() noexcept { return Hold(*this); }

 private:
  friend detail::Engine& detail::engine_of(Runtime& runtime) noexcept;

  void call_on_each_worker(const std::function<void(int worker)>& body);

  // Owned, and never changed: where a task calls `exit`, another thread may be about to wait by it.
  detail::Engine* const engine_;
  const RuntimeOptions& options_;  // the engine's
};

}  // namespace taskgrain::rt
