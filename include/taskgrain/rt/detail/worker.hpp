#pragma once

/// A worker: its queues of ready tasks, the mailboxes to it, and its main loop.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "taskgrain/rt/detail/completion.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/inbox.hpp"
#include "taskgrain/rt/detail/mailbox.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/ready_queue.hpp"
#include "taskgrain/rt/detail/sleep.hpp"
#include "taskgrain/rt/detail/split_deque.hpp"
#include "taskgrain/rt/detail/work_sharing.hpp"

namespace taskgrain::rt::detail {

class Engine;
class FutureState;
class TraceLane;

/// The way to run a ready task.
struct Ready {
  int priority = 0;    ///< higher first
  bool bound = false;  ///< by this worker and no other
};

/// The reasons for which a wait in a handler ends.
enum class Waited : std::uint8_t {
  ready,
  interrupted,  ///< there is other work to do first
  /// The handler should return until a message resumes it: while it spins here, the worker cannot sleep, and is not
  /// counted as idle.
  too_long,
};

class alignas(apart) Worker {
 public:
  Worker(Engine& engine, int index, int workers);

  int index() const noexcept { return index_; }
  Engine& engine() const noexcept { return engine_; }
  /// The worker whose thread this is; null in other threads.
  static Worker* current() noexcept { return current_; }
  /// Forgets the worker of this thread, in the child of a fork that a task has called. The only thread there belongs to
  /// no worker.
  static void reset_current() noexcept;

  // -- for handlers, in the thread of this worker

  /// A task of this worker is ready.
  void ready(const Entry& task) {
    if (stealable_.must_check()) [[unlikely]]
      return ready_slowly(task, {});
    stealable_.push(task);
  }
  /// Does ready({handler, Payload::of(key)}), but stores only the words that the key fills: fewer stores for each task.
  template <typename Key>
  void ready(std::uint32_t handler, const Key& key) {
    if (stealable_.must_check()) [[unlikely]]
      return ready_slowly({handler, Payload::of(key)}, {});
    stealable_.push(handler, key);
  }
  void ready(const Entry& task, Ready how) {
    ReadyQueue& queue = how.bound ? bound_ : stealable_;
    if (how.bound) ranked_ = true;
    if (how.priority != 0 || queue.must_check()) [[unlikely]]
      return ready_slowly(task, how);
    queue.push(task);
  }
  /// Sends a message to another worker: the bytes of `what`, for a handler.
  template <typename What>
  void send(int to, std::uint32_t handler, const What& what);
  /// True if the worker has something else to do than the task that runs: messages, ready tasks, or the condition of a
  /// thread that works while it waits, which must be checked between tasks.
  bool has_work() const noexcept { return has_tasks() || has_messages() || checks_between_tasks_; }
  /// Spins until `ready()`.
  /// \param until  the time at which the wait becomes too long. Pass zero to start a wait; the call sets it to zero
  ///   when the wait ends. After an interruption, pass the same variable to continue.
  template <typename Ready>
  Waited wait_for(const Ready& ready, std::chrono::steady_clock::time_point& until);
  /// Receives messages, so that handlers that run for long need not return for that.
  void poll() {
    receive();
    poll_ranks();
  }
  /// Publishes that it is busy, before it runs the function of another rank's message. Otherwise worker 0 could find
  /// the run ended while that function makes new tasks.
  void mark_busy() { publish_busy(); }
  /// Puts a branch beside what runs here. Where there is no room it has no place, and runs in its join.
  void fork(Branch& branch) noexcept {
    if (branches_.push(branch) && branches_.must_share()) [[unlikely]]
      share_branches();
  }
  /// Takes a branch back, and runs those that were forked after it. \returns whether it is still to run; else it has
  /// ended
  bool unfork(Branch& branch) noexcept {
    if (branches_.size() != branch.place_ + 1 || branches_.pop() == nullptr) [[unlikely]]
      return unfork_slowly(branch, false);
    branch.place_ = Branch::nowhere;
    if (branches_.must_share()) [[unlikely]]
      share_branches();
    return true;
  }
  /// Sees that the branch does not run any more. Those after it are run by their own `unfork`.
  void drop(Branch& branch) noexcept { unfork_slowly(branch, true); }
  /// True if other workers have asked for branches.
  bool wanted() const noexcept { return branches_.wanted(); }
  /// The number of blocks into which a loop should be divided ahead: one for each worker; 1 while no other has time for
  /// one, this worker shares a loop already, or it has forked something (`await` says why).
  std::uint32_t blocks_of_loop() noexcept {
    return (loop_was_shared_ || wanted()) && !shares_loop_ && branches_.size() == 0 ? room_for_blocks() : 1;
  }
  /// Runs the blocks 0, …, blocks − 1 of a loop, those from 1 on by other workers if they come in time.
  /// \pre 1 < blocks ≤ blocks_of_loop()
  template <typename Loop>
  void share_loop(WorkSharing::Run run, const Loop& loop, std::uint32_t blocks) noexcept {
    shares_loop_ = true;
    run_blocks(loops_.offer(run, loop, blocks), blocks);
    shares_loop_ = false;
  }
  /// Takes a task back that was pushed last. \returns whether it was, and nobody else has it
  bool take_back(const Entry& task) noexcept { return stealable_.take_back(task); }
  /// Returns when a future has ended, or may run here.
  /// \throws UsageError  it needs one that runs here
  void await(FutureState& future);
  /// The trace into which tasks are recorded; null without a trace.
  TraceLane* trace() const noexcept { return trace_; }

