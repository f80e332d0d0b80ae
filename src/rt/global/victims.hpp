#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "taskgrain/rt/communicator.hpp"

namespace taskgrain::rt::detail {

/// The ranks that a rank asks for work: those of its host in turn, and one of another host after that. The longer it
/// finds nothing, the more seldom it asks.
class Victims {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Victims(Communicator* comm) {
    if (comm == nullptr || comm->ranks() == 1) return;
    const SharedMemory* const shared = comm->messages().shared_memory();
    for (int k = 1; k < comm->ranks(); ++k) ranks_.push_back((comm->rank() + k) % comm->ranks());
    const auto near = [&](int of) { return shared != nullptr && shared->shared_with(of); };
    near_ = static_cast<std::size_t>(std::ranges::stable_partition(ranks_, near).begin() - ranks_.begin());
    asked_.resize(static_cast<std::size_t>(comm->ranks()));
  }

  /// \returns the rank to ask now; nothing before it is time, and while that rank has not answered its last question
  std::optional<int> next(Clock::time_point now) {
    if (now < ask_at_) return std::nullopt;
    patience_ = std::min(2 * patience_, longest_patience);
    ask_at_ = now + patience_;
    const std::size_t far = ranks_.size() - near_;
    std::size_t victim = next_;
    next_ = (next_ + 1) % (near_ + (far > 0 ? 1 : 0));
    if (victim == near_) victim += far_++ % far;
    const int to = ranks_[victim];
    if (asked_[static_cast<std::size_t>(to)]) return std::nullopt;
    asked_[static_cast<std::size_t>(to)] = true;
    return to;
  }
  void answered(int rank) { asked_[static_cast<std::size_t>(rank)] = false; }
  bool any_asked() const { return std::ranges::find(asked_, true) != asked_.end(); }
  /// Notes that there was something to do.
  void found() noexcept { patience_ = shortest_patience; }
  void begin() noexcept {
    found();
    ask_at_ = {};
  }

 private:
  static constexpr std::chrono::microseconds shortest_patience{1}, longest_patience{200};

  std::vector<int> ranks_;   // those of this host first
  std::size_t near_ = 0;     // how many of this host
  std::vector<bool> asked_;  // by rank: it has not answered
  std::size_t next_ = 0, far_ = 0;
  std::chrono::microseconds patience_ = shortest_patience;
  Clock::time_point ask_at_{};  // not before
};

}  // namespace taskgrain::rt::detail
