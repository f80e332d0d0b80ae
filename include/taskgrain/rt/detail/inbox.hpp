#pragma once

/// What other workers send to one worker: a mailbox from each that has ever sent it something.
///
/// The receiver looks at all of them while they are few. Then it wants notices: a sender sets the bit of its mailbox
/// after the message, if it is not set, and the receiver looks at the mailboxes whose bits are set. It clears the bits
/// first. So a look at nothing costs the same however many workers there are.
///   a mailbox has a message that the receiver has not been told of  ⇒  its sender has still to look at the bit
/// Sender: message, fence, look at the bit. Receiver: clears the bit, fence, looks for messages. One of the two sees
/// what the other wrote (Dekker): a sender that finds its bit set wrote its message before the receiver looks.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "taskgrain/rt/detail/mailbox.hpp"
#include "taskgrain/rt/detail/pause.hpp"
#include "taskgrain/rt/detail/sleep.hpp"

namespace taskgrain::rt::detail {

class Inbox {
 public:
  /// \param senders  how many workers may send
  explicit Inbox(std::size_t senders) { boxes_.reserve(senders); }

  // -- by the receiver

  /// Takes what has come: calls `deliver(entry)` for each.
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
      if (notified_) notices_.store(~std::uint64_t{0}, std::memory_order_relaxed);  // who did not know told nobody
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
  /// There is a message in one of the mailboxes.
  void notify(const Mailbox& box) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (box.number() % 64);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if ((notices_.load(std::memory_order_relaxed) & bit) == 0) notices_.fetch_or(bit, std::memory_order_release);
  }

 private:
#if defined(TASKGRAIN_SIMULATED_SCHEDULE)
  static constexpr std::size_t few = 1;
#else
  static constexpr std::size_t few = 4;  // a look at more of them takes longer than a look at the bits
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

}  // namespace taskgrain::rt::detail
