#pragma once

/// A transport between simulated ranks of one thread. A seed decides when something arrives, in which order, and how
/// the body of a large packet travels. What a rank sends may stay with it until it polls. A rank that has crashed sends
/// nothing more, and of what it has sent some is lost.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/messenger.hpp"
#include "comm/transport.hpp"
#include "rt/comm/fiber.hpp"
#include "rt/comm/simulated_persistent.hpp"
#include "rt/stress.hpp"
#include "taskgrain/rt/detail/messages.hpp"

namespace taskgrain::rt {

/// Memory of one rank, which those of its host see.
class SimulatedMemory final : public detail::SharedMemory {
 public:
  /// \param hosts  of each rank
  SimulatedMemory(const std::vector<int>& hosts, int rank, std::string& violation)
      : hosts_(hosts), rank_(rank), violation_(violation) {}
  ~SimulatedMemory() {
    for (std::byte* const piece : all_) ::operator delete(piece, aligned);
  }
  SimulatedMemory(const SimulatedMemory&) = delete;
  SimulatedMemory& operator=(const SimulatedMemory&) = delete;

  std::byte* allocate(std::size_t bytes) override {
    auto* const piece = static_cast<std::byte*>(::operator new(bytes, aligned));
    all_.push_back(piece);
    pieces_.emplace(piece, bytes);
    return piece;
  }
  void release(const std::byte* piece) noexcept override {
    const auto found = pieces_.find(piece);
    if (found == pieces_.end()) {
      violation_ = "a piece of the shared memory is released that is none";
      return;
    }
    // It stays, and is something else: who still reads it is noticed.
    std::fill_n(const_cast<std::byte*>(piece), found->second, std::byte{0xdd});
    released_.emplace_back(piece, found->second);
    pieces_.erase(found);
  }
  // All of them are in one process.
  std::size_t offset(const std::byte* piece) const noexcept override { return reinterpret_cast<std::uintptr_t>(piece); }
  std::byte* at(int rank, std::size_t offset) const noexcept override {
    if (!shared_with(rank)) violation_ = "memory of another host is used";
    return reinterpret_cast<std::byte*>(offset);
  }
  bool shared_with(int rank) const noexcept override {
    return hosts_[static_cast<std::size_t>(rank)] == hosts_[static_cast<std::size_t>(rank_)];
  }

  bool holds(std::span<const std::byte> bytes) const {
    const auto after = pieces_.upper_bound(bytes.data());
    if (after == pieces_.begin()) return false;
    const auto& [piece, size] = *std::prev(after);
    return bytes.data() + bytes.size() <= piece + size;
  }
  bool empty() const { return pieces_.empty(); }
  /// Whether nobody has written to what is released.
  bool is_untouched() const {
    return std::ranges::all_of(released_, [](std::span<const std::byte> piece) {
      return std::ranges::all_of(piece, [](std::byte byte) { return byte == std::byte{0xdd}; });
    });
  }

 private:
  static constexpr std::align_val_t aligned{128};
  const std::vector<int>& hosts_;
  const int rank_;
  std::string& violation_;
  std::map<const std::byte*, std::size_t> pieces_;
  std::vector<std::span<const std::byte>> released_;
  std::vector<std::byte*> all_;
};

/// What is between the ranks.
class SimulatedNetwork {
 public:
  using Receiver = detail::Transport::Receiver;

  SimulatedNetwork(int ranks, Dice& dice, std::string& violation)
      : most_bytes(chance(dice, 2) ? 700 : 1400), dice_(dice), violation_(violation), jams_(chance(dice, 2)),
        holds_up_(chance(dice, 4)), order_(static_cast<Order>(dice.below(5))),
        most_taken_(1 + static_cast<int>(dice.below(6))), persistent_(dice, violation) {
    const std::uint64_t hosts = dice.below(3);  // one, two, or one for each rank
    for (int r = 0; r < ranks; ++r) hosts_.push_back(hosts == 2 ? r : static_cast<int>(dice.below(hosts + 1)));
    for (int r = 0; r < ranks; ++r) ranks_.push_back(std::make_unique<Rank>(hosts_, r, violation));
  }

  const std::size_t most_bytes;  ///< of a packet
  /// What other threads and ranks do while a rank sends a packet of its user, which is on its way already.
  std::function<void(int from)> meanwhile;

