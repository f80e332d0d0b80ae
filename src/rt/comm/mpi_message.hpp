#pragma once

/// A message of MPI with several packets, each of them
///
///     [ header | packet | body, if it travels along ]
///
/// and each part padded to 16 bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "spin_lock.hpp"

namespace taskgrain::rt::detail {

struct PacketHeader {
  enum Protocol : std::uint16_t {
    small,           ///< a packet
    eager,           ///< a large one, with its body behind it
    rendezvous,      ///< a large one, whose body comes in messages with `tag`
    failure_reason,  ///< why the sender ends
    leaves,          ///< nothing comes from the sender any more
  };
  std::uint32_t bytes;  ///< of the packet, or of the head of a large one
  Protocol protocol;
  std::uint16_t tag;
  std::uint64_t body;  ///< bytes
};
static_assert(sizeof(PacketHeader) == 16);

constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

struct MpiMessage {
  /// Large enough that the cost of a message is spread over many packets, small enough that many of them fit into a
  /// cache.
  static constexpr std::size_t capacity = 8192;
  static constexpr std::size_t most_bytes = capacity - sizeof(PacketHeader);

  alignas(64) std::byte bytes[capacity];
  std::size_t used = 0;
  MpiMessage* next = nullptr;

  /// \pre there is room
  void append(const PacketHeader& header, std::span<const std::byte> packet,
              std::span<const std::byte> body = {}) noexcept {
    std::memcpy(bytes + used, &header, sizeof header);
    used += sizeof header;
    for (const auto part : {packet, body}) {
      if (!part.empty()) std::memcpy(bytes + used, part.data(), part.size());
      used += padded(part.size());
    }
  }
};

/// Messages, first in, first out.
class MpiMessageList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void push(MpiMessage* message) noexcept {
    message->next = nullptr;
    (empty() ? first_ : last_->next) = message;
    last_ = message;
  }
  /// \returns null if it is empty
  MpiMessage* pop() noexcept { return empty() ? nullptr : std::exchange(first_, first_->next); }

 private:
  MpiMessage* first_ = nullptr;
  MpiMessage* last_ = nullptr;
};

/// Messages that nobody uses. From any thread.
class MpiMessagePool {
 public:
  MpiMessagePool() = default;
  ~MpiMessagePool() {
    while (MpiMessage* message = free_.pop()) delete message;
  }
  MpiMessagePool(const MpiMessagePool&) = delete;
  MpiMessagePool& operator=(const MpiMessagePool&) = delete;

  /// An empty one.
  MpiMessage* take() {
    {
      const std::scoped_lock guard(lock_);
      if (MpiMessage* message = free_.pop()) {
        --number_;
        message->used = 0;
        return message;
      }
    }
    return new MpiMessage;
  }
  void give_back(MpiMessage* message) noexcept {
    {
      const std::scoped_lock guard(lock_);
      if (number_ < most_) {
        ++number_;
        free_.push(message);
        return;
      }
    }
    delete message;
  }

 private:
  /// What a flood needed is not kept for ever.
  static constexpr std::size_t most_ = 256;

  SpinLock lock_;
  MpiMessageList free_;
  std::size_t number_ = 0;
};

}  // namespace taskgrain::rt::detail
