#pragma once

/// A single-producer single-consumer ring of records in shared memory, from one rank to one other. It needs no
/// compare-and-swap.
///
/// A record is contiguous and begins at a line of 64 bytes. Its first word is its size + 1. The sender stores this word
/// last, with release, so the receiver never sees a record that is half written, even if the sender's process is
/// killed.
///   word(sent) = 0;   lines received … sent − 1 hold records, or are skipped at the end of the memory;
///   shared received ≤ received ≤ sent < shared received + lines.
/// Before the sender publishes a record in lines a … b − 1, it stores 0 to word(b). So the receiver stops there, and
/// need not clear lines that it has read.
///
/// Only the sender writes lines. It caches the `received` count, which the receiver publishes in shared memory, and
/// loads it only when the ring is full according to the cached value. So the cache lines that move between cores are
/// those of the records, and few others.

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

  /// \param memory  the same for both ranks, aligned to `apart`, zero before its first use
  explicit RecordRing(std::span<std::byte> memory)
      : shared_received_(*reinterpret_cast<std::atomic<std::uint64_t>*>(memory.data())), first_(memory.data() + apart),
        lines_(std::bit_floor((memory.size() - apart) / line)) {}

  /// The largest record: a quarter of the ring.
  std::size_t most_bytes() const noexcept { return (lines_ / 4 - 1) * line; }

  // -- by the sender, one thread at a time

  /// Copies two pieces into one record. \param type  is passed to `deliver`
  /// \returns whether there was room
  bool push(std::uint64_t type, std::span<const std::byte> a, std::span<const std::byte> b = {}) noexcept {
    const std::size_t bytes = a.size() + b.size(), wanted = lines_of(bytes), at = sent_ & (lines_ - 1);
    const std::size_t skipped = at + wanted > lines_ ? lines_ - at : 0;
    const std::uint64_t end = sent_ + skipped + wanted;
    if (end >= cached_received_ + lines_) [[unlikely]] {
      cached_received_ = shared_received_.load(
          std::memory_order_acquire);  // acquire: the receiver read those lines before its release
      if (end >= cached_received_ + lines_) return false;
    }
    std::byte* const record = data(sent_ + skipped);
    if (!a.empty()) std::memcpy(record + head, a.data(), a.size());
    if (!b.empty()) std::memcpy(record + head + a.size(), b.data(), b.size());
    reinterpret_cast<std::uint64_t*>(record)[1] = type;
    word(end).store(0, std::memory_order_relaxed);
    if (skipped != 0) {
      word(sent_ + skipped).store(bytes + 1, std::memory_order_relaxed);
      word(sent_).store(wrap_marker, std::memory_order_release);
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
  /// Calls `deliver(type, bytes)` for each record; the bytes are aligned to 16, and valid during the call.
  /// \returns whether there was any
  template <typename Deliver>
  bool take(const Deliver& deliver) {
    const std::uint64_t begin = received_.load(std::memory_order_relaxed);
    std::uint64_t at = begin, published = begin;
    while (at < begin + lines_) {  // at most once around, so that rings of other ranks are polled, too
      const std::uint64_t size = word(at).load(std::memory_order_acquire);
      if (size == 0) break;
      if (size == wrap_marker) {
        at += lines_ - (at & (lines_ - 1));
        continue;
      }
      const std::byte* const record = data(at);
      at += lines_of(size - 1);
      deliver(reinterpret_cast<const std::uint64_t*>(record)[1],
              std::span<const std::byte>(record + head, static_cast<std::size_t>(size - 1)));
      received_.store(at, std::memory_order_relaxed);
      if (at - published > lines_ / 4) shared_received_.store(published = at, std::memory_order_release);
    }
    if (at == begin) return false;
    received_.store(at, std::memory_order_relaxed);
    shared_received_.store(at, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t head = 16;
  static constexpr std::uint64_t wrap_marker = UINT64_MAX;

  static std::size_t lines_of(std::size_t bytes) noexcept { return (head + bytes + line - 1) / line; }
  std::byte* data(std::uint64_t at) const noexcept { return first_ + (at & (lines_ - 1)) * line; }
  std::atomic<std::uint64_t>& word(std::uint64_t at) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(data(at));
  }

  std::atomic<std::uint64_t>& shared_received_;  // lines; in shared memory, written by the receiver
  std::byte* const first_;
  const std::size_t lines_;                // a power of two
  alignas(apart) std::uint64_t sent_ = 0;  // lines; used by the sender alone
  std::uint64_t cached_received_ = 0;      // the sender's last load of shared_received_
  // Lines; written by the receiver's polling thread, read also by other threads of its rank (`empty`). Published in
  // shared_received_ after each quarter of the ring, so that the sender's cache line is seldom written.
  alignas(apart) std::atomic<std::uint64_t> received_{0};
};

}  // namespace taskgrain::rt::detail
