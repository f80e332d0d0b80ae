#pragma once

/// What ranks tell one another of the edges of a graph, the memory that they write to, and who hears it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "rank_edges.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

/// Where the sends of a group begin in a block, behind its counter: in the same cache line, if they fit.
constexpr std::size_t first_offset(std::size_t bytes) {
  constexpr std::size_t line = 64;
  return bytes + 16 <= line ? 16 : line;
}

/// What a message of a graph says. Bytes may follow.
struct RankEdges::Note {
  enum Kind : std::uint32_t {
    arrived,   ///< a group that somebody waits for is there
    credited,  ///< so are credits that somebody waits for
    bytes,     ///< a group, where ranks share no memory
    credit,    ///< likewise
    launch,    ///< where a launch ends
    gone,      ///< the sender writes to the board no more
  } kind;
  std::uint32_t number;    ///< of the group; credit: of the reader; launch: of the launch
  std::int64_t iteration;  ///< over all launches
};

/// Memory of one source: flags of who is parked, credits, blocks. It is there until this rank has ended the graph and
/// the source has, too.
struct RankEdges::Board {
  Board(SharedMemory* from, std::size_t bytes) : shared(from) {
    if (shared != nullptr)
      memory = shared->allocate(bytes);
    else
      own = Blocks(bytes), memory = own.data();
    std::memset(memory, 0, bytes);
  }
  ~Board() {
    if (shared != nullptr) shared->release(memory);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  std::atomic<std::uint32_t>& parked(std::size_t k) const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(memory)[k];
  }
  std::atomic<std::int64_t>& credit(std::size_t reader) const noexcept {
    return *reinterpret_cast<std::atomic<std::int64_t>*>(memory + credits + reader * apart);
  }

  SharedMemory* shared;
  std::byte* memory = nullptr;
  std::size_t credits = 0;  // their offset
  Blocks own;
};

/// What comes for the graph, also when it has ended.
class RankEdges::Mail {
 public:
  Mail(RankEdges& of, std::string graph) : ranks_(of.ranks_), graph_(std::move(graph)), of_(&of) {}

  void hear(int from, Reader& message, const Note& note) {
    const std::lock_guard lock(mutex_);
    if (note.kind == Note::gone)
      boards_.erase(from);
    else if (of_ != nullptr)
      of_->hear(from, message, note);
    else if (note.kind == Note::launch && note.number >= launches_)
      ranks_.fail((graph_ + ": launch " + std::to_string(note.number + 1) + " of rank " + std::to_string(from) +
                   " has come, and this rank has ended the graph after " + std::to_string(launches_) +
                   "; all ranks launch equally often")
                      .c_str());
  }
  /// A repeated message has gone or come.
  template <typename Hear>
  void hear_repeated(const Hear& hear) {
    const std::lock_guard lock(mutex_);
    if (of_ != nullptr) hear(*of_);
  }
  void keep(int from, std::shared_ptr<Board> board) { boards_[from] = std::move(board); }
  void on_resume(std::function<void(int)> resume) {
    const std::lock_guard lock(mutex_);
    resume_ = std::move(resume);
  }
  /// \pre called by `hear`
  void resume(int worker) const {
    if (resume_) resume_(worker);
  }
  /// \param launches  of this rank; UINT32_MAX if others may have launched it more often
  void end(std::uint32_t launches) {
    const std::lock_guard lock(mutex_);
    of_ = nullptr;
    launches_ = launches;
  }

  const MessageKind* kind = nullptr;

 private:
  Messages& ranks_;  // which call this
  const std::string graph_;
  std::mutex mutex_;  // protects the members below
  RankEdges* of_;
  std::uint32_t launches_ = 0;
  std::function<void(int)> resume_;
  std::map<int, std::shared_ptr<Board>> boards_;  // by the rank that writes to them
};

}  // namespace taskgrain::rt::detail
