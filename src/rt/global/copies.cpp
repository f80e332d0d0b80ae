#include "global/copies.hpp"

#include <algorithm>

namespace taskgrain::rt::detail {

GlobalCopy* GlobalCopies::find(const GlobalStorage& storage, std::size_t first, std::size_t count) {
  // Those that may cover it begin at most so far before it.
  const std::size_t from = first - std::min(first, longest_[storage.number]);
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

GlobalCopy& GlobalCopies::add(const GlobalStorage& storage, std::size_t first, std::size_t count) {
  GlobalCopy& copy = copies_.emplace_front(storage, first, count);
  copy.place = copies_.begin();
  try {
    copy.elements = element_bytes(copy.bytes());
  } catch (...) {
    copies_.pop_front();
    throw;
  }
  copy.uses = 1;
  bytes_ += copy.bytes();
  return copy;
}

const GlobalCopy* GlobalCopies::used() const noexcept {
  const auto found = std::ranges::find_if(copies_, [](const GlobalCopy& copy) { return copy.uses > 0; });
  return found == copies_.end() ? nullptr : &*found;
}

void GlobalCopies::list(GlobalCopy& copy) {
  listed_.emplace(std::pair(copy.storage->number, copy.first), &copy);
  copy.listed = true;
  std::size_t& longest = longest_[copy.storage->number];
  longest = std::max(longest, copy.count);
}

void GlobalCopies::unlist(const GlobalStorage& storage, std::size_t first, std::size_t count) {
  const std::size_t from = first - std::min(first, longest_[storage.number]);
  for (auto at = listed_.lower_bound({storage.number, from});
       at != listed_.end() && at->first.first == storage.number && at->first.second < first + count;)
    at = at->second->overlaps(storage, first, count) ? unlist(at) : std::next(at);
}

void GlobalCopies::unlist_all() {
  for (auto at = listed_.begin(); at != listed_.end();) at = unlist(at);
  longest_.clear();
}

void GlobalCopies::unlist(GlobalCopy& copy) {
  const auto [begin, end] = listed_.equal_range({copy.storage->number, copy.first});
  unlist(std::find_if(begin, end, [&](const auto& one) { return one.second == &copy; }));
}

GlobalCopies::Listed::iterator GlobalCopies::unlist(Listed::iterator at) {
  GlobalCopy& copy = *at->second;
  const auto next = listed_.erase(at);
  copy.listed = false;
  if (copy.uses == 0) erase(copy);
  return next;
}

void GlobalCopies::erase(GlobalCopy& copy) {
  bytes_ -= copy.bytes();
  copies_.erase(copy.place);
}

}  // namespace taskgrain::rt::detail
