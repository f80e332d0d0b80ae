#pragma once

/// Ranks that share edges must launch a graph equally often, each time with as many iterations. Each tells its
/// neighbours where its launches end, and compares what they say with its own.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "edge_endpoint.hpp"

namespace taskgrain::rt::detail {

class EdgeReceiver;
class EdgeSender;

class LaunchAgreement {
 public:
  LaunchAgreement(Messages& ranks, EdgeEndpoint& endpoint, EdgeSender& sender, EdgeReceiver& receiver)
      : ranks_(ranks), endpoint_(endpoint), sender_(sender), receiver_(receiver) {}

  /// Ranks to which this one sends, or from which it receives, are known now.
  void set_neighbours();

  void launch(std::int64_t end);
  int without_launch();
  std::uint32_t number_of_launches() const noexcept { return number_of_launches_; }
  /// By who polls.
  void on_launch(int rank, std::uint32_t number, std::int64_t end);

 private:
  void expect(int rank, std::int64_t end) noexcept;
  void compare(int rank);

  Messages& ranks_;
  EdgeEndpoint& endpoint_;
  EdgeSender& sender_;
  EdgeReceiver& receiver_;
  std::vector<int> neighbours_;
  std::mutex mutex_;  // protects the members below
  std::uint32_t number_of_launches_ = 0;
  std::deque<std::int64_t> own_;  // where each ends; those that some neighbour has not said
  // By rank: those that are not compared, by number. Messages may overtake one another.
  std::map<int, std::map<std::uint32_t, std::int64_t>> theirs_;
  std::map<int, std::size_t> compared_;  // by rank: how many of own_
};

}  // namespace taskgrain::rt::detail