  /// The last future that has begun here, in what was stolen last, and has not ended; null if there is none.
  FutureState* running() const noexcept { return running_; }
  void set_running(FutureState* future) noexcept { running_ = future; }

  // -- for any thread

  /// Sends a message from a thread that is no worker of this engine.
  void inject(const Entry& message);
  /// Wakes it if it sleeps.
  void wake() noexcept { sleeper_.wake(); }

 private:
  friend class CurrentWorkerScope;
  friend class Engine;
  friend class MadeIn;
  friend class WaitingThreads;
  friend class WorkerThreads;

  /// Runs tasks until `until()`, which it checks when it has nothing left to do.
  /// \tparam often  it checks between tasks and while parked, too, because no thread signals that `until` has become
  ///   true
  /// \tparam ranks  there are other ranks, whose messages it polls
  template <bool often, bool ranks, typename Until>
  void work(const Until& until);
  template <bool often, typename Until>
  void work(const Until& until);
  /// Returns when there is something to do (true) or `until()` (false).
  template <bool often, bool ranks, typename Until>
  bool find_work(const Until& until);
  /// Takes what other ranks have sent, if there are any, and this thread may.
  void poll_ranks();
  /// The same for a worker without tasks, which also makes the polls that find nothing most of the time.
  /// \pre there are other ranks
  void poll_ranks_idle();
  bool starved() const noexcept;
  /// \param most  it may return after this time
  /// \returns whether it woke by its timeout, and not because of work
  template <bool ranks, typename Until>
  bool park(const Until& until, std::chrono::nanoseconds most);
  template <typename Found>
  bool park_at_doorbell(const Found& found, std::chrono::nanoseconds most);
  /// \param yield_after  spins before other threads may have the core
  static void backoff(std::int64_t spins, std::int64_t yield_after) noexcept;
  /// The number of spins after which other threads may have the core, where there are other ranks.
  std::int64_t spins_before_yield_with_ranks() const noexcept;
  void execute(const Entry& task);
  void execute_traced(const Entry& task);
  /// A task of its own, null if there is none. The pointer is valid until the next push to the queues.
  const Entry* next();
  const Entry* next_ranked();
  // By value: passed by reference, the entry would have to be in memory before each call, also on the fast path.
  void ready_slowly(Entry task, Ready how);

  void receive();
  void receive_from_workers();
  void deliver(const Entry& message);
  bool has_messages() const noexcept;
  class OverflowBatches;
  class MailboxRequests;
  static std::unique_ptr<Handler> make_overflow_batches();
  static std::unique_ptr<Handler> make_mailbox_requests();
  void push_overflow(int to, Entry message);  // by value, as above
  void request_mailbox(int of);
  void send_overflow();
  /// This thread stops being worker 0, and the next one may come late or never. So it sends its overflow through the
  /// injection queues, which always have room, and shares its stealable tasks.
  void leave() noexcept;
  /// Sets the bit of the mailbox for a receiver that checks bits, and wakes it if it sleeps.
  void notify(Worker& receiver, const Mailbox& box) noexcept;
  bool has_tasks() const noexcept { return !stealable_.empty() || !bound_.empty(); }

