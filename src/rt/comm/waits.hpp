#pragma once

/// The waits for all ranks, and the exchanges between them, as far as this rank knows of those of others.
///
/// Waits are begun by worker 0, found to have ended under the mutex, and returned from by worker 0:
///   returned() ≤ ended() ≤ begun() ≤ returned() + 1      also without the mutex
/// A rank that waits for one that will not come fails: for one that has departed, and for one that has begun an
/// exchange instead.
/// A rank is told that it was idle only if no control message has come since it was.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox.hpp"
#include "packets.hpp"
#include "rank_failure.hpp"
#include "taskgrain/rt/detail/progress_engine.hpp"
#include "termination_detection.hpp"

namespace taskgrain::rt::detail {

class Waits {
 public:
  Waits(Outbox& outbox, RankFailure& failure)
      : outbox_(outbox), failure_(failure), termination_(outbox.rank(), outbox.ranks()),
        departures_(static_cast<std::size_t>(outbox.ranks())) {}

  std::uint64_t begun() const noexcept { return begun_.load(); }
  std::uint64_t ended() const noexcept { return ended_.load(); }
  std::uint64_t returned() const noexcept { return returned_.load(); }

  // -- a wait, by worker 0

  void begin();
  void end() noexcept { returned_.store(ended_.load()); }
  /// Control messages that may end idleness.
  std::uint64_t control_received() const noexcept { return control_received_.load(std::memory_order_acquire); }
  /// \param counts  at a moment at which this rank was idle
  void idle(const ProgressEngine::Counts& counts, bool stuck) noexcept;
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// \pre done
  bool stuck() const noexcept { return stuck_; }
  /// True if there is another rank that has not departed.
  bool others_left() const noexcept;
  /// True if all persistent messages of those that have departed are complete. \pre nobody polls
  bool all_complete();

  // -- an exchange

  /// \returns its number
  std::uint64_t begin_exchange() noexcept { return exchanges_.fetch_add(1); }
  std::uint64_t exchanges() const noexcept { return exchanges_.load(); }
  /// Fails if a rank has departed and will not take part in this exchange. \param parts  that have come
  void check_departures(std::uint64_t exchange, std::string_view call, const ExchangeParts& parts) noexcept;

  // -- what comes from other ranks, by the thread that polls

  void receive(int from, const TerminationMessage& message);
  void depart(int from, const Departure& left);
  /// \returns whether this rank waits instead
  bool receive_part(int from, const ExchangeHead& head, const std::string& call);
  bool has_departed(int rank);

 private:
  struct EarlyExchange {
    int from;
    ExchangeHead head;
    std::string call;
  };

  void publish_end() noexcept;
  void check_departures() noexcept;
  bool check_early_exchange() noexcept;
  auto sends_termination() {
    return [this](int to, const TerminationMessage& message) {
      outbox_.send_control(to, Control::termination, std::as_bytes(std::span(&message, 1)));
    };
  }

  Outbox& outbox_;
  RankFailure& failure_;
  std::mutex mutex_;  // protects the members below
  TerminationDetection termination_;
  std::vector<std::optional<Departure>> departures_;  // by rank
  std::atomic<int> departed_{0};                      // of ranks
  // Written under the mutex, read without it: `idle` compares it with what the worker read before it found itself idle.
  std::atomic<std::uint64_t> control_received_{0};
  std::optional<EarlyExchange> early_exchange_;  // the last part that came
  bool stuck_ = false;                           // of the wait that has ended; written before done_, read after it
  std::atomic<bool> done_{false};                // the wait has ended; stored with release after the members above
  // Waits for all ranks so far: returned_ ≤ ended_ ≤ begun_. The first two are written under the mutex; worker 0 writes
  // the third, when it returns, and then lets Delivery look again at unexpected messages.
  std::atomic<std::uint64_t> begun_{0}, ended_{0}, returned_{0};
  std::atomic<std::uint64_t> exchanges_{0};  // begun; one thread at a time exchanges
};

}  // namespace taskgrain::rt::detail
