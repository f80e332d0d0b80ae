#pragma once

/// Ranks that use the real Counting in a world in which a seed decides what happens next. Packets are delayed,
/// reordered and, if they are Counting's, repeated; ranks are slow, begin late, and stop for ever.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/counting.hpp"
#include "rt/stress.hpp"

namespace taskgrain::rt {

/// What is wrong with the caller of Counting. The simulation must notice.
enum class Fault {
  none,
  flag_of_another_time,   ///< the rank was idle at some time since it began to wait; the counts are of now
  counts_before_the_ask,  ///< the counts are of a moment when the rank was idle, but before the last `receive`
  counters_of_32_bits,
  helpers_not_counted,      ///< messages of threads that are no workers
  devices_forgotten,        ///< a rank is idle though a device has its task
  processed_before_effects  ///< a message is counted as processed before it is handled, and a handler is no work
};

struct FaultName {
  Fault fault;
  const char* name;
};
inline constexpr FaultName fault_names[] = {{Fault::flag_of_another_time, "flag_of_another_time"},
                                            {Fault::counts_before_the_ask, "counts_before_the_ask"},
                                            {Fault::counters_of_32_bits, "counters_of_32_bits"},
                                            {Fault::helpers_not_counted, "helpers_not_counted"},
                                            {Fault::devices_forgotten, "devices_forgotten"},
                                            {Fault::processed_before_effects, "processed_before_effects"}};

struct SimulationSize {
  int most_ranks = 9;
  int epochs = 3;
};

/// What became of one schedule.
struct Simulated {
  std::string violation;  ///< empty if there is none
  int epochs = 0;         ///< that ended
  std::uint64_t user_messages = 0, counting_messages = 0;
};

class SimulatedRanks {
 public:
  SimulatedRanks(std::uint64_t seed, Fault fault, SimulationSize size = {})
      : dice_(seed), fault_(fault), epochs_(size.epochs) {
    const int ranks = 1 + below(chance(2) ? std::min(3, size.most_ranks) : size.most_ranks);
    crashes_ = chance(16) && fault == Fault::none ? 1 + below(400) : -1;
    numbers_ = chance(2);
    repeats_ = chance(4);
    holds_up_ = chance(4);
    changes_ = chance(2);
    change_network();
    slow_ = chance(2) ? below(ranks) : -1;
    generosity_ = 1 + below(3);
    ended_.resize(static_cast<std::size_t>(epochs_) + 2);
    ranks_.reserve(static_cast<std::size_t>(ranks));
    std::vector<std::uint64_t> first(static_cast<std::size_t>(ranks));
    // Counts of years: close to where 32 bits end, and what some have queued, others have processed.
    for (auto& counts : first) counts = chance(2) ? (std::uint64_t{1} << (31 + below(2))) - dice_.below(8) : 0;
    for (int r = 0; r < ranks; ++r) {
      ranks_.emplace_back(r, ranks);
      ranks_.back().queued = first[static_cast<std::size_t>(r)];
      ranks_.back().processed = first[static_cast<std::size_t>((r + 1) % ranks)];
      ranks_.back().to_insert = below(4);
    }
  }

  Simulated run() {
    // A world without news for so long has come to its end: each rank has looked at itself many times since.
    const int patience = 400 * static_cast<int>(ranks_.size());
    for (int quiet = 0; quiet < patience && result_.violation.empty() && !all_through(); ++quiet) {
      if (crashes_ >= 0 && crashes_-- == 0) crash(below(static_cast<int>(ranks_.size())));
      if (changes_ && chance(64)) change_network();
      if (!packets_.empty() && below(8) < deliveries_) {
        deliver();
        quiet = 0;
      } else if (step(some_rank(quiet < patience / 4))) {
        quiet = 0;
      }
    }
    if (result_.violation.empty() && !all_through() && crashed_ < 0)
      violated("nothing happens any more, and not all ranks have heard of the end of their epoch");
    return std::move(result_);
  }

 private:
  using CountingMessage = detail::CountingMessage;

  enum Order { any, newest_first, user_first, counting_first };

