#pragma once

/// A ring of records from one rank to one other, in memory that both map. It needs no compare-and-swap.
///
/// Records begin at lines of 64 bytes and lie in one piece. The first word of a record is its size plus one; it is
/// written last, so what a sender has written half is not there, however the sender ends.
///   the word at line `sent` is 0,  and all lines in received … sent - 1 are records or skipped
///   received ≤ sent < received + lines
/// Before a record at line a … b - 1 is published by its first word, the sender writes 0 to the word at line b: so a
/// receiver never takes old bytes for a record, and need not clear what it has read.
///
/// The sender alone writes lines; it looks at `received`, which the receiver alone writes, only when the ring is full
/// as far as it knows. So only the lines of the records move from core to core.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class RecordRing {
 public:
  static constexpr std::size_t line = 64;

  /// \param memory  aligned to `apart`, zero at the beginning, the same for both
  explicit RecordRing(std::span<std::byte> memory)
      : received_in_(*reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data())), first_(memory.data() + apart),
        lines_(std::bit_floor((memory.size() - apart) / line)) {}

  /// The most bytes of a record.
  std::size_t most_bytes() const noexcept { return (lines_ / 4 - 1) * line; }

  // -- by the sender, one thread at a time

  /// Copies two pieces into a record. \param type  for the receiver
  /// \returns whether there was room
  bool push(std::uint64_t type, std::span<const std::byte> a, std::span<const std::byte> b = {}) noexcept {
    const std::size_t bytes = a.size() + b.size(), wanted = lines_of(bytes), at = sent_ & (lines_ - 1);
    const std::size_t skipped = at + wanted > lines_ ? lines_ - at : 0;
    const std::uint64_t end = sent_ + skipped + wanted;
    if (end >= seen_received_ + lines_) [[unlikely]] {
      seen_received_ = received_in_.load(std::memory_order_acquire);  // acquire: the receiver has read those lines
      if (end >= seen_received_ + lines_) return false;
    }
    std::byte* const record = data(sent_ + skipped);
    if (!a.empty()) std::memcpy(record + head, a.data(), a.size());
    if (!b.empty()) std::memcpy(record + head + a.size(), b.data(), b.size());
    reinterpret_cast<std::uint64_t*>(record)[1] = type;
    word(end).store(0, std::memory_order_relaxed);
    if (skipped != 0) {
      word(sent_ + skipped).store(bytes + 1, std::memory_order_relaxed);
      word(sent_).store(skip, std::memory_order_release);
    } else {
      word(sent_).store(bytes + 1, std::memory_order_release);
    }
    sent_ = end;
    return true;
  }

  // -- by the receiver, one thread at a time

  bool empty() const noexcept {
    return word(received_.load(std::memory_order_relaxed)).load(std::memory_order_acquire) == 0;
  }
  /// Calls `deliver(type, bytes)` for each record that is there; the bytes are aligned to 16, and there during the
  /// call.
  /// \returns whether there was any
  template <typename Deliver>
  bool take(const Deliver& deliver) {
    const std::uint64_t begin = received_.load(std::memory_order_relaxed);
    std::uint64_t at = begin, published = begin;
    while (at < begin + lines_) {  // once round, and then others have their turn
      const std::uint64_t size = word(at).load(std::memory_order_acquire);
      if (size == 0) break;
      if (size == skip) {
        at += lines_ - (at & (lines_ - 1));
        continue;
      }
      const std::byte* const record = data(at);
      at += lines_of(size - 1);
      deliver(reinterpret_cast<const std::uint64_t*>(record)[1],
              std::span<const std::byte>(record + head, static_cast<std::size_t>(size - 1)));
      received_.store(at, std::memory_order_relaxed);
      if (at - published > lines_ / 4) received_in_.store(published = at, std::memory_order_release);
    }
    if (at == begin) return false;
    received_.store(at, std::memory_order_relaxed);
    received_in_.store(at, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t head = 16;
  static constexpr std::uint64_t skip = UINT64_MAX;

  static std::size_t lines_of(std::size_t bytes) noexcept { return (head + bytes + line - 1) / line; }
  std::byte* data(std::uint64_t at) const noexcept { return first_ + (at & (lines_ - 1)) * line; }
  std::atomic<std::uint64_t>& word(std::uint64_t at) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(data(at));
  }

  std::atomic<std::uint64_t>& received_in_;  // lines; by the receiver, in the shared memory
  std::byte* const first_;
  const std::size_t lines_;                // a power of two
  alignas(apart) std::uint64_t sent_ = 0;  // lines; by the sender
  std::uint64_t seen_received_ = 0;        // by the sender; ≤ received
  // By the receiver; other threads of its rank may look. It is further than what it tells the sender.
  alignas(apart) std::atomic<std::uint64_t> received_{0};
};

}  // namespace taskgrain::rt::detail
