#pragma once

/// The sources that a worker polls, and checks once more before it sleeps: the mailboxes of other workers, and the list
/// of threads outside.
///
/// An Inbox has a mailbox for each worker that has ever sent to this one. While they are few, the receiver polls all of
/// them. Otherwise a sender sets the bit of its mailbox after the message, unless it is set, and the receiver clears
/// the bits and polls only the mailboxes whose bits were set. So polling an empty inbox takes the same time for any
/// number of workers.
///   a mailbox has a message and its bit is not set  ⇒  its sender has not yet loaded the bits
/// Sender: store the message, fence, load the bits. Receiver: clear the bits, fence, poll. One of the two sees the
/// other's store (Dekker): a sender that finds its bit set has written its message before the receiver polls.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "taskgrain/rt/detail/entry.hpp"
#include "taskgrain/rt/detail/mailbox.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/sleep.hpp"

namespace taskgrain::rt::detail {

class Inbox {
 public:
  /// \param senders  how many workers may send
  explicit Inbox(std::size_t senders) { boxes_.reserve(senders); }

  // -- by the receiver

  /// Removes all entries, and calls `deliver(entry)` for each.
  template <typename Deliver>
  void take(const Deliver& deliver) {
    if (!notified_) [[likely]] {
      for (const Mailbox::Owner& box : boxes_) empty_out(*box, deliver);
      return;
    }
    if (notices_.load(std::memory_order_relaxed) == 0) return;
    std::uint64_t bits = notices_.exchange(0, std::memory_order_acq_rel);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (; bits != 0; bits &= bits - 1)
      for (std::size_t k = static_cast<std::size_t>(std::countr_zero(bits)); k < boxes_.size(); k += 64)
        empty_out(*boxes_[k], deliver);
  }
  bool empty() const noexcept {
    if (notified_) [[unlikely]]
      return notices_.load(std::memory_order_relaxed) == 0;
    for (const Mailbox::Owner& box : boxes_)
      if (!box->empty()) return false;
    return true;
  }
  /// Adds a mailbox. \param memory  Mailbox::memory(capacity)
  Mailbox& open(void* memory, std::size_t capacity, Sleeper& sleeper) noexcept {
    boxes_.push_back(Mailbox::make(memory, capacity, static_cast<int>(boxes_.size())));
    number_.store(boxes_.size(), std::memory_order_relaxed);
    if (boxes_.size() > few && !notified_) {
      notified_ = sleeper.want_notices();
      if (notified_) notices_.store(~std::uint64_t{0}, std::memory_order_relaxed);  // earlier senders set no bits
    }
    return *boxes_.back();
  }

  // -- by senders

  /// Words of the next mailbox: all of a worker's together fit its second-level cache.
  std::size_t next_capacity() const noexcept {
#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
    return 4;  // often full
#endif
    const std::size_t number = number_.load(std::memory_order_relaxed);
    return number < 8 ? 1024 : number < 64 ? 256 : 64;
  }
  /// A sender has put a message into this mailbox.
  void notify(const Mailbox& box) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (box.number() % 64);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if ((notices_.load(std::memory_order_relaxed) & bit) == 0) notices_.fetch_or(bit, std::memory_order_release);
  }

 private:
#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
  static constexpr std::size_t few = 1;
#else
  static constexpr std::size_t few = 4;  // polling more of them takes longer than loading the bits
#endif

  template <typename Deliver>
  static void empty_out(Mailbox& box, const Deliver& deliver) {
    Entry message;
    while (box.pop(message)) deliver(message);
  }

  // Written by the receiver.
  std::vector<Mailbox::Owner> boxes_;
  bool notified_ = false;
  std::atomic<std::size_t> number_{0};  // of mailboxes, for senders
  // Written by the receiver and by senders.
  alignas(apart) std::atomic<std::uint64_t> notices_{0};
};

/// Messages from threads outside to one worker: a list under a mutex.
class alignas(apart) InjectionQueue {
 public:
  /// Adds a message. Any thread calls it. \param counted  is called before the worker can take the message
  template <typename Counted>
  void put(const Entry& message, const Counted& counted) {
    const std::lock_guard lock(mutex_);
    list_.push_back(message);
    counted();
    any_.store(true, std::memory_order_release);
  }

  // -- by the worker

  bool empty() const noexcept { return !any_.load(std::memory_order_relaxed); }
  template <typename Deliver>
  void take(const Deliver& deliver) {
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(list_);
      any_.store(false, std::memory_order_relaxed);
    }
    for (const Entry& message : taken_) deliver(message);
    taken_.clear();
  }

 private:
  std::atomic<bool> any_{false};  // the list is not empty; under the mutex
  std::mutex mutex_;              // protects the list
  std::vector<Entry> list_;
  std::vector<Entry> taken_;  // by the worker
};

}  // namespace taskgrain::rt::detail
