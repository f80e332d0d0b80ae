#pragma once

/// A message that goes from one rank to another again and again, for which everything is made beforehand.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace taskgrain::rt::detail {

/// One end of it. Message n, from 0, goes from slot n mod slots of the sender to that of the receiver. The messages
/// come in their order, and meet nothing else.
///
/// Any thread may destroy an end. What has been allowed still goes or comes, unless the run has failed; until then the
/// slots stay.
class RepeatedMessage {
 public:
  struct Plan {
    bool sends;                     ///< else it receives
    int rank;                       ///< of the other end
    int number;                     ///< of Messages::repeated_numbers; the same at both ends
    std::byte* slots;               ///< not read or written if `bytes` is 0
    std::size_t bytes;              ///< of the message
    std::size_t stride;             ///< from one slot to the next
    std::int64_t slot_count;        ///< of this end
    std::shared_ptr<void> memory;   ///< of the slots: kept for as long as they may be read or written
    std::function<void()> on_done;  ///< another message has gone or come. Called by who polls, also after the end
  };

  explicit RepeatedMessage(bool sends) : sends_(sends) {}
  virtual ~RepeatedMessage() = default;
  RepeatedMessage(const RepeatedMessage&) = delete;
  RepeatedMessage& operator=(const RepeatedMessage&) = delete;

  bool sends() const noexcept { return sends_; }
  /// So many messages may go, as their slots are written; or come, as their slots are read. More than that many slots
  /// wait for those before. From any thread, but by one at a time.
  virtual void allow(std::int64_t messages) noexcept = 0;
  virtual std::int64_t allowed() const noexcept = 0;
  /// So many have gone, and their slots may be written again; or have come.
  virtual const std::atomic<std::int64_t>& done() const noexcept = 0;

 private:
  const bool sends_;
};

/// Of all repeated messages between this rank and another one.
struct RepeatedCounts {
  std::uint64_t sent = 0, gone = 0;      ///< allowed and done, of those that this rank sends
  std::uint64_t expected = 0, come = 0;  ///< and that it receives
};

}  // namespace taskgrain::rt::detail
