#pragma once

/// What the engine needs of a communicator: messages of other ranks make progress when a worker polls, and termination
/// detection says when nothing is left to do on any rank.

#include <atomic>
#include <cstdint>

namespace taskgrain::rt::detail {

class Engine;

class ProgressEngine {
 public:
  // -- by any thread

  /// Whether a poll finds something to do. Cheap.
  virtual bool anything() const noexcept = 0;
  /// Whether only a poll shows whether something has arrived. Then a worker without tasks polls all the time.
  virtual bool only_polls_show() const noexcept = 0;
  /// Takes what has arrived and sends what waits, unless another thread polls.
  virtual void poll() noexcept = 0;
  /// From now on this rank takes messages. Called by the first wait: before it the program makes what their functions
  /// use.
  virtual void open() noexcept = 0;
  /// A thread that may poll, if polls are not for every thread (MPI_THREAD_FUNNELED).
  virtual bool may_poll() const noexcept = 0;
  /// Rings for this rank (Transport::doorbell); null if nothing does.
  virtual std::atomic<std::uint32_t>* doorbell() noexcept = 0;
  /// Whether threads of several ranks share a processor, so that a thread that waits should soon yield.
  /// Takes some hundred nanoseconds.
  virtual bool oversubscribed() const noexcept = 0;
  /// Whether any rank has failed. Then every wait throws what `raise` throws.
  virtual bool failed() const noexcept = 0;
  [[noreturn]] virtual void raise() = 0;
  /// After a failure: returns when no function of a message runs, and nothing of the user's is read or written any
  /// more.
  virtual void settle() noexcept = 0;
  /// Whether this thread runs the function of a message.
  virtual bool runs_here() const noexcept = 0;
  /// Whether that was on this rank. \pre failed
  virtual bool failed_here() const noexcept = 0;
  /// Ends all ranks with what this one has thrown. Only the first failure counts.
  virtual void fail(const char* what) noexcept = 0;

  // -- by the engine

  /// An engine joins: its workers poll from now on. \throws UsageError  one has joined
  virtual void join(Engine& engine) = 0;
  virtual void leave() noexcept = 0;

  // -- by worker 0, which waits for everything

  /// All ranks begin to wait.
  virtual void begin() = 0;
  /// The wait has ended. What other ranks have sent after theirs is delivered now.
  virtual void end() noexcept = 0;
  /// Counts so far, whose sum for all ranks says whether messages are on their way.
  struct Counts {
    std::uint64_t queued, processed;
    std::uint64_t control_received;  ///< messages of termination detection that had come before these were read
    bool operator==(const Counts&) const = default;
  };
  virtual Counts counts() const noexcept = 0;
  /// At a time when nothing was left to do on this rank, these were the counts.
  /// \param stuck  tasks wait here
  virtual void idle(const Counts& counts, bool stuck) noexcept = 0;
  /// Whether nothing is left to do on any rank.
  virtual bool done() const noexcept = 0;
  /// Whether, then, tasks wait on some rank.
  virtual bool stuck() const noexcept = 0;
  /// Whether all other ranks have left, and nothing of theirs or of this rank's own is on its way here.
  virtual bool alone() noexcept = 0;

 protected:
  ~ProgressEngine() = default;
};

}  // namespace taskgrain::rt::detail
