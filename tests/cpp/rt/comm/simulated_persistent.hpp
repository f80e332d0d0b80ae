#pragma once

/// Persistent messages between simulated ranks of one thread, as MPI allows them: a message is read from the slot of
/// the sender at some time after it was started there, and perhaps kept; it is written to that of the receiver at some
/// time after it was started there, too; and each end hears of it at some time after that. From its start until then a
/// slot is MPI's: what the sender writes to it meanwhile is a violation, and the receiver finds other bytes there.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/transport.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt {

class SimulatedPersistent {
 public:
  SimulatedPersistent(Dice& dice, std::string& violation)
      : dice_(dice), violation_(violation), slow_(2 + dice.below(6)) {}

  /// \param call  which of the rank's calls it is: all ranks are given the same
  int numbers(std::size_t call, int count) {
    if (given_.size() == call) given_.push_back(std::exchange(next_, next_ + count));
    return given_[call];
  }
  std::unique_ptr<detail::PersistentMessage> make(int rank, detail::PersistentMessage::Plan plan) {
    const int from = plan.sends ? rank : plan.rank, to = plan.sends ? plan.rank : rank;
    Pair& pair = pairs_[{from, to, plan.tag}];
    std::optional<End>& end = plan.sends ? pair.sender : pair.receiver;
    const bool hears_early = plan.sends && chance(2);
    end.emplace(rank, std::move(plan), hears_early);
    return std::make_unique<Handle>(*end);
  }
  /// Something that was allowed is started, or not yet.
  void start(int rank) {
    for_ends(rank, [&](Pair&, End& end) {
      while (end.started < end.allowed && end.started < end.done.load() + end.plan.slot_count && !chance(slow_)) {
        const std::span<std::byte> bytes = slot(end, end.started++);
        if (end.plan.sends)
          end.given.emplace_back(bytes.begin(), bytes.end());
        else
          std::ranges::fill(bytes, std::byte{0xdd});
      }
    });
  }
  /// \returns whether anything has gone or come
  bool poll(int rank, detail::Transport::Receiver& receiver) {
    start(rank);
    for (auto& [key, pair] : pairs_)
      if (pair.sender && pair.receiver) move(pair);
    std::vector<const detail::PersistentMessage::Plan*> done;
    for_ends(rank, [&](Pair& pair, End& end) {
      const std::int64_t most = end.plan.sends && end.hears_early ? pair.read : pair.written;
      if (end.done.load() == most || chance(slow_)) return;
      if (end.plan.sends) {
        if (!std::ranges::equal(slot(end, end.done.load()), end.given.front()))
          violation_ = "a block is written while it is sent";
        end.given.pop_front();
      }
      end.done.store(end.done.load() + 1);
      done.push_back(&end.plan);
    });
    for (const auto* plan : done) receiver.persistent_done(*plan);
    for_ends(rank, [](Pair&, End& end) {
      if (end.is_closed && end.done.load() == end.allowed) end.plan.memory.reset();
    });
    return !done.empty();
  }
  /// Whether all that was allowed has gone and come.
  bool is_quiet() const {
    return std::ranges::all_of(pairs_, [](const auto& each) {
      const auto through = [](const auto& end) { return !end || end->done.load() == end->allowed; };
      return through(each.second.sender) && through(each.second.receiver);
    });
  }
  detail::PersistentCounts counts(int rank, int other) {
    detail::PersistentCounts counts;
    for_ends(rank, [&](Pair&, const End& end) {
      if (end.plan.rank != other) return;
      (end.plan.sends ? counts.sends_allowed : counts.receives_allowed) += static_cast<std::uint64_t>(end.allowed);
      (end.plan.sends ? counts.sends_done : counts.receives_done) += static_cast<std::uint64_t>(end.done.load());
    });
    return counts;
  }

 private:
  struct End {
    End(int of, detail::PersistentMessage::Plan its, bool early) : rank(of), plan(std::move(its)), hears_early(early) {}
    const int rank;
    detail::PersistentMessage::Plan plan;
    const bool hears_early;  ///< sender: as soon as it is read
    std::int64_t allowed = 0, started = 0;
    std::atomic<std::int64_t> done{0};
    std::deque<std::vector<std::byte>> given;  ///< sender: what was in the slots when they were started
    bool is_closed = false;
  };
  struct Pair {
    std::optional<End> sender, receiver;
    std::int64_t read = 0, written = 0;
    int held_up = 0;                             ///< polls
    std::deque<std::vector<std::byte>> between;  ///< read and not written
  };
  class Handle final : public detail::PersistentMessage {
   public:
    explicit Handle(End& end) : PersistentMessage(end.plan.sends), end_(end) {}
    ~Handle() override { end_.is_closed = true; }
    void allow(std::int64_t messages) noexcept override { end_.allowed = messages; }
    std::int64_t allowed() const noexcept override { return end_.allowed; }
    const std::atomic<std::int64_t>& done() const noexcept override { return end_.done; }

   private:
    End& end_;
  };

  bool chance(std::uint64_t n) { return dice_.below(n) == 0; }
  template <typename Body>
  void for_ends(int rank, const Body& body) {
    for (auto& [key, pair] : pairs_)
      for (std::optional<End>* end : {&pair.sender, &pair.receiver})
        if (*end && (*end)->rank == rank) body(pair, **end);
  }
  static std::span<std::byte> slot(const End& end, std::int64_t message) {
    if (end.plan.bytes == 0) return {};
    return {end.plan.slots + static_cast<std::size_t>(message % end.plan.slot_count) * end.plan.stride, end.plan.bytes};
  }
  void move(Pair& pair) {
    if (pair.held_up == 0 && chance(64)) pair.held_up = static_cast<int>(dice_.below(100));
    if (pair.held_up > 0 && --pair.held_up > 0) return;
    while (pair.read < pair.sender->started && !chance(slow_)) {
      const auto bytes = slot(*pair.sender, pair.read++);
      pair.between.emplace_back(bytes.begin(), bytes.end());
    }
    while (pair.written < std::min(pair.read, pair.receiver->started) && !chance(slow_)) {
      std::ranges::copy(pair.between.front(), slot(*pair.receiver, pair.written++).begin());
      pair.between.pop_front();
    }
  }

  Dice& dice_;
  std::string& violation_;
  const std::uint64_t slow_;
  int next_ = 0;
  std::vector<int> given_;                           ///< by call
  std::map<std::tuple<int, int, int>, Pair> pairs_;  ///< by sender, receiver and number
};

}  // namespace taskgrain::rt
