#pragma once

/// Channels: a writer signals its progress to readers that wait for it.
///
/// A channel is a counter. The writer writes data elsewhere, and then raises the counter with release. The counter only
/// grows, and `passed(w)` means counter ≥ w, loaded with acquire. So
///   - passed(w) stays true, and implies passed(v) for all v ≤ w;
///   - signals may be repeated, merged into the largest, or come late;
///   - any thread may raise the counter to v, if the data of all w ≤ v is written. Several writers use `raise`, a
///     compare-and-swap; a single one uses `signal`, a plain store.
/// A reader that finds passed(w) sees what was written before the counter was raised to w or more.
///
/// A reader that has waited for too long parks: it does nothing until it gets a message. The reader stores `parked` and
/// then loads the counter; the writer stores the counter and then loads `parked`. With a barrier between the store and
/// the load of each, at least one sees the other's store (Dekker, as in detail/sleep.hpp):
///   parked, and no message in flight  ⇒  the counter is below the reader's value, or the writer has not loaded
///   `parked`.
/// The simulated schedules check this, with mutations (tests/cpp/rt/schedule).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/sleep.hpp"

namespace taskgrain::rt::detail {

class Channel {
 public:
  // -- by the writer

  /// Raises the counter. \pre no other thread does so at a time, and `value` is no less than before
  /// \returns whether the reader may be parked: then the writer must `unpark` it
  bool signal(std::int64_t value) noexcept {
    value_.store(value, std::memory_order_release);
    light_barrier();
    return parked_.load(std::memory_order_relaxed);
  }
  /// Raises the counter, by one of several threads, in any order. Readers do not park here: they get a message after
  /// each call.
  void raise(std::int64_t value) noexcept {
    std::int64_t before = value_.load(std::memory_order_relaxed);
    while (before < value &&
           !value_.compare_exchange_weak(before, value, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  /// \returns whether the reader is parked and this call is the one that sends it a message
  bool unpark() noexcept { return parked_.exchange(false); }

  // -- by a reader

  bool passed(std::int64_t value) const noexcept { return value_.load(std::memory_order_acquire) >= value; }
  /// \param request  is called if the kernel refuses the barrier. It asks the writer, by a message, to send one to this
  ///   reader when `value` has been passed. After it, both see what the other has written before.
  /// \returns whether it is parked; otherwise `value` has been passed meanwhile
  template <typename Request>
  bool park(std::int64_t value, const Request& request) noexcept {
    parked_.store(true, std::memory_order_relaxed);
    if (!heavy_barrier()) request();
    return !passed(value);
  }

  // -- while no other thread uses it

  void reset(std::int64_t value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    parked_.store(false, std::memory_order_relaxed);
  }

 private:
  alignas(apart) std::atomic<std::int64_t> value_{0};  // by the writers
  // Set by the reader, reset by the writer that sends it a message. Not in the cache line of the value: this load would
  // fetch that line for reading, and the store to the value, still in the store buffer, would fetch it again for
  // writing.
  alignas(apart) std::atomic<bool> parked_{false};
};

/// Turns iterations that are done in any order, by any thread, into a channel that counts them without a gap.
class DoneIterations {
 public:
  /// \param channel  its value is the first iteration that is not done
  explicit DoneIterations(Channel& channel) : channel_(channel) {}

  /// Notes that an iteration is done. Any thread calls it, once for each iteration.
  void done(std::int64_t iteration) {
    const std::lock_guard lock(mutex_);
    if (iteration != next_) {
      while (iteration - next_ >= static_cast<std::int64_t>(ahead_.size())) grow();
      ahead_[at(iteration)] = true;
      return;
    }
    for (++next_; ahead_[at(next_)]; ++next_) ahead_[at(next_)] = false;
    channel_.raise(next_);
  }
  /// While no other thread uses it: all iterations below `next` are done.
  void reset(std::int64_t next) {
    const std::lock_guard lock(mutex_);
    next_ = next;
    ahead_.assign(ahead_.size(), false);
    channel_.reset(next);
  }

 private:
  std::size_t at(std::int64_t iteration) const noexcept {
    return static_cast<std::size_t>(iteration) & (ahead_.size() - 1);
  }
  void grow() {
    std::vector<bool> larger(2 * ahead_.size());
    larger.swap(ahead_);
    for (std::size_t k = 1; k < larger.size(); ++k) {
      const std::int64_t iteration = next_ + static_cast<std::int64_t>(k);
      ahead_[at(iteration)] = larger[static_cast<std::size_t>(iteration) & (larger.size() - 1)];
    }
  }

  Channel& channel_;
  std::mutex mutex_;  // protects the members below
  std::int64_t next_ = 0;
  // Bit i mod size is set ⇔ iteration i is done, for next < i < next + size; that of next is not set.
  std::vector<bool> ahead_ = std::vector<bool>(8);
};

}  // namespace taskgrain::rt::detail
