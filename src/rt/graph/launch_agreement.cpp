#include "launch_agreement.hpp"

#include <algorithm>
#include <string>

#include "edge_receiver.hpp"
#include "edge_sender.hpp"

namespace taskgrain::rt::detail {

void LaunchAgreement::set_neighbours() {
  neighbours_ = receiver_.ranks();
  for (const int rank : sender_.ranks())
    if (std::ranges::find(neighbours_, rank) == neighbours_.end()) neighbours_.push_back(rank);
}

void LaunchAgreement::launch(std::int64_t end) {
  for (const int rank : neighbours_) endpoint_.send(rank, {EdgeMessage::launch, number_of_launches_, end});
  const std::lock_guard lock(mutex_);
  for (const int rank : neighbours_) expect(rank, end);
  ++number_of_launches_;
  own_.push_back(end);
  for (const int rank : neighbours_) compare(rank);
  std::size_t by_all = own_.size();
  for (const int rank : neighbours_) by_all = std::min(by_all, compared_[rank]);
  own_.erase(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(by_all));
  for (const int rank : neighbours_) compared_[rank] -= by_all;
}

int LaunchAgreement::without_launch() {
  const std::lock_guard lock(mutex_);
  for (const auto& [rank, compared] : compared_)
    if (compared < own_.size()) return rank;
  return -1;
}

/// What goes between this rank and another until the end of a launch may come. \pre the mutex is held
void LaunchAgreement::expect(int rank, std::int64_t end) noexcept {
  const bool sends = sender_.expect(rank, end), receives = receiver_.expect(rank, end);
  if (sends || receives) ranks_.start_persistent();
}

/// \pre the mutex is held
void LaunchAgreement::compare(int rank) {
  auto& theirs = theirs_[rank];
  for (auto& k = compared_[rank]; k < own_.size(); ++k) {
    const auto number = number_of_launches_ - static_cast<std::uint32_t>(own_.size() - k);
    const auto their = theirs.extract(number);
    if (their.empty()) return;
    if (their.mapped() != own_[k])
      ranks_.fail(("a launch ends after " + std::to_string(own_[k]) + " iterations of this graph on rank " +
                   std::to_string(ranks_.rank()) + ", and after " + std::to_string(their.mapped()) + " on rank " +
                   std::to_string(rank) + "; all ranks launch equally often, each time with the same iterations")
                      .c_str());
  }
}

void LaunchAgreement::on_launch(int rank, std::uint32_t number, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  expect(rank, end);
  theirs_[rank][number] = end;
  compare(rank);
}

}  // namespace taskgrain::rt::detail