  /// A user message, a task, or a thread that holds the rank. Messages that may still follow from it are in `budget`.
  struct Work {
    int epoch, budget;
    bool counted = true;
  };
  struct Packet {
    int from, to;
    std::optional<CountingMessage> counting;
    Work user;
    bool held_up;  ///< for much longer than others
  };
  struct Seen {
    std::uint64_t queued, processed;
    bool stuck;
    std::uint64_t heard;  ///< packets for Counting, so far
    int held_up;          ///< turns, until the thread that has seen it goes on
  };
  struct Rank {
    Rank(int r, int ranks) : number(r), counting(r, ranks) {}
    int number;
    detail::Counting counting;
    std::uint64_t queued = 0, processed = 0, heard = 0;
    int begun = 0;       ///< epochs
    bool waits = false;  ///< in the last one
    int to_insert = 0;   ///< by the user, before the next one
    std::vector<Work> ready, running, handled, at_device, helpers;
    std::vector<int> stuck;  ///< the epochs of tasks that wait
    std::optional<Seen> seen;
  };
  struct Ended {
    std::uint32_t stuck = 0;
    bool is = false;               ///< some rank has heard of it
    bool never = false;            ///< a rank has stopped before all was done
    int left = 0;                  ///< messages, tasks and holds of the epoch
    std::uint64_t done_sent = 0;   ///< to which ranks, a bit each
    std::uint64_t sent_since = 0;  ///< messages of Counting, since nothing is left and all have begun
  };

  int below(int end) { return static_cast<int>(dice_.below(static_cast<std::uint64_t>(end))); }
  /// One time in n.
  bool chance(int n) { return dice_.below(static_cast<std::uint64_t>(n)) == 0; }
  Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  Ended& epoch(int e) { return ended_[static_cast<std::size_t>(e)]; }
  void violated(std::string what) {
    if (result_.violation.empty()) result_.violation = std::move(what);
  }

  int some_rank(bool unfair) {
    const int r = below(static_cast<int>(ranks_.size()));
    return unfair && r == slow_ && !chance(8) ? below(static_cast<int>(ranks_.size())) : r;
  }
  bool all_through() const {
    for (const Rank& one : ranks_)
      if (one.begun < epochs_ || one.waits) return false;
    return true;
  }
  /// Whether all ranks wait in epoch e, or have, and nothing of it is left.
  bool quiescent(int e) {
    if (epoch(e).left > 0) return false;
    for (const Rank& one : ranks_)
      if (one.begun < e) return false;
    return true;
  }

  void crash(int r) {
    crashed_ = r;
    const int e = rank(r).begun + (rank(r).waits ? 0 : 1);
    for (int later = e; later <= epochs_; ++later)
      if (!quiescent(later)) epoch(later).never = true;
  }

  // -- the network

  void change_network() {
    order_ = static_cast<Order>(below(4));
    deliveries_ = std::array{1, 4, 7}[static_cast<std::size_t>(below(3))];
  }

  void deliver() {
    std::size_t best = dice_.below(packets_.size());
    if (order_ == newest_first && !chance(4)) best = packets_.size() - 1;
    if (order_ == user_first || order_ == counting_first) {
      const auto is_slow = [&] { return packets_[best].counting.has_value() != (order_ == counting_first); };
      for (int k = 0; k < 3 && is_slow(); ++k) best = dice_.below(packets_.size());
      if (is_slow() && !chance(16)) return;
    }
    if (packets_[best].held_up && !chance(24)) return;
    if (packets_[best].to == crashed_) {  // it is lost, and what it carries stays undone
      take(best);
      return;
    }
    if (packets_[best].counting) {
      // What is sent follows from the packet: it is not there any more, unless it comes again.
      const Packet packet = repeats_ && chance(4) ? packets_[best] : take(best);
      Rank& to = rank(packet.to);
      ++to.heard;
      calling(to, [&] {
        to.counting.receive(packet.from, *packet.counting,
                            [&](int child, const CountingMessage& message) { post(packet.to, child, message); });
      });
    } else {
      const Packet packet = take(best);
      Rank& to = rank(packet.to);
      if (fault_ == Fault::processed_before_effects && packet.user.counted) ++to.processed;
      to.handled.push_back(packet.user);
    }
  }
  Packet take(std::size_t k) {
    std::swap(packets_[k], packets_.back());
    const Packet packet = packets_.back();
    packets_.pop_back();
    return packet;
  }

