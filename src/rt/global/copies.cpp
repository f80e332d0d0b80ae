#include "global/copies.hpp"

#include <algorithm>

namespace taskgrain::rt::detail {

GlobalCopy* GlobalCopies::find(const GlobalStorage& storage, std::size_t first, std::size_t count) {
  // Those that may cover it begin at most so far before it.
  const std::size_t from = first - std::min(first, storage.longest_copy);
  for (auto at = listed_.lower_bound({storage.number, from}); at != listed_.end(); ++at) {
    if (at->first.first != storage.number || at->first.second > first) return nullptr;
    GlobalCopy& copy = *at->second;
    if (!copy.covers(first, count)) continue;
    copies_.splice(copies_.begin(), copies_, copy.place);
    return &copy;
  }
  return nullptr;
}

bool GlobalCopies::make_room(std::size_t bytes) {
  if (bytes > most_) return false;
  for (auto at = copies_.end(); at != copies_.begin() && bytes_ + bytes > most_;) {
    GlobalCopy& copy = *--at;
    if (copy.uses > 0) continue;
    ++at;
    unlist(copy);
  }
  return bytes_ + bytes <= most_;
}

GlobalCopy& GlobalCopies::add(const GlobalStorage& storage, std::size_t first, std::size_t count,
                              std::vector<GlobalHome> homes) {
  std::list<GlobalCopy> made;
  GlobalCopy& copy = made.emplace_back(storage, first, count, std::move(homes));
  copy.node = listed_.extract(listed_.emplace(std::pair(storage.number, first), &copy));
  copy.place = made.begin();
  copies_.splice(copies_.begin(), made);
  bytes_ += copy.bytes();
  return copy;
}

const GlobalCopy* GlobalCopies::used() const noexcept {
  const auto found = std::ranges::find_if(copies_, [](const GlobalCopy& copy) { return copy.uses > 0; });
  return found == copies_.end() ? nullptr : &*found;
}

void GlobalCopies::list(GlobalCopy& copy) noexcept {
  listed_.insert(std::move(copy.node));
  copy.storage->longest_copy = std::max(copy.storage->longest_copy, copy.count);
}

void GlobalCopies::unlist(const GlobalStorage& storage, std::size_t first, std::size_t count) noexcept {
  const std::size_t from = first - std::min(first, storage.longest_copy);
  for (auto at = listed_.lower_bound({storage.number, from});
       at != listed_.end() && at->first.first == storage.number && at->first.second < first + count;)
    at = at->second->overlaps(storage, first, count) ? unlist(at) : std::next(at);
}

void GlobalCopies::unlist_all() noexcept {
  for (auto at = listed_.begin(); at != listed_.end(); at = unlist(at)) at->second->storage->longest_copy = 0;
}

void GlobalCopies::unlist(GlobalCopy& copy) noexcept {
  const auto [begin, end] = listed_.equal_range({copy.storage->number, copy.first});
  unlist(std::find_if(begin, end, [&](const auto& one) { return one.second == &copy; }));
}

ListedCopies::iterator GlobalCopies::unlist(ListedCopies::iterator at) noexcept {
  GlobalCopy& copy = *at->second;
  const auto next = std::next(at);
  copy.node = listed_.extract(at);
  if (copy.uses == 0) erase(copy);
  return next;
}

void GlobalCopies::erase(GlobalCopy& copy) noexcept {
  bytes_ -= copy.bytes();
  copies_.erase(copy.place);
}

}  // namespace taskgrain::rt::detail