  // Stealing: a worker with tasks to spare calls `share`; one without tasks looks for a victim (engine/work.hpp) and
  // steals from it (engine/worker.cpp). They meet in the victim's StealableRange.
  void share();
  void wake_a_thief() noexcept;
  /// The next victim that has stealable tasks; null if the next few have none. Requests tasks of those that have none.
  Worker* victim() noexcept;
  /// Takes tasks and runs one of them. \returns whether it got any
  bool steal(Worker& victim);
  /// True if any worker has something to steal. Requests it of all that are awake. \pre this one is parked
  bool any_to_steal() noexcept;
  /// Lets this worker share what it makes next. It calls this itself, or a thief does.
  void request_work() noexcept;
  void publish_idle();
  void publish_busy();

  // Forks (engine/fork_join.cpp).
  void share_branches() noexcept;
  bool unfork_slowly(Branch& branch, bool drops) noexcept;
  void run_stolen(Branch& branch, Worker& owner) noexcept;
  /// Runs what was stolen from another worker, and ends an era of its own forks.
  template <typename Call>
  void run_as_thief(const char* traced_as, const Call& call) noexcept;
  /// Takes a branch, or its block of a loop, of another worker and runs it.
  /// \param asks  whether it asks those that have none
  bool steal_branch(bool asks) noexcept;
  /// Runs parts of a branch that was stolen until it has ended.
  void await(Branch& branch) noexcept;
  /// Waits for what another worker runs, and sleeps if that takes long.
  /// \tparam steals  it runs parts of that meanwhile
  /// \param awaits  asks to be woken at its end; \returns whether that is still to come
  template <bool steals, typename For, typename Awaits>
  void await(For& wait, const Awaits& awaits, int spins_before_request) noexcept;
  std::uint32_t room_for_blocks() noexcept;
  void run_blocks(std::uint64_t round, std::uint32_t blocks) noexcept;
  /// The number of this worker's block in a loop of another.
  std::uint32_t block_of(const Worker& owner) const noexcept;
  /// Claims and runs this worker's block of a loop of another.
  /// \param may  asked after a look at the offer
  template <typename May>
  bool take_block(Worker& owner, const May& may) noexcept;

  static inline constinit thread_local Worker* current_ = nullptr;

  // Written by the thread of this worker; read by no other.
  Engine& engine_;
  const int index_;
  ReadyQueue stealable_, bound_;
  bool ranked_ = false;                // whether some task is bound or has a priority
  bool checks_between_tasks_ = false;  // whether it checks `until` after each few tasks
  Entry taken_;
  std::uint64_t sent_ = 0;      // messages to workers
  std::uint64_t received_ = 0;  // from workers and from outside
  struct Overflow {
    int to;
    std::unique_ptr<std::deque<Entry>> messages;
  };
  std::vector<Overflow> overflow_;   // messages for which a mailbox had no room, by receiver
  std::int64_t spins_before_steal_;  // pauses without a task before it steals
  const Mailbox::Owner closed_;  // a mailbox without room, so that the first message to a worker takes the slow path
  Worker* below_ = nullptr;      // of another runtime: what its thread was before; null where that was none
  TraceLane* trace_ = nullptr;
  FutureState* running_ = nullptr;
  std::vector<Worker*> victims_;  // nearest first
  std::size_t next_victim_ = 0, next_branches_ = 0;
  bool shares_loop_ = false, loop_was_shared_ = false;  // now; the last time, by some other worker
  int spins_before_request_ = 0;                        // of forks

  Inbox inbox_;
  // [k]: the mailbox at worker k. It is `closed_` until worker k has made one and has stored its address here.
  std::unique_ptr<std::atomic<Mailbox*>[]> outboxes_;
  IdleState idle_state_;
  alignas(apart) Sleeper sleeper_;  // written by this worker and by who wakes it
  InjectionQueue injected_;
  SplitDeque branches_;
  WorkSharing loops_;
};

}  // namespace taskgrain::rt::detail
