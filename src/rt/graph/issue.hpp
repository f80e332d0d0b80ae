#pragma once

/// How the executors of compiled graphs start an asynchronous task, and how they learn that its device is done.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "device_events.hpp"
#include "graph_actors.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

class InFlightOperation;

/// The operations of a worker that are not in flight, for reuse: it allocates only when more are in flight than ever
/// before. It lives until its executor has left it and all operations have come back:
///   references = tasks that are taken + whether the executor is there.
class InFlightPool {
 public:
  InFlightPool() = default;
  InFlightPool(const InFlightPool&) = delete;
  InFlightPool& operator=(const InFlightPool&) = delete;

  /// By the worker.
  InFlightOperation* take();
  /// By any thread.
  void give_back(InFlightOperation* task) noexcept;
  /// By the executor, in the end.
  void leave() noexcept;

  struct Leave {
    void operator()(InFlightPool* pool) const noexcept { pool->leave(); }
  };
  using Pointer = std::unique_ptr<InFlightPool, Leave>;

 private:
  ~InFlightPool();

  // Lists. The worker alone touches the first; any thread pushes to the second, and the worker takes all of it.
  InFlightOperation* free_ = nullptr;
  alignas(apart) std::atomic<InFlightOperation*> back_{nullptr};
  std::atomic<std::int64_t> references_{1};
};

/// An asynchronous task from its start until its device is done. All copies of one Done share it. It holds the runtime,
/// so the graph and the engine live until it is over; later it touches neither of them.
class InFlightOperation {
 public:
  explicit InFlightOperation(InFlightPool& pool) noexcept : pool_(pool) {}
  InFlightOperation(const InFlightOperation&) = delete;
  InFlightOperation& operator=(const InFlightOperation&) = delete;

  /// \pre it was just taken
  Done begin(Runtime& runtime, std::shared_ptr<GraphActors> graph, const DeviceTask& task, std::uint32_t number,
             std::int64_t iteration);
  /// The device is done. Only the first call counts.
  void finish();
  void keep() noexcept { copies_.fetch_add(1, std::memory_order_relaxed); }
  /// A copy is destroyed. If it was the last and none was called, the device can no longer report: the launch fails.
  void drop() noexcept;

 private:
  friend class InFlightPool;

  InFlightPool& pool_;
  InFlightOperation* next_ = nullptr;  // in a list of the pool; by the owner of that list
  // Reset when the operation is over: the graph may be destroyed then, before `finish` returns. Written, as hold_, by
  // the thread that has set over_.
  std::shared_ptr<GraphActors> graph_;
  std::uint32_t node_ = 0, number_ = 0;
  std::int64_t iteration_ = 0;
  std::optional<Runtime::Hold> hold_;
  std::atomic<bool> over_{false};  // set once, by the first that calls finish
  std::atomic<std::int64_t> copies_{0};
};

/// Gives device tasks to their devices.
class Issuer {
 public:
  Issuer(Runtime& runtime, const DevicePlan& devices);

  /// The events that a device task comes after; for its worker, to fill before `issue`.
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
