/// Edges between ranks at run time, and the agreement about launches. rank_edges_compiler.cpp sets them up.

#include "rank_edges.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

RankEdges::~RankEdges() {
  endpoint_->on_resume(nullptr);
  endpoint_->close(cancelled_.load() ? UINT32_MAX : launches_.number_of_launches());
  try {
    if (!cancelled_.load()) launches_.end();
  } catch (const std::exception&) {  // no memory: nobody is told
  }
  for (const int rank : sender_.ranks()) {
    try {
      endpoint_->send(rank, {EdgeMessage::closed, 0, 0});
    } catch (const std::exception&) {  // no memory: the other rank keeps its window
    }
  }
}

void RankEdges::on_resume(std::function<void(int)> resume) { endpoint_->on_resume(std::move(resume)); }

bool RankEdges::park(const Wait& wait, std::int64_t iteration, std::int64_t begin) noexcept {
  auto& parked = wait.channel >= first_credit_ ? sender_.parked(wait.channel - first_credit_) : receiver_.parked(wait);
  parked.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return !passed(wait, iteration, begin);
}

void RankEdges::receive(int from, const EdgeMessage& what) {
  switch (what.type) {
    case EdgeMessage::group_arrived:
      return receiver_.resume(from, what.number);
    case EdgeMessage::credit_arrived:
      return sender_.resume(from);
    case EdgeMessage::launch:
      return launches_.on_launch(from, what.number, what.iteration);
    case EdgeMessage::closed:
      return;
  }
}

// -- the agreement about launches

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

int LaunchAgreement::missing_launch() {
  const std::lock_guard lock(mutex_);
  for (const auto& [rank, compared] : compared_)
    if (compared < own_.size()) return rank;
  return -1;
}

/// Allows the persistent messages between this rank and another one up to the end of a launch. \pre the mutex is held
void LaunchAgreement::expect(int rank, std::int64_t end) noexcept {
  const bool sends = sender_.expect(rank, end), receives = receiver_.expect(rank, end);
  if (sends || receives) ranks_.start_persistent();
}

/// Compares launches that both ranks have made. \pre the mutex is held
void LaunchAgreement::compare(int rank) {
  auto& theirs = theirs_[rank];
  for (auto& k = compared_[rank]; k < own_.size(); ++k) {
    const auto number = number_of_launches_ - static_cast<std::uint32_t>(own_.size() - k);
    const auto their = theirs.extract(number);
    if (their.empty()) return;
    if (their.mapped() != own_[k])
      ranks_.fail_for(ranks_.rank(), "a launch ends after " + std::to_string(own_[k]) +
                                         " iterations of this graph on rank " + std::to_string(ranks_.rank()) +
                                         ", and after " + std::to_string(their.mapped()) + " on rank " +
                                         std::to_string(rank) +
                                         "; all ranks launch equally often, each time with the same iterations");
  }
}

void LaunchAgreement::end() {
  const std::lock_guard lock(mutex_);
  for (const auto& [rank, launches] : theirs_)
    if (const auto more = launches.lower_bound(number_of_launches_); more != launches.end())
      return endpoint_.fail_after_end(rank, more->first);
}

void LaunchAgreement::on_launch(int rank, std::uint32_t number, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  expect(rank, end);
  theirs_[rank][number] = end;
  compare(rank);
}

// -- the endpoint

EdgeEndpoint::EdgeEndpoint(Messages& ranks, std::string graph) : ranks_(ranks), graph_(std::move(graph)) {}

void EdgeEndpoint::open(RankEdges& of) {
  of_ = &of;
  kind_ = &ranks_.add({graph_ + ": an edge between ranks",
                       "graph",
                       [endpoint = shared_from_this()](int from, Reader& message) { endpoint->receive(from, message); },
                       {},
                       {},
                       {}});
}

void EdgeEndpoint::send(int rank, const EdgeMessage& what) try {
  Writer message;
  kind_->begin(message);
  message.write(&what, sizeof what);
  ranks_.send(rank, *kind_, message);
} catch (const RankFailed&) {  // a thread that waits for the graph ends it
}

void EdgeEndpoint::receive(int from, Reader& message) {
  EdgeMessage what;
  message.read(&what, sizeof what);
  const std::lock_guard lock(mutex_);
  if (what.type == EdgeMessage::closed)
    windows_.erase(from);
  else if (of_ != nullptr)
    of_->receive(from, what);
  else if (what.type == EdgeMessage::launch && what.number >= launches_)
    fail_after_end(from, what.number);
}

void EdgeEndpoint::fail_after_end(int rank, std::uint32_t launch) {
  ranks_.fail_for(ranks_.rank(), graph_ + ": launch " + std::to_string(launch + 1) + " of rank " +
                                     std::to_string(rank) + " has come, and this rank has ended the graph after " +
                                     std::to_string(launches_) + "; all ranks launch equally often");
}

void EdgeEndpoint::close(std::uint32_t launches) {
  const std::lock_guard lock(mutex_);
  of_ = nullptr;
  launches_ = launches;
}

}  // namespace taskgrain::rt::detail
