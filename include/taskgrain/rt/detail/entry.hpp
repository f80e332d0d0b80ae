#pragma once

/// An entry of a queue or a mailbox: the number of a handler, and 24 bytes of payload.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

class Worker;

/// Bytes of a key, or of whatever else a handler needs. Copied word by word through atomics.
struct Payload {
  std::uint64_t words[3] = {};

  bool operator==(const Payload&) const = default;

  /// Types whose bytes may be copied. Pairs and tuples of numbers are among them, although the standard library gives
  /// them an assignment of their own, and so does not call them trivially copyable.
  template <typename T>
  static constexpr bool fits =
      std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T> && sizeof(T) <= sizeof(words);

  template <typename T>
    requires fits<T>
  static Payload of(const T& value) noexcept {
    Payload payload;
    std::memcpy(payload.words, &value, sizeof(T));
    return payload;
  }
  template <typename T>
    requires fits<T>
  T as() const noexcept {
    alignas(T) std::byte bytes[sizeof(T)];
    std::memcpy(bytes, words, sizeof(T));
    return *reinterpret_cast<T*>(bytes);
  }
};

class Handler;

/// The exception that ended a flow or a launch.
struct Failure {
  std::exception_ptr exception;
  const Handler* of;
  std::shared_ptr<std::atomic<Told>> told;  // shared with those that it passes on, and that pass it on
  bool reported = false;                    // to a thread that waited; under the engine's mutex
};

/// A task as a trace has it.
struct TracedTask {
  static constexpr std::uint64_t none = UINT64_MAX;
  std::uint64_t number = 0;  ///< among all; 0: what it comes after is not known; none: a trace leaves it out
  std::int64_t launch = -1;  ///< of its graph: the first iteration
};

/// Receives messages and runs tasks: the engine's view of a Taskflow or a CompiledGraph. A failure of one handler does
/// not touch the others.
class Handler {
 public:
  virtual ~Handler() = default;

  // These two throw nothing: an exception of a task fails the handler.
  /// A message to this worker has come. Called by the worker's thread.
  virtual void deliver(Worker& here, const Payload& message) noexcept = 0;
  /// Runs a task that was ready. Called by the thread of the worker that has it.
  virtual void run(Worker& here, const Payload& task) noexcept = 0;
  /// There was no memory to queue an entry that this worker has counted as begun. The handler counts it as ended.
  virtual void lost(const Payload& /*payload*/) noexcept {}
  /// The name and key of a task, for people.
  virtual std::string describe(const Payload& task) const = 0;
  /// A task that begins, where there is a trace.
  virtual TracedTask traced(const Payload& /*task*/) { return {}; }

  // -- for threads that wait; any may call, at any time

  /// Nothing of it runs, is ready or is on its way.
  virtual bool idle() const noexcept = 0;
  /// idle, nothing of it waits, and nobody holds it.
  virtual bool done() const noexcept = 0;
  /// Appends the tasks of a worker that wait, up to `most` in all. Called by the worker's thread.
  /// \returns how many wait there
  virtual std::size_t waiting(int worker, std::vector<StuckTask>& tasks, std::size_t most) const = 0;
  /// Has failed, and drops what comes until a thread that waits has settled it.
  virtual bool broken() const noexcept = 0;
  /// Drops what is unfinished, until it is settled.
  virtual void stop(const std::exception_ptr& why) noexcept = 0;
  /// The first half of settling, on each worker by its thread: forgets what waits. \pre idle, stopped
  virtual void forget(int worker) noexcept = 0;
  /// The second half: what comes is taken again.
  virtual void reopen() noexcept = 0;
  /// A run of the whole runtime has ended. Called by each worker's thread.
  virtual void run_ended(int /*worker*/) noexcept {}

  /// True if it ends by itself when other ranks do their part.
  virtual bool across_ranks() const noexcept { return false; }
  /// Releases what belongs to the engine or the ranks. Called when it is done and removed: a thread outside may keep
  /// the handler itself for longer than these live.
  virtual void leave() noexcept {}
  /// A second handler that is numbered and removed together with this one, for messages of another kind; null if there
  /// is none.
  virtual Handler* companion() noexcept { return nullptr; }

  /// The number by which entries name it (handlers.hpp): an address would mean nothing on another rank.
  std::uint32_t number() const noexcept { return number_; }
  /// True if a thread outside holds it, because it may still fulfill something.
  bool held() const noexcept { return holds_.load(std::memory_order_acquire) != 0; }
  /// True if the engine is gone: a face that ends after its runtime must not touch it.
  bool engine_ended() const noexcept { return engine_ended_.load(std::memory_order_acquire); }
  /// True if a task has failed, so that the rest is dropped. Workers load it for each task.
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

 protected:
  friend class AwaitedEnds;
  friend class Engine;
  friend class Failures;
  friend class Handlers;
  friend class KeptHandlers;
  friend class WaitingThreads;

  std::uint32_t number_ = UINT32_MAX;
  // While it is true, workers drop messages and tasks of the handler. A task may lose some of its fulfilments by that:
  //   not failed  =>  no fulfilment of a task that waits was dropped.
  // Set by the first failure. Only WaitingThreads::settle resets it, one thread at a time, after it has seen in this
  // order: failed; idle, so that nothing from before the failure is on its way, and all that begins now is dropped
  // whole; that each worker has forgotten its waiting tasks. So `find_stuck` settles failed handlers first: their
  // waiting tasks are not stuck.
  std::atomic<bool> failed_{false};
  std::shared_ptr<Failure> failure_;       // the last one; under the engine's mutex
  std::exception_ptr broken_by_;           // null if it is not broken, or not yet said so; under the engine's mutex
  unsigned failures_ = 0;                  // so far; under the engine's mutex
  std::atomic<std::int64_t> holds_{0};     // of it alone; by any thread, by addition
  std::atomic<bool> engine_ended_{false};  // set by the engine's destructor
  std::size_t place_ = 0;                  // among the engine's handlers; under its mutex
  int waiters_ = 0;                        // threads that wait for this handler alone; under the engine's mutex
};

struct Entry {
  std::uint32_t handler = 0;
  Payload payload;

  Entry() = default;
  Entry(std::uint32_t to, const Payload& what) noexcept : handler(to), payload(what) {}
  Entry(const Entry&) = default;
  bool operator==(const Entry&) const = default;
  /// Word by word. The compiler's copy would load 16 bytes at once; where two 8-byte stores have just written them, the
  /// store buffer cannot forward the load, which waits until both are in the cache.
  Entry& operator=(const Entry& other) noexcept {
    handler = other.handler;
    for (int k = 0; k < 3; ++k) payload.words[k] = other.payload.words[k];
    return *this;
  }
};

/// A handler that has messages, and neither tasks nor failures of its own: those of the engine itself, and one beside a
/// flow, which answers for it.
class MessageHandler : public Handler {
 public:
  void run(Worker&, const Payload&) noexcept override {}  // never, as a rule
  std::string describe(const Payload&) const override { return {}; }
  bool idle() const noexcept final { return true; }
  bool done() const noexcept final { return true; }
  std::size_t waiting(int, std::vector<StuckTask>&, std::size_t) const final { return 0; }
  bool broken() const noexcept final { return false; }
  void stop(const std::exception_ptr&) noexcept final {}
  void forget(int) noexcept final {}
  void reopen() noexcept final {}
};

}  // namespace taskgrain::rt::detail
