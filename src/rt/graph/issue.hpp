#pragma once

/// Starting asynchronous tasks on their devices, and the operation in flight until the device calls Done.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device_events.hpp"
#include "graph_actors.hpp"
#include "taskgrain/rt/runtime.hpp"

namespace taskgrain::rt::detail {

/// An asynchronous task from its start until its device is done. All copies of one Done share it. It has a hold of the
/// runtime, so the owner and the engine live until `finish`; later it uses neither.
class InFlightOperation {
 public:
  InFlightOperation(Runtime& runtime, std::shared_ptr<AsyncOwner> owner, std::uint32_t node, std::uint32_t number,
                    std::int64_t iteration) noexcept
      : owner_(std::move(owner)), hold_(runtime), node_(node), number_(number), iteration_(iteration) {}

  /// \throws std::bad_alloc
  static Done begin(Runtime& runtime, std::shared_ptr<AsyncOwner> owner, std::uint32_t node, std::uint32_t number,
                    std::int64_t iteration);
  /// The device is done. Only the first call counts.
  void finish();
  void retain() noexcept { copies_.fetch_add(1, std::memory_order_relaxed); }
  /// A copy of Done is destroyed. If it was the last and none was called, the device cannot report any more: the launch
  /// fails.
  void release() noexcept;

 private:
  // Reset by `finish`, after which the owner may be destroyed: by the thread that has set over_.
  std::shared_ptr<AsyncOwner> owner_;
  std::optional<Runtime::Hold> hold_;
  const std::uint32_t node_, number_;
  const std::int64_t iteration_;
  std::atomic<bool> over_{false};        // set once, by the first `finish`
  std::atomic<std::int64_t> copies_{1};  // of Done
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
  std::vector<EventArray> after_;  // by device task
};

}  // namespace taskgrain::rt::detail