  void post(int from, int to, const CountingMessage& message) {
    ++result_.counting_messages;
    const int e = static_cast<int>(message.epoch);
    if (e < 1 || e > epochs_) return violated("a message of an epoch that is none");
    if (message.kind == CountingMessage::done) {
      if ((epoch(e).done_sent >> to & 1) != 0) violated("a rank is told twice that an epoch has ended");
      epoch(e).done_sent |= std::uint64_t{1} << to;
    } else if (epoch(e).is) {
      violated("a wave of an epoch that has ended");
    }
    // The wave under way, and two more of which the second only says what the first did; and the end.
    if (quiescent(e) && ++epoch(e).sent_since > 7 * (ranks_.size() - 1))
      violated("the end of an epoch takes more messages than three waves and the end");
    packets_.push_back({from, to, message, {}, holds_up_ && chance(8)});
  }

  /// A call of Counting, after which the epoch may have ended here.
  template <typename Call>
  void calling(Rank& at, const Call& call) {
    const bool before = at.counting.done();
    call();
    if (before || !at.counting.done()) return;
    Ended& ended = epoch(at.begun);
    if (!quiescent(at.begun)) violated("an epoch ends though something of it is left");
    if (ended.never) violated("an epoch ends in which a rank has stopped before all was done");
    if (!ended.is) {
      ended.is = true;
      ++result_.epochs;
      for (const Rank& one : ranks_) ended.stuck += stuck_in(one, at.begun) ? 1 : 0;
    }
    if (at.counting.stuck() != ended.stuck) violated("an epoch ends with the wrong number of ranks that are stuck");
  }
  static bool stuck_in(const Rank& one, int e) {
    return std::ranges::any_of(one.stuck, [&](int of) { return of <= e; });
  }

  // -- the ranks

  /// A step of the rank. \returns whether anything has happened, other than that it has looked once more at itself
  bool step(int r) {
    if (r == crashed_) return false;
    Rank& me = rank(r);
    // Three looks for something to do are enough.
    const int first = below(8);
    for (int k = first; k < first + 3; ++k)
      if (part(me, k % 8)) return true;
    return false;
  }
  bool part(Rank& me, int which) {
    switch (which) {
      case 0:
        return user(me);
      case 1:
        return start_task(me);
      case 2:
        return run(me);
      case 3:
        return handle(me);
      case 4:
        return device(me);
      case 5:
        return help(me);
      case 6:
        return look(me), false;
      default:
        return tell(me);
    }
  }

  bool user(Rank& me) {
    if (me.waits) {
      if (!me.counting.done()) return false;
      me.waits = false;
      std::erase_if(me.stuck, [&](int e) { return e <= me.begun; });
      me.to_insert = below(4);
      return true;
    }
    if (me.begun == epochs_) return false;
    if (me.to_insert > 0) {
      --me.to_insert;
      const Work work{me.begun + 1, below(3 * generosity_)};
      switch (below(3)) {
        case 0:
          send(me, work);
          break;
        case 1:
          insert(me.helpers, work);
          break;
        default:
          insert(me.ready, work);
      }
    } else {
      ++me.begun;
      me.waits = true;
      me.seen.reset();
      me.counting.begin();
      if (me.counting.done()) violated("an epoch has ended when it begins");
    }
    return true;
  }

  void insert(std::vector<Work>& where, Work work) {
    ++epoch(work.epoch).left;
    where.push_back(work);
  }
  Work end_of(std::vector<Work>& where) {
    const std::size_t k = dice_.below(where.size());
    std::swap(where[k], where.back());
    const Work work = where.back();
    where.pop_back();
    --epoch(work.epoch).left;
    return work;
  }

  void send(Rank& me, Work work) {
    ++epoch(work.epoch).left;
    if (work.counted) ++me.queued;
    ++result_.user_messages;
    packets_.push_back({me.number, below(static_cast<int>(ranks_.size())), std::nullopt, work, holds_up_ && chance(8)});
  }

  bool start_task(Rank& me) {
    if (me.ready.empty()) return false;
    const Work work = end_of(me.ready);
    insert(me.running, work);
    return true;
  }

  /// A running task sends, or ends; it may leave something to a device or a helper, or tasks that wait.
  bool run(Rank& me) {
    if (me.running.empty()) return false;
    Work& task = me.running[dice_.below(me.running.size())];
    if (task.budget > 0 && !chance(3)) {
      const int part = 1 + below(task.budget);
      task.budget -= part;
      send(me, {task.epoch, part - 1});
      return true;
    }
    // What follows is there before the task ends.
    const Work rest = task;
    if (chance(6))
      insert(me.at_device, rest);
    else if (chance(6))
      insert(me.helpers, rest);
    else if (chance(12))
      me.stuck.push_back(rest.epoch);
    std::swap(task, me.running.back());
    me.running.pop_back();
    --epoch(rest.epoch).left;
    return true;
  }

