#pragma once

/// Distributed termination detection by Mattern's four counters (Distributed Computing 2, 1987): two waves over a tree
/// of ranks sum up how many messages were queued and processed.
///
/// Let q_r(t) and p_r(t) be the messages of the user that rank r has queued and processed until t, through all epochs.
/// A message is queued before anybody can receive it, and processed after all that follows from it has begun, so
///
///     q_r and p_r only grow,   and   Σ q_r(t) − Σ p_r(t) = messages in flight at t  ≥ 0   at each moment t.
///
/// In wave k of an epoch, each rank r counts once, at a moment c_r(k) at which it has received the request and is idle.
/// The root requests wave k, at a(k), when it has the counts of wave k−1; a rank counts after the request:
///
///     c_r(k−1)  <  a(k)  <  c_s(k)      for all r and s.
///
/// The root ends the epoch if   Q(k) = Q(k−1),   P(k) = P(k−1)   and   Q(k) = P(k),   where Q(k) = Σ q_r(c_r(k)).
///
/// Then nothing is left.
/// 1. Sums of what only grows are equal only if each term is: no rank has queued or processed anything between its two
///    counts. So Σ q_r(a(k)) = Q(k) = P(k) = Σ p_r(a(k)): at a(k) no message was in flight. One wave does not prove
///    that, because its counts are of different moments: a message that one rank processed before its count, and
///    another queued after its own, hides one that was queued in time and is still in flight.
/// 2. Of the messages that were not processed when their receiver counted in wave k, take the one that was queued
///    first. It was not in flight at a(k), so it was queued after that, and by 1. after its sender had counted. The
///    sender was idle then. It queues again only because of a message that it had not processed, and that was queued
///    before: a contradiction. So there is no such message, and no rank works any more. (This needs that a rank counts
///    only while it is idle: a rank that works could queue without having received anything.)
/// 3. A rank that was stuck in wave k still is: no message has reached it since.
///
/// A rank counts for epoch e+1 only after it has begun e+1, which is after its done(e). So the root is at most one
/// epoch ahead of any rank, and the only message that can come early is `request{e+1, 1}`: it is stored until `begin`.
///
/// All other messages come in the state that expects them: a rank gets the request for a wave after it has counted for
/// all earlier waves, and a parent gets counts only for the wave that it has requested. Duplicates are ignored.
///
/// 64 bits: a rank that counted with fewer would subtract 2^32 from its own term of Q, and others at other times from
/// theirs of P; the sums would differ for ever. 2^64 messages take centuries.

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>

namespace taskgrain::rt::detail {

/// A control message of termination detection.
struct TerminationMessage {
  enum Type : std::uint32_t {
    request,  ///< down the tree: count for this wave when idle
    counts,   ///< up the tree: the sums of a subtree, whose ranks were idle when they counted
    done,     ///< down the tree: the epoch has ended on all ranks
  };
  Type type;
  std::uint32_t stuck;  ///< counts: ranks of the subtree on which tasks wait; done: of all
  std::uint64_t epoch, wave;
  std::uint64_t queued, processed;
};

/// The state machine of one rank. It knows no transport and is not thread-safe. Messages may come in any order, and
/// more than once. `send` must not call it.
class TerminationDetection {
 public:
  /// The tree: rank r's children are 4r+1 to 4r+4, as far as there are ranks.
  static constexpr int fan_out = 4;

  TerminationDetection(int rank, int ranks) noexcept
      : rank_(rank), ranks_(ranks), children_(std::clamp(ranks - first_child(), 0, fan_out)) {}

  /// This rank begins to wait: a new epoch, the same number on all ranks.
  /// \pre done
  void begin() noexcept {
    ++epoch_;
    done_ = false;
  }

