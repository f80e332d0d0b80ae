#pragma once

/// The engine's interface to a communicator: workers poll it, so that messages between ranks make progress, and its
/// termination detection finds when no rank has work any more.

#include <atomic>
#include <cstdint>

namespace taskgrain::rt::detail {

class Engine;

class ProgressEngine {
 public:
  // -- by any thread

  /// True if a poll has something to do. It takes a few loads.
  virtual bool anything() const noexcept = 0;
  /// True if only a poll shows arrivals (MPI). Then an idle worker polls all the time.
  virtual bool only_polls_show() const noexcept = 0;
  /// Delivers messages that have arrived, and sends those that wait. Does nothing while another thread polls.
  virtual void poll() noexcept = 0;
  /// This rank begins to poll. Called by the first wait, because before it the program makes the objects that functions
  /// of messages use.
  virtual void open() noexcept = 0;
  /// True if the calling thread may poll; below MPI_THREAD_MULTIPLE only one may.
  virtual bool may_poll() const noexcept = 0;
  /// The doorbell of this rank (Transport::doorbell); null if there is none.
  virtual std::atomic<std::uint32_t>* doorbell() noexcept = 0;
  /// True if threads of several ranks share a processor, so that a thread that waits should soon yield.
  /// It takes some hundred nanoseconds.
  virtual bool oversubscribed() const noexcept = 0;
  /// True if any rank has failed. Then every wait throws what `raise` throws.
  virtual bool failed() const noexcept = 0;
  [[noreturn]] virtual void raise() = 0;
  /// Waits after a failure until no function of a message runs, and no memory of the user is accessed any more.
  virtual void settle() noexcept = 0;
  /// True if the calling thread runs the function of a message.
  virtual bool runs_here() const noexcept = 0;
  /// True if this rank has failed first. \pre failed
  virtual bool failed_here() const noexcept = 0;
  /// Fails all ranks with this reason. Only the first failure counts.
  virtual void fail(const char* what) noexcept = 0;

  // -- by the engine

  /// An engine joins: its workers poll from now on. \throws UsageError  one has joined
  virtual void join(Engine& engine) = 0;
  virtual void leave() noexcept = 0;

  // -- by worker 0, in a wait for all ranks

  /// Begins a wait; all ranks do.
  virtual void begin() = 0;
  /// Returns from the wait: messages that other ranks have sent after it may be delivered now.
  virtual void end() noexcept = 0;
  /// Messages so far. Σ queued − Σ processed over all ranks is the number in flight.
  struct Counts {
    std::uint64_t queued, processed;
    std::uint64_t control_received;  ///< control messages, read before the other two
    bool operator==(const Counts&) const = default;
  };
  virtual Counts counts() const noexcept = 0;
  /// Reports that at one moment this rank was idle and had these counts.
  /// \param stuck  whether tasks wait on this rank
  virtual void idle(const Counts& counts, bool stuck) noexcept = 0;
  /// True if the wait has ended: all ranks are idle and no message is in flight.
  virtual bool done() const noexcept = 0;
  /// True if tasks wait on some rank. \pre done
  virtual bool stuck() const noexcept = 0;
  /// True if all other ranks have departed, and no message to this rank is in flight.
  virtual bool alone() noexcept = 0;

 protected:
  ~ProgressEngine() = default;
};

}  // namespace taskgrain::rt::detail
