#include "comm/rank_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace taskgrain::rt::detail {

void RankBlock::leave() noexcept {
  std::uint32_t before = attached;
  if (!state.compare_exchange_strong(before, left)) return;
  times_left.fetch_add(1);
  in_use.store(0);
}

void RankBlock::blame(int rank, const std::string& how) noexcept {
  if (!becomes_reason_writer()) return;
  // before the reason: it is read only once reason_bytes is not 0
  blamed.store(static_cast<std::uint32_t>(rank) + 1);
  write_reason(how);
}

bool RankBlock::announce_failure(const std::string& why) noexcept {
  if (!becomes_reason_writer()) return false;
  write_reason(why);
  std::uint32_t before = attached;
  state.compare_exchange_strong(before, failed);
  return true;
}

void RankBlock::use(std::span<const int> used, int threads) noexcept {
  std::array<std::uint64_t, most_processors / 64> bits{};
  for (const int each : used)
    if (const auto processor = static_cast<std::size_t>(each); processor < most_processors)
      bits[processor / 64] |= std::uint64_t(1) << processor % 64;
  workers.store(0);
  for (std::size_t k = 0; k < bits.size(); ++k) processors[k].store(bits[k], std::memory_order_relaxed);
  workers.store(static_cast<std::uint32_t>(threads), std::memory_order_release);
}

void RankBlock::mark_dead(const std::string& how) noexcept {
  std::uint32_t writer = nobody;
  const bool free = reason_writer.compare_exchange_strong(writer, launcher);
  if (free || reason_bytes.load(std::memory_order_acquire) == 0) {
    reason_writer.store(launcher);
    write_reason(how);
  }
  state.store(dead);
}

std::string RankBlock::failure_reason() const {
  const std::size_t bytes = reason_bytes.load(std::memory_order_acquire);
  return std::string(reason, std::min(bytes, most_reason_bytes));
}

bool RankBlock::becomes_reason_writer() noexcept {
  std::uint32_t writer = nobody;
  return reason_writer.compare_exchange_strong(writer, itself);
}

void RankBlock::write_reason(const std::string& text) noexcept {
  const std::size_t bytes = std::min(text.size(), most_reason_bytes);
  std::memcpy(reason, text.data(), bytes);
  reason_bytes.store(static_cast<std::uint32_t>(bytes), std::memory_order_release);
}

}  // namespace taskgrain::rt::detail
