#pragma once

/// A queue for one thread, in a circular buffer that doubles when it is full and never shrinks. If there is no memory,
/// a push waits for some.

#include <cstddef>
#include <memory>
#include <utility>

#include "taskgrain/rt/detail/surely.hpp"

namespace taskgrain::rt::detail {

template <typename T>
class Fifo {
 public:
  bool empty() const noexcept { return front_ == back_; }
  void push(T value) {
    T* const next = after(back_);
    if (next == front_) [[unlikely]] {
      grow();
      return push(std::move(value));
    }
    *back_ = std::move(value);
    back_ = next;
  }
  /// \pre not empty
  T pop() noexcept {
    T* const oldest = front_;
    front_ = after(oldest);
    return std::move(*oldest);
  }
  void clear() noexcept {
    while (!empty()) static_cast<void>(pop());
  }

 private:
  T* after(T* slot) const noexcept { return slot + 1 == end_ ? slots_.get() : slot + 1; }

  void grow() {
    const auto size = static_cast<std::size_t>(end_ - slots_.get());
    std::unique_ptr<T[]> larger = surely([&] { return std::unique_ptr<T[]>(new T[2 * size]); });
    T* back = larger.get();
    for (; front_ != back_; front_ = after(front_)) *back++ = std::move(*front_);
    slots_ = std::move(larger);
    front_ = slots_.get();
    back_ = back;
    end_ = slots_.get() + 2 * size;
  }

  static constexpr std::size_t least = 8;

  std::unique_ptr<T[]> slots_{new T[least]};
  T* end_ = slots_.get() + least;  // of the slots
  T *front_ = slots_.get(),
    *back_ = slots_.get();  // elements: from front_ to before back_, circularly; at least one slot is free
};

}  // namespace taskgrain::rt::detail
