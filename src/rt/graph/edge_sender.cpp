#include "edge_sender.hpp"

#include <algorithm>
#include <cstring>

namespace taskgrain::rt::detail {

EdgeSender::Destination& EdgeSender::destination(int rank) noexcept {
  return *std::ranges::find(destinations_, rank, &Destination::rank);
}

std::vector<int> EdgeSender::ranks() const {
  std::vector<int> all;
  for (const Destination& one : destinations_) all.push_back(one.rank);
  return all;
}

bool EdgeSender::expect(int rank, std::int64_t end) noexcept {
  const auto to = std::ranges::find(destinations_, rank, &Destination::rank);
  if (to == destinations_.end() || to->credit == nullptr) return false;
  ranks_.allow(*to->credit, end / to->per_credit);
  return true;
}

bool EdgeSender::passed(std::uint32_t destination, std::int64_t iteration) const noexcept {
  const Destination& to = destinations_[destination];
  const std::int64_t needed = iteration + 2 - to.blocks;
  for (const auto* credit : to.credits)
    if (credit->load(std::memory_order_acquire) < needed) return false;
  return to.credit == nullptr || to.credit->done().load(std::memory_order_acquire) * to.per_credit >= needed;
}

void EdgeSender::send(std::uint32_t number, std::int64_t iteration) {
  const SendGroup& group = groups_[number];
  std::byte* const block = group.blocks + static_cast<std::size_t>(iteration & group.mask) * group.block_bytes;
  for (const auto& [from, offset] : group.sends) {
    if (from.size() == 16)  // without a call
      std::memcpy(block + offset, from.data(), 16);
    else if (!from.empty())
      std::memcpy(block + offset, from.data(), from.size());
  }
  if (group.message != nullptr) {
    ranks_.allow(*group.message, iteration + 1);
    return ranks_.start_persistent();
  }
  counter(block).store(iteration + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (group.parked->load(std::memory_order_relaxed) != 0 && group.parked->exchange(0) != 0) [[unlikely]]
    endpoint_.send(group.rank, {EdgeMessage::group_arrived, group.number, 0});
}

void EdgeSender::on_credit(int rank) noexcept {
  const Destination& to = destination(rank);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (to.parked->exchange(0) != 0) endpoint_.resume(to.workers);
}

}  // namespace taskgrain::rt::detail
