#pragma once

/// Active messages between ranks for the edges of a graph (EdgeEndpoint), and the memory that they write
/// (ReceiveWindow).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "taskgrain/rt/detail/messages.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

class RankEdges;

/// Blocks in private memory, for persistent messages.
using OwnBlocks = std::vector<std::byte, ApartAllocator<std::byte>>;

/// The offset of the first send of a group in a block: in the cache line of the counter, if all sends fit into that.
constexpr std::size_t first_offset(std::size_t bytes) {
  constexpr std::size_t line = 64;
  return bytes + 16 <= line ? 16 : line;
}
/// A block begins with its counter.
inline std::atomic<std::int64_t>& counter(std::byte* block) noexcept {
  return *reinterpret_cast<std::atomic<std::int64_t>*>(block);
}

struct EdgeMessage {
  enum Type : std::uint32_t {
    group_arrived,   ///< a parked worker waits for this group, and it is there
    credit_arrived,  ///< a parked worker waits for credits, and there are more
    launch,          ///< the sender launches up to `iteration`
    closed,          ///< the sender has ended the graph, and writes to the window no more
  } type;
  std::uint32_t number;    ///< of the group, or of the launch
  std::int64_t iteration;  ///< launch: its end, counted over all launches
};

/// The memory for the edges from one other rank:   [ parked flags | credits | blocks of each group ].
/// Both ranks access it, so it is freed when both have ended the graph.
struct ReceiveWindow {
  ReceiveWindow(SharedMemory* from, std::size_t bytes) : shared(from) {
    if (shared != nullptr)
      memory = shared->allocate(bytes);
    else
      own = OwnBlocks(bytes), memory = own.data();
    std::memset(memory, 0, bytes);
  }
  ~ReceiveWindow() {
    if (shared != nullptr) shared->release(memory);
  }
  ReceiveWindow(const ReceiveWindow&) = delete;
  ReceiveWindow& operator=(const ReceiveWindow&) = delete;

  std::atomic<std::uint32_t>& parked(std::size_t k) const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(memory)[k];
  }
  std::atomic<std::int64_t>& credit(std::size_t reader) const noexcept {
    return *reinterpret_cast<std::atomic<std::int64_t>*>(memory + credits + reader * apart);
  }

  SharedMemory* shared;
  std::byte* memory = nullptr;
  std::size_t credits = 0;  // their offset
  OwnBlocks own;
};

/// Sends and receives the active messages of a graph. The communicator owns a reference, because messages may come
/// after the graph has ended.
class EdgeEndpoint : public std::enable_shared_from_this<EdgeEndpoint> {
 public:
  EdgeEndpoint(Messages& ranks, std::string graph);
  /// Registers the kind of message. All ranks call it, once.
  void open(RankEdges& of);

  void send(int rank, const EdgeMessage& what);
  /// Calls `call` unless the graph has ended. PersistentMessage::Plan::on_done uses it.
  template <typename Call>
  void if_open(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (of_ != nullptr) call();
  }
  /// Keeps the window until the rank has sent `closed`.
  void keep(int from, std::shared_ptr<ReceiveWindow> window) { windows_[from] = std::move(window); }
  void on_resume(std::function<void(int)> resume) {
    const std::lock_guard lock(mutex_);
    resume_ = std::move(resume);
  }
  /// \pre called by `receive` or `if_open`
  void resume(const std::vector<int>& workers) const {
    if (!resume_) return;
    for (const int worker : workers) resume_(worker);
  }
  /// \param launches  of this rank; UINT32_MAX if others may have launched it more often
  void close(std::uint32_t launches);
  /// Fails all ranks, because the rank has made a launch after those that this rank has made. \pre closed
  void fail_after_end(int rank, std::uint32_t launch);

 private:
  void receive(int from, Reader& message);

  Messages& ranks_;
  const std::string graph_;
  const MessageKind* kind_ = nullptr;
  std::mutex mutex_;  // protects the members below
  RankEdges* of_ = nullptr;
  std::uint32_t launches_ = 0;
  std::function<void(int)> resume_;
  std::map<int, std::shared_ptr<ReceiveWindow>> windows_;  // by the rank that writes to them
};

}  // namespace taskgrain::rt::detail
