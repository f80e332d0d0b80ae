#include "sequence/registry.hpp"

#include <algorithm>
#include <atomic>

namespace taskgrain::rt::detail {

namespace {

std::size_t extent(const Region& region) noexcept { return (region.rows - 1) * region.stride + region.row_bytes; }

/// Whether an interval meets a row.
bool meets(std::uintptr_t begin, std::uintptr_t end, const Region& region) noexcept {
  if (end <= region.begin || begin >= region.begin + extent(region)) return false;
  if (region.rows == 1 || begin <= region.begin || end - begin >= region.stride) return true;
  const std::size_t into = (begin - region.begin) % region.stride;  // its row
  return into < region.row_bytes || into + (end - begin) > region.stride;
}

/// Never given twice in a process, so that data of another sequence is noticed.
std::uint64_t new_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

bool overlap(const Region& a, const Region& b) noexcept {
  if (a.rows > b.rows) return overlap(b, a);
  for (std::size_t row = 0; row < a.rows; ++row) {
    const std::uintptr_t begin = a.begin + row * a.stride;
    if (meets(begin, begin + a.row_bytes, b)) return true;
  }
  return false;
}

template <typename Found>
void DataRegistry::each_overlapping(const Region& region, const Found& found) const {
  const std::uintptr_t first = region.begin - std::min(region.begin, longest_);
  for (auto it = by_begin_.lower_bound(first); it != by_begin_.end() && it->first < region.begin + extent(region); ++it)
    if (overlap(region, it->second.region)) found(it->second.index);
}

std::uint32_t DataRegistry::add(std::span<const Region> regions, std::string name, int home) {
  if (free_.empty()) {
    entries_.emplace_back();
    const std::lock_guard lock(mutex_);
    if (released_.capacity() < entries_.size())
      released_.reserve(2 * entries_.size());  // so that a release allocates nothing
    free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  Entry& own = entries_[index];
  own.id = new_id();
  own.name = name.empty() ? "data " + std::to_string(own.id) : std::move(name);
  own.home = home;
  for (const Region& region : regions)
    if (region.rows != 0 && region.row_bytes != 0) own.regions.push_back(region);
  for (const Region& region : own.regions)
    each_overlapping(region, [&](std::uint32_t other) {
      auto& theirs = entries_[other].overlaps;
      if (!theirs.empty() && theirs.back() == index) return;  // by another of its regions
      if (std::ranges::find(own.overlaps, other) != own.overlaps.end()) return;
      own.overlaps.push_back(other);
      theirs.push_back(index);
    });
  for (const Region& region : own.regions) {
    longest_ = std::max(longest_, extent(region));
    by_begin_.emplace(region.begin, Placed{region, index});
  }
  free_.pop_back();
  return index;
}

void DataRegistry::remove(std::uint32_t index) noexcept {
  Entry& own = entries_[index];
  for (const std::uint32_t other : own.overlaps) std::erase(entries_[other].overlaps, index);
  for (const Region& region : own.regions) {
    auto [it, end] = by_begin_.equal_range(region.begin);
    while (it != end) it = it->second.index == index ? by_begin_.erase(it) : std::next(it);
  }
  own = Entry{};
  free_.push_back(index);
}

}  // namespace taskgrain::rt::detail