  // -- for the world

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// The rank crashes in the middle of what it does, when it has sent so many packets more.
  void crash_after(int r, int packets) { rank(r).sends_left = packets; }
  bool crashed(int r) const { return ranks_[static_cast<std::size_t>(r)]->crashed; }
  bool left(int r) const { return ranks_[static_cast<std::size_t>(r)]->left; }
  void crash(int r) {
    rank(r).crashed = true;
    rank(r).kept.clear();
    const int lost_of_four = static_cast<int>(dice_.below(5));
    for (const auto& other : ranks_)
      std::erase_if(other->coming, [&](const Packet& packet) {
        return packet.from == r && static_cast<int>(dice_.below(4)) < lost_of_four;
      });
  }
  /// `to` hears that the rank is gone.
  void lose(int to, int r, const std::string& why) {
    Rank& its = rank(to);
    std::erase_if(its.coming, [&](const Packet& packet) { return packet.from == r; });
    if (its.receiver != nullptr) its.receiver->lost(r, why);
  }
  const std::string& failure_reason(int r) const { return ranks_[static_cast<std::size_t>(r)]->failure_reason; }
  /// The user of the rank frees what was to be read or written.
  void settle(int r) { rank(r).settled = true; }
  bool memory_is_free(int r) const { return ranks_[static_cast<std::size_t>(r)]->memory.empty(); }
  bool memory_is_untouched(int r) const { return ranks_[static_cast<std::size_t>(r)]->memory.is_untouched(); }
  bool is_quiet() const {
    return persistent_.is_quiet() && std::ranges::none_of(ranks_, [](const auto& one) { return has_anything(*one); });
  }

 private:
  friend class SimulatedTransport;

  enum Order { at_random, oldest_first, newest_first, users_first, own_first };

  struct Packet {
    enum Type { small, large, taken };
    int from, to;
    Type type;
    std::vector<std::byte> bytes;  ///< small
    std::uint64_t id;              ///< of the large one
    bool held_up;                  ///< for much longer than others
    std::size_t memory() const { return sizeof *this + bytes.size(); }
  };
  struct Large {
    int from, to;
    std::vector<std::byte> head;
    std::span<const std::byte> body;
    void* token;                  ///< of the sender
    std::vector<std::byte> copy;  ///< if the sender has its body back before it has arrived
    bool is_copied;
    Receiver::Place place{};
    std::size_t there = 0;  ///< bytes
  };
  struct Rank {
    Rank(const std::vector<int>& hosts, int rank, std::string& violation) : memory(hosts, rank, violation) {}
    SimulatedMemory memory;
    Receiver* receiver = nullptr;
    std::function<void(const Packet&, bool is_kept)> count;  ///< one is kept, or goes
    std::vector<Packet> coming;                              ///< to this rank
    std::vector<Packet> kept;                                ///< from it
    std::vector<std::uint64_t> placed;                       ///< large ones whose bodies come
    std::vector<std::uint64_t> reusable;                     ///< of this rank, which has not heard of it
    std::string failure_reason;
    int sends_left = -1, looks = 0;
    bool crashed = false, abandoned = false, settled = false, left = false;
  };

  static bool chance(Dice& dice, int n) { return dice.below(static_cast<std::uint64_t>(n)) == 0; }
  bool chance(int n) { return chance(dice_, n); }
  Rank& rank(int r) { return *ranks_[static_cast<std::size_t>(r)]; }

  void post(Packet packet) {
    Rank& from = rank(packet.from);
    if (from.crashed || rank(packet.to).left) return;
    if (from.sends_left >= 0 && from.sends_left-- == 0) return crash(packet.from);
    const bool is_users = of_user(packet);
    const int r = packet.from;
    if (jams_ && chance(from.kept.empty() ? 8 : 2)) {
      from.count(packet, true);
      from.kept.push_back(std::move(packet));
    } else {
      rank(packet.to).coming.push_back(std::move(packet));
    }
    if (is_users) meanwhile(r);
  }
  void send_kept(Rank& of, bool all) {
    while (!of.kept.empty() && (all || !chance(3))) {
      Packet packet = take(of.kept, dice_.below(of.kept.size()));
      of.count(packet, false);
      if (!rank(packet.to).left) rank(packet.to).coming.push_back(std::move(packet));
    }
  }
  static Packet take(std::vector<Packet>& from, std::size_t k) {
    Packet packet = std::move(from[k]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(k));
    return packet;
  }
  static bool of_user(const Packet& packet) {
    std::uint32_t kind = 0;
    if (packet.type == Packet::small) std::memcpy(&kind, packet.bytes.data(), sizeof kind);
    return packet.type != Packet::taken && kind < 0xffffff00;
  }
  /// \returns which one arrives next; their number if none does
  std::size_t next(const std::vector<Packet>& coming) {
    const auto random = [&] { return dice_.below(coming.size()); };
    std::size_t best = random();
    if (order_ == oldest_first && !chance(4)) best = 0;
    if (order_ == newest_first && !chance(4)) best = coming.size() - 1;
    if (order_ == users_first || order_ == own_first) {
      for (int k = 0; k < 2 && of_user(coming[best]) != (order_ == users_first); ++k) best = random();
      if (of_user(coming[best]) != (order_ == users_first) && !chance(4)) return coming.size();
    }
    return coming[best].held_up && !chance(16) ? coming.size() : best;
  }

