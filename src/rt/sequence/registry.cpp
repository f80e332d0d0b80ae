#include "sequence/registry.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <utility>

namespace taskgrain::rt::detail {

namespace {

std::size_t extent(const Region& region) noexcept { return (region.rows - 1) * region.stride + region.row_bytes; }

int size_of(const Region& region) noexcept { return static_cast<int>(std::bit_width(extent(region))); }

/// True if an interval meets a row.
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
  for (const auto& [size, by_begin] : by_size_) {
    const std::uintptr_t first = region.begin - std::min(region.begin, (std::uintptr_t{1} << size) - 1);
    const std::uintptr_t end = region.begin + extent(region);
    for (auto it = by_begin.lower_bound(first); it != by_begin.end() && it->first < end; ++it)
      if (overlap(region, it->second.region)) found(it->second.index);
  }
}

std::uint32_t DataRegistry::add(std::span<const Region> regions, std::string name, int home,
                                std::span<const Region> objects) {
  if (free_.empty()) {
    {  // so that neither a release nor a removal allocates
      const std::size_t room = entries_.size() < entries_.capacity() ? entries_.capacity() : 2 * entries_.size() + 16;
      const std::lock_guard lock(mutex_);
      entries_.reserve(room), free_.reserve(room), released_.reserve(room);
    }
    entries_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  Entry& own = entries_[index];
  try {
    own.id = new_id();
    own.name = name.empty() ? "data " + std::to_string(own.id) : std::move(name);
    own.home = home;
    const auto not_empty = [](const Region& region) { return region.rows != 0 && region.row_bytes != 0; };
    std::ranges::copy_if(regions, std::back_inserter(own.regions), not_empty);
    own.objects.assign(objects.begin(), objects.end());
    each_region(own, [&](const Region& region) {
      each_overlapping(region, [&](std::uint32_t other) {
        auto& theirs = entries_[other].overlaps;
        if (other == index || (!theirs.empty() && theirs.back() == index)) return;  // by another of its regions
        theirs.push_back(index);
        own.overlaps.push_back(other);
      });
      by_size_[size_of(region)].emplace(region.begin, Placed{region, index});
    });
  } catch (...) {  // no memory
    each_region(own, [&](const Region& region) {
      each_overlapping(region, [&](std::uint32_t other) { std::erase(entries_[other].overlaps, index); });
    });
    clear(index);
    throw;
  }
  free_.pop_back();
  return index;
}

void DataRegistry::remove(std::span<const std::uint32_t> indices) noexcept {
  for (const std::uint32_t index : indices) entries_[index].is_removed = true;
  const auto each_that_stays = [&](const auto& call) {
    for (const std::uint32_t index : indices)
      for (const std::uint32_t other : entries_[index].overlaps)
        if (!entries_[other].is_removed) call(entries_[other]);
  };
  each_that_stays([&](Entry& entry) {  // once each: a whole may have very many parts
    if (std::exchange(entry.is_swept, true)) return;
    std::erase_if(entry.overlaps, [&](std::uint32_t other) { return entries_[other].is_removed; });
  });
  each_that_stays([](Entry& entry) { entry.is_swept = false; });
  for (const std::uint32_t index : indices) {
    clear(index);
    free_.push_back(index);
  }
}

void DataRegistry::clear(std::uint32_t index) noexcept {
  each_region(entries_[index], [&](const Region& region) {
    const auto of_size = by_size_.find(size_of(region));
    if (of_size == by_size_.end()) return;
    auto [it, end] = of_size->second.equal_range(region.begin);
    while (it != end) it = it->second.index == index ? of_size->second.erase(it) : std::next(it);
    if (of_size->second.empty()) by_size_.erase(of_size);
  });
  entries_[index] = Entry{};
}

}  // namespace taskgrain::rt::detail
