#pragma once

/// Storage for events of devices, between the task that returns one and the tasks that get copies of it.

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "fifo.hpp"
#include "taskgrain/rt/detail/graph_node.hpp"

namespace taskgrain::rt::detail {

/// An optional event, whose type is known at run time only.
class StoredEvent {
 public:
  StoredEvent() = default;
  StoredEvent(const StoredEvent& other) noexcept : type_(other.type_) {
    if (type_ != nullptr) type_->copy(bytes_, other.bytes_);
  }
  StoredEvent(StoredEvent&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {
    if (type_ != nullptr) type_->relocate(bytes_, other.bytes_);
  }
  StoredEvent& operator=(StoredEvent&& other) noexcept {
    if (this == &other) return *this;
    reset();
    type_ = std::exchange(other.type_, nullptr);
    if (type_ != nullptr) type_->relocate(bytes_, other.bytes_);
    return *this;
  }
  ~StoredEvent() { reset(); }

  const void* get() const noexcept { return bytes_; }
  void reset() noexcept {
    if (const EventType* type = std::exchange(type_, nullptr)) type->destroy(bytes_);
  }
  /// \param make  called with the address where it puts an event. If it throws, there is none.
  template <typename Make>
  void emplace(const EventType& type, const Make& make) {
    reset();
    make(static_cast<void*>(bytes_));
    type_ = &type;
  }

 private:
  alignas(std::max_align_t) std::byte bytes_[32];
  const EventType* type_ = nullptr;
};

/// The events that a device task comes after, as an array for its start. Used by its worker alone.
class EventArray {
 public:
  EventArray(const EventType& type, std::size_t most)
      : type_(type),
        bytes_(new std::max_align_t[(most * type.size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)]) {}
  EventArray(EventArray&&) = default;
  EventArray(const EventArray&) = delete;
  EventArray& operator=(const EventArray&) = delete;
  ~EventArray() { clear(); }

  const void* data() const noexcept { return bytes_.get(); }
  std::size_t size() const noexcept { return size_; }
  void push(const StoredEvent& event) noexcept { type_.copy(at(size_++), event.get()); }
  void clear() noexcept {
    while (size_ > 0) type_.destroy(at(--size_));
  }

 private:
  std::byte* at(std::size_t k) const noexcept { return reinterpret_cast<std::byte*>(bytes_.get()) + k * type_.size; }

  const EventType& type_;
  std::unique_ptr<std::max_align_t[]> bytes_;
  std::size_t size_ = 0;
};

/// A queue of the events of one device edge, because the first task may be issued iterations ahead of the second.
class EventQueue {
 public:
  void push(const StoredEvent& event) {
    const std::lock_guard lock(mutex_);
    events_.push(StoredEvent(event));
  }
  StoredEvent pop() {
    const std::lock_guard lock(mutex_);
    return events_.pop();
  }
  /// Drops the events. No other thread uses them meanwhile.
  void clear() noexcept { events_.clear(); }

 private:
  std::mutex mutex_;  // protects the member below
  Fifo<StoredEvent> events_;
};

}  // namespace taskgrain::rt::detail