  /// A message is handled: the handler may send, and makes a task.
  bool handle(Rank& me) {
    if (me.handled.empty()) return false;
    Work& message = me.handled[dice_.below(me.handled.size())];
    if (message.budget > 0 && chance(4)) {
      --message.budget;
      send(me, {message.epoch, 0});
      return true;
    }
    const Work work = message;
    std::swap(message, me.handled.back());
    me.handled.pop_back();
    --epoch(work.epoch).left;
    if (!me.stuck.empty() && me.stuck.back() == work.epoch && chance(2)) me.stuck.pop_back();
    insert(me.ready, {work.epoch, work.budget});
    if (work.counted && fault_ != Fault::processed_before_effects) ++me.processed;
    return true;
  }

  bool device(Rank& me) {
    if (me.at_device.empty()) return false;
    const Work work = end_of(me.at_device);
    if (chance(2))
      send(me, {work.epoch, work.budget});
    else
      insert(me.ready, work);
    return true;
  }

  bool help(Rank& me) {
    if (me.helpers.empty()) return false;
    Work& helper = me.helpers[dice_.below(me.helpers.size())];
    if (helper.budget > 0 && !chance(3)) {
      --helper.budget;
      if (chance(2)) {
        send(me, {helper.epoch, below(2), fault_ != Fault::helpers_not_counted});
      } else {  // in both, as what a thread outside does
        ++me.queued;
        ++me.processed;
        insert(me.ready, {helper.epoch, 0});
      }
      return true;
    }
    const Work work = helper;
    std::swap(helper, me.helpers.back());
    me.helpers.pop_back();
    --epoch(work.epoch).left;
    return true;
  }

  bool idle(const Rank& me) const {
    return me.ready.empty() && me.running.empty() && me.helpers.empty() &&
           (me.at_device.empty() || fault_ == Fault::devices_forgotten) &&
           (me.handled.empty() || fault_ == Fault::processed_before_effects);
  }

  /// The thread that waits looks whether the rank is idle, ...
  void look(Rank& me) {
    if (!me.waits || me.counting.done() || me.seen || !idle(me)) return;
    me.seen = Seen{me.queued, me.processed, !me.stuck.empty(), me.heard, chance(4) ? below(32) : 0};
  }

  /// ... and tells Counting later, while nobody calls `receive`. Meanwhile anything may have happened.
  bool tell(Rank& me) {
    if (!me.waits || !me.seen || me.seen->held_up-- > 0) return false;
    Seen counts = *me.seen;
    // Two ways to know that the moment is after the last `receive`.
    const bool valid =
        numbers_ ? counts.heard == me.heard : counts.queued == me.queued && counts.processed == me.processed;
    if (fault_ == Fault::flag_of_another_time) {
      counts = {me.queued, me.processed, !me.stuck.empty(), me.heard, 0};
    } else {
      me.seen.reset();
      if (!valid && fault_ != Fault::counts_before_the_ask) return false;
    }
    if (fault_ == Fault::counters_of_32_bits) counts.queued &= 0xffffffff, counts.processed &= 0xffffffff;
    const std::uint64_t sent = result_.counting_messages;
    const bool before = me.counting.done();
    calling(me, [&] {
      me.counting.idle(counts.queued, counts.processed, counts.stuck,
                       [&](int to, const CountingMessage& message) { post(me.number, to, message); });
    });
    return result_.counting_messages != sent || before != me.counting.done();
  }

  Dice dice_;
  const Fault fault_;
  const int epochs_;
  int crashes_ = -1;      ///< after so many steps
  int crashed_ = -1;      ///< the rank
  bool numbers_ = false;  ///< how ranks know that their counts are not too old
  bool repeats_ = false;
  bool holds_up_ = false;  ///< some packets
  bool changes_ = false;   ///< how the network is:
  Order order_ = any;
  int deliveries_ = 4;  ///< of 8 steps
  int slow_ = -1;       ///< a rank that has few turns
  int generosity_ = 1;
  std::vector<Rank> ranks_;
  std::vector<Packet> packets_;
  std::vector<Ended> ended_;  ///< by epoch
  Simulated result_;
};

}  // namespace taskgrain::rt