  static bool has_anything(const Rank& me) {
    return !(me.coming.empty() && me.kept.empty() && me.placed.empty() && me.reusable.empty());
  }
  bool anything(int r) const { return has_anything(*ranks_[static_cast<std::size_t>(r)]) || !persistent_.is_quiet(); }
  bool poll(int r, Receiver& receiver) {
    Rank& me = rank(r);
    bool any = persistent_.poll(r, receiver);
    send_kept(me, false);
    for (int k = 0; k < most_taken_ && !me.coming.empty(); ++k) {
      const std::size_t best = ++me.looks % 64 == 0 ? 0 : next(me.coming);  // nothing waits for ever
      if (best == me.coming.size()) continue;
      any = true;
      deliver(me, receiver, take(me.coming, best));
    }
    for (std::size_t k = me.placed.size(); k-- > 0;)
      if (chance(2)) go_on(me, receiver, k);
    for (std::size_t k = me.reusable.size(); k-- > 0;)
      if (chance(2)) {
        const std::uint64_t id = me.reusable[k];
        me.reusable.erase(me.reusable.begin() + static_cast<std::ptrdiff_t>(k));
        if (!me.abandoned) receiver.reusable(std::exchange(larges_.at(id).token, nullptr));
      }
    return any;
  }
  void deliver(Rank& me, Receiver& receiver, const Packet& packet) {
    if (packet.type == Packet::small) return receiver.packet(packet.from, packet.bytes);
    if (me.abandoned) return;
    Large& large = larges_.at(packet.id);
    if (packet.type == Packet::taken) return receiver.reusable(std::exchange(large.token, nullptr));
    if (!large.is_copied && (rank(large.from).abandoned || rank(large.from).crashed)) return;
    if (!large.is_copied && rank(large.from).memory.shared_with(large.to) &&
        rank(large.from).memory.holds(large.body)) {
      touch(large);
      if (receiver.take_in_place(packet.from, large.head, large.body)) return arrived(large, packet.id);
    }
    large.place = receiver.place(packet.from, large.head, large.body.size());
    me.placed.push_back(packet.id);
    if (chance(2)) go_on(me, receiver, me.placed.size() - 1);
  }
  /// Some of a body that has been placed arrives.
  void go_on(Rank& me, Receiver& receiver, std::size_t which) {
    const std::uint64_t id = me.placed[which];
    Large& large = larges_.at(id);
    const Rank& from = rank(large.from);
    if (me.abandoned || (!large.is_copied && (from.abandoned || from.crashed || from.left))) return;
    const std::size_t left = large.body.size() - large.there, some = chance(2) ? left : dice_.below(left + 1);
    if (some > 0) {
      touch(large);
      const std::byte* const body = large.is_copied ? large.copy.data() : large.body.data();
      std::memcpy(large.place.to + large.there, body + large.there, some);
    }
    large.there += some;
    if (large.there < large.body.size()) return;
    me.placed.erase(me.placed.begin() + static_cast<std::ptrdiff_t>(which));
    receiver.arrived(large.from, std::exchange(large.place.token, nullptr));
    arrived(large, id);
  }
  void arrived(Large& large, std::uint64_t id) {
    if (!large.is_copied) post({large.to, large.from, Packet::taken, {}, id, holds_up_ && chance(8)});
  }
  void touch(const Large& large) {
    if (rank(large.to).settled || (!large.is_copied && rank(large.from).settled))
      violation_ = "a body is read or written after its rank has settled a failure";
  }

  void send_large(int from, int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) {
    const std::uint64_t id = larges_.size();
    Large& large = larges_[id] = {from, to, {head.begin(), head.end()}, body, token, {}, chance(4)};
    if (large.is_copied) {
      large.copy.assign(body.begin(), body.end());
      rank(from).reusable.push_back(id);
    }
    post({from, to, Packet::large, {}, id, holds_up_ && chance(8)});
  }
  /// Whether nothing of the rank's is needed by others that are there.
  bool flushed(int r) const {
    const Rank& me = *ranks_[static_cast<std::size_t>(r)];
    return me.kept.empty() && std::ranges::none_of(larges_, [&](const auto& each) {
             const Large& large = each.second;
             return large.from == r && large.token != nullptr && !ranks_[static_cast<std::size_t>(large.to)]->left;
           });
  }
  /// Nobody calls the user any more: what is still here ends.
  void leave(int r) {
    Rank& me = rank(r);
    me.left = true;
    if (me.receiver == nullptr) return;
    for (auto& [id, large] : larges_) {
      if (large.from == r && large.token != nullptr) me.receiver->drop(std::exchange(large.token, nullptr));
      if (large.to == r && large.place.token != nullptr) me.receiver->drop(std::exchange(large.place.token, nullptr));
    }
    me.coming.clear();
    me.receiver = nullptr;
  }

