#pragma once

/// One worker: its queues, its mailboxes, and the loop that empties them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "taskgrain/rt/detail/deque.hpp"
#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/mailbox.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/ready_queue.hpp"
#include "taskgrain/rt/detail/sleep.hpp"

namespace taskgrain::rt::detail {

class Engine;
class TraceLane;

/// How a ready task is to be run.
struct Ready {
  int priority = 0;    ///< higher first
  bool bound = false;  ///< by this worker and no other
};

/// The reasons for which a wait in a handler ends.
enum class Waited : std::uint8_t {
  ready,
  interrupted,  ///< there is something else to do first, or the run has failed
  too_long,  ///< the handler should return and let a message wake it: a worker that waits neither sleeps nor is found idle
};

class alignas(apart) Worker {
 public:
  Worker(Engine& engine, int index, int workers);

  int index() const noexcept { return index_; }
  Engine& engine() const noexcept { return engine_; }
  /// The worker whose thread this is; null in other threads.
  static Worker* current() noexcept { return current_; }

  // -- for handlers, in the thread of this worker

  /// A task of this worker is ready.
  void ready(const Entry& task) { stealable_.push(task); }
  void ready(const Entry& task, Ready how) {
    if (how.bound || how.priority != 0) ranked_ = true;
    (how.bound ? bound_ : stealable_).push(task, how.priority);
  }
  /// Sends a message to another worker.
  /// \param words  of its payload that say something
  void send(Worker& to, const Entry& message, std::size_t words = 3) {
    ++sent_;
    if (!to.mailboxes_[static_cast<std::size_t>(index_)]->push(message, words)) [[unlikely]]
      keep_back(to, message);
    to.sleeper_.wake();
  }
  /// Whether there is anything to do but the task that runs: mail, or a task in a queue.
  bool has_work() const noexcept { return has_tasks() || mail(); }
  /// Spins until `ready()`.
  /// \param until  the time at which the wait becomes too long. Pass zero to start a wait; the call sets it to zero when the
  ///   wait ends. After an interruption, pass the same variable to continue.
  template <typename Ready>
  Waited wait_for(const Ready& ready, std::chrono::steady_clock::time_point& until);
  /// Takes what has come, so that handlers that run for long need not return for it.
  void poll() { receive(); }
  /// The trace into which tasks are recorded; null without a trace.
  TraceLane* trace() const noexcept { return trace_; }

  // -- for any thread

  /// Sends a message from a thread that is no worker of this engine.
  void send_from_outside(const Entry& message);
  /// Wakes it if it sleeps.
  void wake() noexcept { sleeper_.wake(); }

 private:
  friend class Engine;

  /// What a worker last said about itself. Written by it, only after a while without work and when that ends. epoch is
  /// even ⇔ it is idle: queues empty, nothing kept back. The sums are those of the time when it became idle.
  struct alignas(apart) Publication {
    std::atomic<std::uint64_t> epoch{0};
    std::atomic<std::uint64_t> sent{0}, received{0};
  };

  /// Runs tasks until `until()`, which is asked when nothing is left to do.
  template <typename Until>
  void work(const Until& until);
  /// Returns when there is something to do (true) or `until()` (false).
  template <typename Until>
  bool find_work(const Until& until);
  static void rest(std::int64_t spins) noexcept;
  void execute(const Entry& task);
  void execute_traced(const Entry& task);
  /// A task of its own, null if there is none; it is there until another one is ready.
  const Entry* next();
  const Entry* next_ranked();
  const Entry* take_back();
  void share();
  void share_ranked(std::int64_t number);
  /// Priority of the task that take_back would return, if there is one.
  int offered_priority() const noexcept { return offered_.empty() ? 0 : offered_.back().priority; }
  void wake_a_thief() noexcept;

  void receive();
  void receive_from_peers();
  void receive_from_outside();
  void deliver(const Entry& message);
  bool mail() const noexcept;
  class Parcels;
  void keep_back(Worker& to, Entry message);  // a copy: a message whose address is known would have to be in memory
  void send_kept_back();
  // Stealing: `share` offers tasks and `steal` takes one (engine/worker.cpp), a worker without tasks of its own calls
  // `steal` (engine/work.hpp), and detail/deque.hpp holds what is offered.
  bool steal(Entry& task);
  bool loot() const noexcept;
  bool has_tasks() const noexcept { return !stealable_.empty() || !bound_.empty() || shared_.size() > 0; }
  void publish_idle();
  void publish_busy();

  static inline constinit thread_local Worker* current_ = nullptr;

  // Written by the thread of this worker; read by no other.
  Engine& engine_;
  const int index_;
  ReadyQueue stealable_, bound_;
  bool ranked_ = false;  // whether some task is bound or has a priority
  Entry taken_;
  std::uint64_t sent_ = 0;      // messages to workers
  std::uint64_t received_ = 0;  // from workers and from outside
  struct KeptBack {
    Worker* to;
    std::unique_ptr<std::deque<Entry>> messages;
  };
  const std::unique_ptr<Handler> parcels_;  // of what it keeps back
  std::vector<KeptBack> kept_back_;  // messages that found a full mailbox; by receiver, of those for whom there are any
  std::int64_t batch_ = 1;           // tasks to offer to thieves at once
  bool took_back_ = false;           // one of those offered last
  struct Offered {
    int priority;
    Entry task;
  };
  std::vector<Offered> offered_;  // those offered last, but for those taken back; empty if all have priority 0
  bool idle_ = true;              // as published
  // Their own list: to look into another worker for its number would bring a line that it writes with every task.
  std::vector<Mailbox*> inboxes_;  // those of mailboxes_, of the nearest worker first
  std::size_t next_inbox_ = 0;
  TraceLane* trace_ = nullptr;
  std::vector<Worker*> victims_;  // nearest first

  Publication publication_;
  Deque shared_;                                     // written by this worker and by thieves
  alignas(apart) Sleeper sleeper_;                   // written by this worker and by who wakes it
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;  // [k] written by worker k; this worker empties them
  alignas(apart) std::atomic<bool> outside_{false};  // written by outside threads: the list is not empty
  std::mutex outside_mutex_;
  std::vector<Entry> outside_list_;
  std::vector<Entry> outside_taken_;
};

}  // namespace taskgrain::rt::detail
