#pragma once

/// The part of a sequence that several ranks need: it knows which rank has which bytes, and sends them by messages.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sequence/body.hpp"
#include "sequence/holders.hpp"
#include "sequence/registry.hpp"
#include "sequence/repeats.hpp"
#include "taskgrain/rt/communicator.hpp"

namespace taskgrain::rt::detail {

/// Bytes that come before or after the task that waits for them. Those from one rank are numbered.
class Arrivals {
 public:
  /// \param hash  of all that the sender was given before: where it differs, the ranks have other tasks
  using Arrived = std::function<void(std::uint64_t hash, std::span<const std::byte> bytes)>;

  /// The tasks that a rank was given until it waits, as a hash, and what ranks compare of them.
  struct Given {
    std::uint64_t hash;                 // of all
    std::string thrown;                 // by the last body that has thrown since the wait before; empty: none has
    std::vector<std::uint64_t> traces;  // numbers of the first calls of `trace` since then
  };

  /// Calls `arrived` when the bytes are there, perhaps at once; or never, after `forget`.
  void take(int from, std::uint64_t number, Arrived arrived);
  /// Compares what this rank, and the one before it, were given until the wait of this number. The first call of the
  /// two keeps it; the second fails all ranks if they differ.
  /// \param rank  the one that was given it: this one, or the one before
  void compare(Messages& messages, std::uint64_t wait, int rank, Given given);
  void put(int from, std::uint64_t number, std::uint64_t hash, std::span<const std::byte> bytes);
  void forget() noexcept;

 private:
  using Key = std::pair<int, std::uint64_t>;
  std::mutex mutex_;  // protects the members, and what a task of the sequence is told
  std::map<std::uint64_t, std::pair<int, Given>> waits_;
  std::map<Key, Arrived> expected_;
  std::map<Key, std::pair<std::uint64_t, std::vector<std::byte>>> early_;
};

class AcrossRanks {
 public:
  explicit AcrossRanks(Communicator& communicator, const std::string& name);
  ~AcrossRanks() { arrivals_->forget(); }
  AcrossRanks(const AcrossRanks&) = delete;
  AcrossRanks& operator=(const AcrossRanks&) = delete;

  Communicator& communicator() noexcept { return communicator_; }
  int rank() const noexcept { return communicator_.rank(); }
  int ranks() const noexcept { return communicator_.ranks(); }

  // -- by the thread that gives tasks

  /// Data is made: its bytes on its rank are the ones that count, or the bytes of any rank if it has none.
  void make(const DataRegistry& registry, std::uint32_t index);
  struct Task {
    int rank;
    const std::string& name;
  };
  /// A task is given. \returns what has to come to its rank
  /// \throws UsageError  that cannot be copied
  std::vector<Transfer> enter(const DataRegistry& registry, std::span<const Access> accesses, const Task& task);
  /// A body is given, which runs at least once.
  /// \param at  null, or what has to come before each task, in each iteration; the same for bodies that are alike
  /// \returns what has to come before all, once
  std::vector<Transfer> enter(const DataRegistry& registry, const Body& body, std::vector<std::vector<Transfer>>* at);
  /// True if all is as the iterations of this graph leave it, so that another iteration changes nothing, and lacks
  /// nothing.
  bool is_as_left_by(const void* graph) const noexcept { return graph != nullptr && left_by_ == graph; }
  void leave(const void* graph) noexcept { left_by_ = graph; }
  /// Notes what is given, so that ranks that were given other tasks are found.
  void note(std::uint64_t what) noexcept { hash_ = mixed(hash_, what); }
  void note(const DataRegistry& registry, std::span<const Access> accesses, int rank) noexcept;
  /// A trace of this number is given.
  void note_trace(std::uint64_t id);
  /// The body of a loop or a trace has thrown what is being handled.
  void note_thrown();
  /// Tells another rank what this one was given. All ranks that wait call it. Those that were given other tasks fail,
  /// before they wait for what never comes.
  void compare();
  /// Compares at once what all ranks were given. All ranks call it. \throws UsageError  some were given other tasks
  void agree(const std::string& what);
  /// The function of the task that sends, or that ends when the bytes have come.
  /// \param owners  of the memory, if it may go
  /// \param ended   of that task, if it receives
  std::function<void()> function(const Transfer& transfer, std::vector<std::shared_ptr<void>> owners,
                                 std::function<void()> ended);
  void forget() noexcept { arrivals_->forget(); }

 private:
  static void enter(Holders& holders, const DataRegistry& registry, std::span<const Access> accesses, const Task& task,
                    std::vector<Transfer>& transfers, Transfer* first = nullptr);

  Communicator& communicator_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();  // messages may come later
  const ActiveMessage<int, std::uint64_t, std::uint64_t, view<const std::byte>> message_;
  const ActiveMessage<std::uint64_t, std::uint64_t, std::string, view<const std::uint64_t>> wait_;
  Holders holders_;
  const void* left_by_ = nullptr;  // the graph that holders_ is as left by; null: none
  std::uint64_t hash_ = 0, waits_ = 0;
  std::string thrown_;                            // as in Given
  std::vector<std::uint64_t> traces_;             // the same
  std::map<int, std::uint64_t> sent_, received_;  // transfers, by the other rank
};

}  // namespace taskgrain::rt::detail
