#include "edge_receiver.hpp"

#include <algorithm>
#include <mutex>

namespace taskgrain::rt::detail {

EdgeReceiver::Origin& EdgeReceiver::origin(int rank) noexcept {
  return *std::ranges::find(origins_, rank, &Origin::rank);
}

std::vector<int> EdgeReceiver::ranks() const {
  std::vector<int> all;
  for (const Origin& one : origins_) all.push_back(one.rank);
  return all;
}

bool EdgeReceiver::expect(int rank, std::int64_t end) noexcept {
  const auto from = std::ranges::find(origins_, rank, &Origin::rank);
  if (from == origins_.end() || from->credit == nullptr) return false;
  const std::scoped_lock guard(from->lock);
  from->end = std::max(from->end, end);
  if (from->readers.empty()) {  // no worker reads it, so `finish` grants no credit: grant all now
    from->all_read = from->end;
    ranks_.allow(*from->credit, from->end / from->per_credit);
  }
  allow_groups(*from);
  return true;
}

bool EdgeReceiver::passed(const Wait& wait, std::int64_t iteration, std::int64_t begin) const noexcept {
  const ReceiveSlot& from = slots_[wait.channel - first_receive_];
  const std::int64_t back = 1 - wait.offset;  // 1 if the edge is carried
  if (iteration - begin < back) return true;
  std::byte* const block =
      const_cast<std::byte*>(from.blocks) + static_cast<std::size_t>((iteration - back) & from.mask) * from.block_bytes;
  return counter(block).load(std::memory_order_acquire) >= iteration + wait.offset;
}

void EdgeReceiver::finish(int worker, std::int64_t iteration) {
  for (Origin& origin : origins_) {
    const auto reader = std::ranges::lower_bound(origin.readers, worker);
    if (reader == origin.readers.end() || *reader != worker) continue;
    const auto k = static_cast<std::uint32_t>(reader - origin.readers.begin());
    if (origin.credit != nullptr) {
      const std::scoped_lock guard(origin.lock);
      origin.read[k] = iteration + 1;
      grant_credit(origin);
      continue;
    }
    origin.window->credit(k).store(iteration + 1, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    auto& parked = origin.window->parked(origin.groups.size());
    if (parked.load(std::memory_order_relaxed) != 0 && parked.exchange(0) != 0) [[unlikely]]
      endpoint_.send(origin.rank, {EdgeMessage::credit_arrived, 0, 0});
  }
}

/// Sends the credits for what all workers have read, and allows messages into the blocks that this frees. \pre the lock
/// is held
void EdgeReceiver::grant_credit(Origin& from) noexcept {
  const std::int64_t all_read = std::ranges::min(from.read);
  if (all_read <= from.all_read) return;
  from.all_read = all_read;
  allow_groups(from);
  ranks_.allow(*from.credit, all_read / from.per_credit);
  ranks_.start_persistent();
}

/// Allows messages as far as their blocks are not read any more: iteration n needs all_read ≥ n + 2 − blocks. \pre the
/// lock is held
void EdgeReceiver::allow_groups(Origin& from) noexcept {
  for (const ReceiveGroup& group : from.groups)
    ranks_.allow(*group.message, std::min(from.end, from.all_read + from.blocks - 1));
}

std::span<const std::byte> EdgeReceiver::received(std::size_t number, std::int64_t iteration) const noexcept {
  const ReceiveSlot& from = slots_[number];
  const auto block = static_cast<std::size_t>(iteration & from.mask);
  return {from.blocks + block * from.block_bytes + from.offset, from.bytes};
}

void EdgeReceiver::on_group(int rank, std::size_t number, std::int64_t iterations) noexcept {
  const Origin& from = origin(rank);
  const ReceiveGroup& group = from.groups[number];
  counter(group.blocks + static_cast<std::size_t>((iterations - 1) & (from.blocks - 1)) * group.block_bytes)
      .store(iterations, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (from.window->parked(number).exchange(0) != 0) endpoint_.resume(group.readers);
}

}  // namespace taskgrain::rt::detail
