#pragma once

/// MpiMessage: one message of MPI that carries several packets. Each packet is
///
///     [ header | packet, or head of a large packet | body, if the protocol is eager ]
///
/// and each part is padded to 16 bytes.

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
    small,           ///< a small packet
    eager,           ///< a large packet, with its body behind it
    rendezvous,      ///< a large packet, whose body comes in messages with `tag`
    failure_reason,  ///< a text: why the sender fails
    leaves,          ///< the last of the sender; `body` is the number of messages that it has sent, with this one
  };
  std::uint32_t bytes;  ///< of the small packet, or of the head of the large one
  Protocol protocol;
  std::uint16_t tag;
  std::uint64_t body;  ///< bytes of the body
};
static_assert(sizeof(PacketHeader) == 16);

constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 15) / 16 * 16; }

struct MpiMessage {
  /// Large enough that many packets share the cost of one message, small enough that many messages fit into a cache.
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

/// An intrusive queue of messages.
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

/// Free messages, for reuse. From any thread.
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
  /// The most free messages, so that memory of a burst is freed after it.
  static constexpr std::size_t most_ = 256;

  SpinLock lock_;
  MpiMessageList free_;
  std::size_t number_ = 0;
};

}  // namespace taskgrain::rt::detail
