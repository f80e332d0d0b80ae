#pragma once

/// The handlers of an engine, by number. What is queued or sent names its handler by this number and not by its
/// address, which would mean nothing to another process.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt::detail {

/// A table that grows by moving to a larger one. The smaller ones stay, because threads may still be looking into them:
///   all tables have the same handler at a number that is in use, or lie before the table that it was added to
class Handlers {
 public:
  Handlers() { grow(64); }

  /// The handler of a number. Any thread calls it, with a number that it has got after `add` and uses before `remove`.
  Handler& operator[](std::uint32_t number) const noexcept { return *table_.load(std::memory_order_acquire)[number]; }

  // -- by one thread at a time

  /// Makes room for so many more, a few.
  void reserve(std::size_t more) {
    if (free_.size() < more) grow(2 * capacity_);
  }
  /// Gives the handler a number.
  void add(Handler& handler) {
    reserve(1);
    handler.number_ = free_.back();
    free_.pop_back();
    tables_.back()[handler.number_] = &handler;
  }
  /// Its number may be given to another one. \pre nothing of the handler is left
  void remove(const Handler& handler) noexcept { free_.push_back(handler.number_); }

 private:
  void grow(std::size_t capacity) {
    auto larger = std::make_unique<Handler*[]>(capacity);
    if (!tables_.empty()) std::copy_n(tables_.back().get(), capacity_, larger.get());
    free_.reserve(capacity);  // so that `remove` needs no memory
    tables_.push_back(std::move(larger));
    for (std::size_t number = capacity; number-- > capacity_;) free_.push_back(static_cast<std::uint32_t>(number));
    capacity_ = capacity;
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::atomic<Handler**> table_{nullptr};
  std::size_t capacity_ = 0;
  std::vector<std::unique_ptr<Handler*[]>> tables_;
  std::vector<std::uint32_t> free_;
};

}  // namespace taskgrain::rt::detail
