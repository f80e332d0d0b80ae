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

  /// What its bytes are a copy of. Pairs and tuples of numbers are, though the standard library's assign themselves in
  /// their own way and are not trivially copyable for that.
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
  bool reported = false;  // to a thread that waited; under the engine's mutex
};

/// Receives messages and runs tasks: what is behind a Taskflow or a CompiledGraph. What goes wrong in one does
/// not concern the others.
class Handler {
 public:
  virtual ~Handler() = default;

  // What goes wrong in these two fails the handler: they throw nothing.
  /// A message to this worker has come. Called by the worker's thread.
  virtual void deliver(Worker& here, const Payload& message) noexcept = 0;
  /// Runs a task that was ready. Called by the thread of the worker that has it.
  virtual void run(Worker& here, const Payload& task) noexcept = 0;
  /// There was no memory to queue an entry that this thread, a worker, has counted as begun. It is gone.
  virtual void lost(const Payload& /*payload*/) noexcept {}
  /// The name and key of a task, for people.
  virtual std::string describe(const Payload& task) const = 0;

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

  /// Whether it ends by itself when other ranks do their part.
  virtual bool across_ranks() const noexcept { return false; }
  /// Ends what it has beside its own memory. Called once it is done and forgotten: a thread outside may hold it for
  /// longer than the engine and the ranks are there.
  virtual void leave() noexcept {}
  /// Another one, which has a number while this one has, and nothing else of its own; null if there is none.
  virtual Handler* companion() noexcept { return nullptr; }

  /// That entries name it by (handlers.hpp).
  std::uint32_t number() const noexcept { return number_; }
  /// Whether a thread outside may still fulfill something of it, and says so.
  bool held() const noexcept { return holds_.load(std::memory_order_acquire) != 0; }
  /// Whether a task has failed, so that all that is left is dropped. Workers ask it for each task.
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

 protected:
  friend class Engine;
  friend class Handlers;

  std::uint32_t number_ = UINT32_MAX;
  // Workers drop what comes while it is true. A task may have got some of its fulfilments before, and lose the others:
  //   not failed  =>  no fulfilment of a task that waits was dropped.
  // Set by who fails it first. Reset only by `settle`, under the engine's mutex `settling_`, after it has seen, in this
  // order: failed, then idle (nothing that began before the failure is on its way, and what begins now is dropped
  // whole), then that each worker has forgotten what waits. Who asks what waits for ever must settle first what has
  // failed, as what waits there is not stuck (Engine::find_stuck).
  std::atomic<bool> failed_{false};
  std::shared_ptr<Failure> failure_;    // that it has failed with; under the engine's mutex
  unsigned failures_ = 0;               // so far; under the engine's mutex
  std::atomic<std::int64_t> holds_{0};  // of it alone; by any thread, by addition
  std::size_t place_ = 0;               // among the engine's handlers; under its mutex
  int waiters_ = 0;                     // threads that wait for this handler alone; under the engine's mutex
};

struct Entry {
  std::uint32_t handler = 0;
  Payload payload;

  Entry() = default;
  Entry(std::uint32_t to, const Payload& what) noexcept : handler(to), payload(what) {}
  Entry(const Entry&) = default;
  /// Word by word: what was just put together in registers would be stored and loaded again in wider pieces, and wait
  /// for that.
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
  void run(Worker&, const Payload&) noexcept final {}  // never
  std::string describe(const Payload&) const final { return {}; }
  bool idle() const noexcept final { return true; }
  bool done() const noexcept final { return true; }
  std::size_t waiting(int, std::vector<StuckTask>&, std::size_t) const final { return 0; }
  bool broken() const noexcept final { return false; }
  void stop(const std::exception_ptr&) noexcept final {}
  void forget(int) noexcept final {}
  void reopen() noexcept final {}
};

}  // namespace taskgrain::rt::detail