  Dice& dice_;
  std::string& violation_;
  std::vector<int> hosts_;  ///< by rank
  const bool jams_, holds_up_;
  const Order order_;
  const int most_taken_;  ///< by a poll
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<std::uint64_t, Large> larges_;
  SimulatedPersistent persistent_;
};

class SimulatedTransport final : public detail::Transport {
 public:
  SimulatedTransport(SimulatedNetwork& network, int rank) : network_(network), rank_(rank) {
    network_.rank(rank).count = [this](const SimulatedNetwork::Packet& packet, bool is_kept) {
      is_kept ? count_queued(packet.to, packet.memory()) : count_sent(packet.to, packet.memory());
    };
  }

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return network_.ranks(); }
  const char* name() const noexcept override { return "simulated"; }
  std::size_t most_bytes() const noexcept override { return network_.most_bytes; }
  void send(int to, std::span<const std::byte> packet) override {
    network_.post({rank_,
                   to,
                   SimulatedNetwork::Packet::small,
                   {packet.begin(), packet.end()},
                   0,
                   network_.holds_up_ && network_.chance(8)});
  }
  void send_large(int to, std::span<const std::byte> head, std::span<const std::byte> body, void* token) override {
    network_.send_large(rank_, to, head, body, token);
  }
  /// A call that blocks shall not sleep: other ranks go on when it polls.
  bool anything() const noexcept override { return Fiber::inside() || network_.anything(rank_); }
  std::atomic<std::uint32_t>* doorbell() noexcept override { return &doorbell_; }
  void announce_failure(const std::string& words) noexcept override { network_.rank(rank_).failure_reason = words; }
  /// Who waits asks this between its polls, so here other ranks go on.
  bool may_poll() const noexcept override {
    Fiber::give_way();
    return true;
  }
  bool oversubscribed() const noexcept override { return true; }
  detail::SharedMemory* shared_memory() noexcept override {
    const auto& hosts = network_.hosts_;
    return std::ranges::count(hosts, hosts[static_cast<std::size_t>(rank_)]) > 1 ? &network_.rank(rank_).memory
                                                                                 : nullptr;
  }
  int persistent_tags(int count) override { return network_.persistent_.numbers(calls_++, count); }
  std::unique_ptr<detail::PersistentMessage> persistent(detail::PersistentMessage::Plan plan) override {
    return network_.persistent_.make(rank_, std::move(plan));
  }
  void start_persistent() noexcept override { network_.persistent_.start(rank_); }
  detail::PersistentCounts persistent_counts(int rank) noexcept override {
    return network_.persistent_.counts(rank_, rank);
  }
  void watch(Receiver& receiver) override { network_.rank(rank_).receiver = &receiver; }
  bool poll(Receiver& receiver) override { return network_.poll(rank_, receiver); }
  bool all_sent() noexcept override { return network_.rank(rank_).kept.empty(); }
  bool flush(Receiver& receiver) override {
    if (std::uncaught_exceptions() == 0) Fiber::give_way();
    network_.poll(rank_, receiver);
    network_.send_kept(network_.rank(rank_), true);
    return network_.flushed(rank_);
  }
  void abandon() noexcept override { network_.rank(rank_).abandoned = true; }
  void leave() noexcept override { network_.leave(rank_); }

 private:
  SimulatedNetwork& network_;
  const int rank_;
  std::size_t calls_ = 0;  ///< of persistent_tags
  std::atomic<std::uint32_t> doorbell_{0};
};

/// The communicator of a simulated rank. One that is alone has no transport.
class SimulatedCommunicator final : public Communicator {
 public:
  SimulatedCommunicator(SimulatedNetwork& network, int rank, const CommunicatorOptions& options = {})
      : Communicator(std::make_unique<detail::Messenger>(
            network.ranks() > 1 ? std::make_unique<SimulatedTransport>(network, rank) : nullptr, options)) {}
  detail::Messenger& messenger() { return static_cast<detail::Messenger&>(messages()); }
};

}  // namespace taskgrain::rt
