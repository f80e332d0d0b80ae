#pragma once

/// Starting asynchronous tasks on their devices, and the operation in flight until the device calls Done.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device_events.hpp"
#include "graph_actors.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

class InFlightOperation;

/// Free operations of a worker, for reuse. It lives until its executor has left it and all operations have been given
/// back:   references_ = operations in flight + (the executor has not left ? 1 : 0).
class InFlightPool {
 public:
  InFlightPool() = default;
  InFlightPool(const InFlightPool&) = delete;
  InFlightPool& operator=(const InFlightPool&) = delete;

  /// Takes a free operation, or makes one. The worker calls it.
  InFlightOperation* take();
  /// Gives an operation back. Any thread calls it.
  void give_back(InFlightOperation* task) noexcept;
  /// Leaves the pool. The executor calls it in the end.
  void leave() noexcept;

  struct Leave {
    void operator()(InFlightPool* pool) const noexcept { pool->leave(); }
  };
  using Pointer = std::unique_ptr<InFlightPool, Leave>;

 private:
  ~InFlightPool();

  // Lists. Only the worker uses free_. Any thread pushes to back_ by compare-and-swap, and the worker takes all of it.
  InFlightOperation* free_ = nullptr;
  alignas(apart) std::atomic<InFlightOperation*> back_{nullptr};
  std::atomic<std::int64_t> references_{1};
};

/// An asynchronous task from its start until its device is done. All copies of one Done share it. It has a hold of the
/// runtime, so the owner and the engine live until `finish`; later it uses neither.
class InFlightOperation {
 public:
  explicit InFlightOperation(InFlightPool& pool) noexcept : pool_(pool) {}
  InFlightOperation(const InFlightOperation&) = delete;
  InFlightOperation& operator=(const InFlightOperation&) = delete;

  /// \pre it was taken from the pool
  Done begin(Runtime& runtime, std::shared_ptr<AsyncOwner> owner, std::uint32_t node, std::uint32_t number,
             std::int64_t iteration);
  /// The device is done. Only the first call counts.
  void finish();
  void retain() noexcept { copies_.fetch_add(1, std::memory_order_relaxed); }
  /// A copy of Done is destroyed. If it was the last and none was called, the device cannot report any more: the launch
  /// fails.
  void release() noexcept;

 private:
  friend class InFlightPool;

  InFlightPool& pool_;
  InFlightOperation* next_ = nullptr;  // in a list of the pool
  // Reset by `finish`, after which the owner may be destroyed. Written, as hold_, by the thread that has set over_.
  std::shared_ptr<AsyncOwner> owner_;
  std::uint32_t node_ = 0, number_ = 0;
  std::int64_t iteration_ = 0;
  std::optional<Runtime::Hold> hold_;
  std::atomic<bool> over_{false};        // set once, by the first `finish`
  std::atomic<std::int64_t> copies_{0};  // of Done
};

/// Gives device tasks to their devices.
class Issuer {
 public:
  Issuer(Runtime& runtime, const DevicePlan& devices);

  /// The events that a device task comes after. Its worker fills them before `issue`.
  EventArray& after(std::uint32_t d) noexcept { return after_[d]; }
  /// Starts a device task; GraphActors::device_done is called when its device is done, also if the start throws, after
  /// the launch has failed.
  /// \param event  for what it returns
  /// \throws what the start throws
  void issue(GraphActors& graph, std::uint32_t d, const Turn& turn, std::int64_t iteration, StoredEvent& event);

 private:
  Runtime& runtime_;
  const DevicePlan& devices_;
  std::vector<EventArray> after_;             // by device task
  std::vector<InFlightPool::Pointer> pools_;  // by worker; null for those without device tasks
};

}  // namespace taskgrain::rt::detail
