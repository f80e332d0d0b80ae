#pragma once

/// The threads that wait: one of them works as worker 0 meanwhile, and throws what has failed or is stuck.
///
/// Waits for everything:   a run ends when no worker has work, no message is on its way, and nothing is held
/// Waits across ranks:     one at a time, because all ranks number their waits, and the numbers must agree
/// Settling of a handler:  stopped, then idle, then forgotten by each worker, then opened again; one at a time

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/progress_engine.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/event.hpp"

namespace taskgrain::rt::detail {

class Engine;

class WaitingThreads {
 public:
  explicit WaitingThreads(Engine& engine);

  // -- for Runtime, which documents them

  void wait();
  void wait(const Event& event);
  void work_until(const std::function<bool()>& done);
  void join();
  void start();
  /// Waits, and prints what it cannot throw.
  void finish() noexcept;
  /// Calls `call(worker)` as a task of that worker, and waits. \throws as on_workers
  void on_worker(int worker, const std::function<void(int worker)>& call);

  // -- for handlers

  /// Waits for one handler. \throws as Taskflow::wait
  /// \param on_this_rank  for no longer than there is something to do here
  void wait_for(Handler& handler, bool on_this_rank = false);
  /// Waits for what a handler has begun, unless a worker calls, and forgets it. Prints failures that no wait has
  /// thrown.
  void remove(const std::shared_ptr<Handler>& handler) noexcept;

 private:
  struct Round;
  class Rounds;
  class Calls;
  /// Tasks that wait for ever.
  struct Found {
    std::vector<StuckTask> tasks;
    std::size_t total = 0;
    std::vector<Handler*> handlers;
    bool sure = true;  // false: threads outside kept sending, so no look was valid
  };

  /// \throws UsageError  the calling thread may not wait
  void check_may_wait();
  /// Works as worker 0, or sleeps while another thread does, until `done()` or until nothing is left to do.
  /// \tparam often  check `done` between tasks, too
  /// \returns whether `done()`
  template <bool often = true, typename Done>
  bool wait_until(const Done& done, const Handler* alone = nullptr);
  /// \param over  over() ends the wait although `done()` is false
  template <bool often, typename Done, typename Over>
    requires std::is_invocable_v<const Over&>
  bool wait_until(const Done& done, const Over& over);
  /// Waits where there are other ranks: also when nothing is left to do here, because they may still send what it waits
  /// for.
  /// \param alone  if given, holds of other flows do not count
  template <typename Done>
  bool wait_for_ranks(const Done& done, const Handler* alone = nullptr);
  void wait_with_ranks();
  /// True if nothing is left to do on any rank, or one has failed. Worker 0 calls it.
  bool all_ranks_done();
  /// Another rank has failed: stops everything here, and throws its failure.
  [[noreturn]] void end_with_ranks();
  /// Calls `call(worker)` in the thread of each worker, between tasks, and waits. Not for workers.
  void on_workers(const std::function<void(int worker)>& call);
  /// Calls it in the threads of `number` workers from `first` on, by a handler that delivers such calls.
  void on_workers(const std::function<void(int worker)>& call, int first, int number, const Handler& by);
  /// The tasks of these handlers that wait for ever. Called when nothing is left to do.
  /// \param alone  as above
  Found find_stuck(const std::vector<Handler*>& handlers, const Handler* alone = nullptr);
  /// \throws std::bad_alloc
  Found look_for_stuck(const std::vector<Handler*>& handlers, const Handler* alone);
  /// Stops what is stuck. \returns the exception that says so
  std::exception_ptr give_up(const Found& found);
  /// Waits until a handler that was stopped has nothing on its way, forgets the rest, and opens it again.
  void settle(Handler& handler);
  /// Ends a run: settles what has failed or is stuck, and throws it.
  void end_run();
  void drop_retired() noexcept;
  /// Ends a handler that was removed.
  void leave(const std::shared_ptr<Handler>& handler) noexcept;

  Engine& engine_;
  const std::unique_ptr<Handler> rounds_, calls_;
  std::mutex settling_, waiting_with_ranks_;  // held by the thread that does so
  // By the thread that waits with ranks: what it last reported to them.
  ProgressEngine::Counts reported_{};
  bool has_reported_ = false, reported_stuck_ = false;
};

}  // namespace taskgrain::rt::detail
