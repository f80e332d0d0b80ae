/// Edges between ranks while a graph runs, and their end. rank_edges_compiler.cpp makes them.

#include "rank_edges.hpp"

#include <string>
#include <utility>

#include "taskgrain/rt/error.hpp"

namespace taskgrain::rt::detail {

RankEdges::~RankEdges() {
  endpoint_->on_resume(nullptr);
  endpoint_->close(cancelled_.load() ? UINT32_MAX : launches_.number_of_launches());
  for (const int rank : sender_.ranks()) {
    try {
      endpoint_->send(rank, {EdgeMessage::closed, 0, 0});
    } catch (const std::exception&) {  // no memory: the window stays
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
} catch (const RankFailed&) {  // whoever waits for the graph ends it, and all that it does
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
    ranks_.fail((graph_ + ": launch " + std::to_string(what.number + 1) + " of rank " + std::to_string(from) +
                 " has come, and this rank has ended the graph after " + std::to_string(launches_) +
                 "; all ranks launch equally often")
                    .c_str());
}

void EdgeEndpoint::close(std::uint32_t launches) {
  const std::lock_guard lock(mutex_);
  of_ = nullptr;
  launches_ = launches;
}

}  // namespace taskgrain::rt::detail