  /// \param send  send(int to, const TerminationMessage&)
  template <typename Send>
  void receive(int from, const TerminationMessage& message, const Send& send) {
    const Wave wave{message.epoch, message.wave};
    switch (message.type) {
      case TerminationMessage::request:
        if (wave > requested_) request(wave, send);
        break;
      case TerminationMessage::counts: {
        const std::uint32_t child = 1u << (from - first_child());
        if (wave != requested_ || has_counted_ || (counted_children_ & child) != 0) break;
        counted_children_ |= child;
        sums_.queued += message.queued;
        sums_.processed += message.processed;
        stuck_ += message.stuck;
        break;
      }
      case TerminationMessage::done:
        if (message.epoch == epoch_ && !done_) end(message.stuck, send);
        break;
    }
  }

  /// This rank was idle at one moment, and had these counts. The moment must be after the last `receive`: a caller that
  /// read the counts earlier checks that `receive` was not called since.
  ///
  /// Call it after `begin` and after each `receive`, whenever the rank is idle.
  /// \param queued, processed  messages of the user
  /// \param stuck  whether tasks wait on this rank
  template <typename Send>
  void idle(std::uint64_t queued, std::uint64_t processed, bool stuck, const Send& send) {
    if (rank_ == 0 && requested_.epoch != epoch_) request({epoch_, 1}, send);
    if (requested_.epoch != epoch_ || has_counted_ || std::popcount(counted_children_) != children_) return;

    has_counted_ = true;
    sums_.queued += queued;
    sums_.processed += processed;
    stuck_ += stuck ? 1 : 0;
    if (rank_ != 0) {
      send(parent(), TerminationMessage{TerminationMessage::counts, stuck_, epoch_, requested_.number, sums_.queued,
                                        sums_.processed});
      return;
    }
    // With one rank, both sums are of one moment: one wave suffices.
    const bool stayed = ranks_ == 1 || (requested_.number > 1 && sums_ == before_);
    if (stayed && sums_.queued == sums_.processed) {
      end(stuck_, send);
    } else {
      before_ = sums_;
      request({epoch_, requested_.number + 1}, send);
    }
  }

  /// True if the epoch has ended.
  bool done() const noexcept { return done_; }
  /// The number of ranks on which tasks wait. \pre done
  std::uint32_t stuck() const noexcept { return stuck_in_all_; }

 private:
  struct Wave {
    std::uint64_t epoch, number;
    auto operator<=>(const Wave&) const = default;
  };
  struct Sums {
    std::uint64_t queued, processed;
    bool operator==(const Sums&) const = default;
  };

  int first_child() const noexcept { return fan_out * rank_ + 1; }
  int parent() const noexcept { return (rank_ - 1) / fan_out; }

  template <typename Send>
  void to_children(const TerminationMessage& message, const Send& send) const {
    for (int child = 0; child < children_; ++child) send(first_child() + child, message);
  }

  /// Passes the request on, and starts to sum up. Also before this rank has begun the epoch: its children may have.
  template <typename Send>
  void request(Wave wave, const Send& send) {
    requested_ = wave;
    has_counted_ = false;
    counted_children_ = 0;
    sums_ = {};
    stuck_ = 0;
    to_children({TerminationMessage::request, 0, wave.epoch, wave.number, 0, 0}, send);
  }

  template <typename Send>
  void end(std::uint32_t stuck, const Send& send) {
    done_ = true;
    stuck_in_all_ = stuck;
    to_children({TerminationMessage::done, stuck, epoch_, 0, 0, 0}, send);
  }

  const int rank_, ranks_, children_;
  std::uint64_t epoch_ = 0;  ///< the last that was begun
  bool done_ = true;         ///< it has ended
  std::uint32_t stuck_in_all_ = 0;

  Wave requested_{0, 0};     ///< the last wave that was requested; requested_.epoch ≤ epoch_ + 1
  bool has_counted_ = true;  ///< in that wave
  // Of that wave, while it sums up the subtree:
  std::uint32_t counted_children_ = 0;  ///< bit k: child k has sent its counts
  std::uint32_t stuck_ = 0;
  Sums sums_{0, 0};
  Sums before_{0, 0};  ///< root: the sums of the wave before
};

}  // namespace taskgrain::rt::detail
