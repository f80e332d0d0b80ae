#pragma once

/// The engine whose workers poll for this rank, and the messages that threads of this rank have counted.
///
/// A message is counted as queued before the transport gets it, and as processed after its function has returned. So
/// Σ queued − Σ processed over all ranks is the number of messages in flight or running; TerminationDetection looks for
/// 0. A large message counts as two: its function `process` on the receiver, and `reusable` on the sender. So does a
/// persistent one: `on_done` on both.
///   Only worker w writes shares_[w], with plain stores; all other threads add to outside_.
///   A thread that is no worker holds mutex_ around calls of the engine, so that the engine does not leave meanwhile.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/progress_engine.hpp"

namespace taskgrain::rt::detail {

class Transport;
class Worker;

class JoinedEngine {
 public:
  /// \param transport           learns which processors its workers use; null: this process is alone
  /// \param progress_thread     whether a thread of its own polls
  JoinedEngine(Transport* transport, bool progress_thread) noexcept
      : transport_(transport), progress_thread_(progress_thread) {}

  bool exists() const noexcept { return engine_.load() != nullptr; }
  /// \throws UsageError  one has joined
  void join(Engine& engine);
  /// \pre no thread polls
  void leave() noexcept;

  /// The calling worker; null if the calling thread is no worker of the engine.
  Worker* here() const noexcept;
  /// Takes back that the calling worker is idle, before it handles a message.
  void mark_busy() const noexcept;
  void notify() noexcept;
  /// Wakes worker 0, unless the caller is worker 0.
  void notify_main_worker() noexcept;
  void wake_all() noexcept;

  void count_queued(std::uint64_t messages = 1) noexcept { count(&Share::queued, messages); }
  void count_processed() noexcept { count(&Share::processed, 1); }
  /// \param control_received  read before
  ProgressEngine::Counts counts(std::uint64_t control_received) const noexcept;

 private:
  /// Messages that one worker has counted. Each has cache lines of its own, so that counting moves none between cores.
  struct alignas(apart) Share {
    std::atomic<std::uint64_t> queued{0}, processed{0};
  };

  void count(std::atomic<std::uint64_t> Share::* which, std::uint64_t number) noexcept;

  Transport* const transport_;
  const bool progress_thread_;
  std::unique_ptr<Share[]> shares_;
  std::size_t workers_ = 0;
  Share outside_;
  std::atomic<Engine*> engine_{nullptr};
  std::mutex mutex_;
};

}  // namespace taskgrain::rt::detail
