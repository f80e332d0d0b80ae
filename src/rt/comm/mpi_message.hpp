#pragma once

/// MpiMessage: one message of MPI that carries several packets. Each packet is
///
///     [ header | packet, or head of a large packet | body, if the protocol is eager ]
///
/// and each part is padded to 16 bytes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

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

/// Free messages, for reuse. From any thread.
class MpiMessagePool {
 public:
  MpiMessagePool() { free_.reserve(most); }

  /// An empty one.
  std::unique_ptr<MpiMessage> take() {
    {
      const std::scoped_lock guard(lock_);
      if (!free_.empty()) {
        std::unique_ptr<MpiMessage> message = std::move(free_.back());
        free_.pop_back();
        message->used = 0;
        return message;
      }
    }
    return std::make_unique_for_overwrite<MpiMessage>();
  }
  void give_back(std::unique_ptr<MpiMessage> message) noexcept {
    const std::scoped_lock guard(lock_);
    if (free_.size() < most) free_.push_back(std::move(message));
  }

 private:
  /// The most free messages, so that memory of a burst is freed after it.
  static constexpr std::size_t most = 256;

  SpinLock lock_;
  std::vector<std::unique_ptr<MpiMessage>> free_;
};

}  // namespace taskgrain::rt::detail
