#pragma once

/// Asynchronous tasks, which give work to a device.

#include "taskgrain/rt/detail/cxx20.hpp"

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace taskgrain::rt {

namespace detail {
class InFlightOperation;
}

/// The device's own event for the work of a task, on which later work on the device can wait: a handle, or a small
/// struct. Each task after it gets a copy, and copies throw nothing.
template <typename E>
concept DeviceEvent =
    std::is_object_v<E> && std::is_nothrow_copy_constructible_v<E> && std::is_nothrow_move_constructible_v<E> &&
    std::is_nothrow_destructible_v<E> && sizeof(E) <= 32 && alignof(E) <= alignof(std::max_align_t);

/// The function that a device calls when it is done with a task. Copies stand for the same task, and allocate nothing.
///
/// Only the first call counts; further calls do nothing. If all copies are destroyed and none was called, the launch
/// fails; as long as one is kept, the run waits.
class Done {
 public:
  Done() = default;  ///< stands for no task
  Done(const Done& other) noexcept;
  Done(Done&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  Done& operator=(Done other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~Done();

  /// The device is done. From any thread. \throws UsageError  if this is of no task
  void operator()() const;

  /// Gives a pointer that stands for this copy, for devices that call back with a pointer. The copy is empty then.
  void* release() noexcept { return std::exchange(task_, nullptr); }
  /// The copy that a pointer stands for. \pre `pointer` comes from `release`, and this is the first call with it
  static Done from(void* pointer) noexcept { return Done(static_cast<detail::InFlightOperation*>(pointer)); }

 private:
  friend class detail::InFlightOperation;

  explicit Done(detail::InFlightOperation* task) noexcept : task_(task) {}

  detail::InFlightOperation* task_ = nullptr;
};

/// The device side of an asynchronous task.
template <DeviceEvent E>
struct Issue {
  /// Events of the asynchronous tasks before this one. The device must wait for them. They are there until the start
  /// returns.
  std::span<const E> after;
  /// Call it, or a copy, when the device is done.
  Done done;
};

}  // namespace taskgrain::rt
