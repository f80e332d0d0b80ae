#pragma once

/// The data of a sequence: where it lies, and which overlaps which.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt::detail {

/// True if two sets of rows have a byte in common.
bool overlap(const Region& a, const Region& b) noexcept;

class DataRegistry {
 public:
  struct Entry {
    std::uint64_t id = 0;                 // of the whole process; 0: free
    std::vector<std::uint32_t> overlaps;  // indices of others
    int home = 0;
    bool token = false;  // its memory says nothing
    std::string name;
    // Across ranks:
    int rank = -1;                // whose tasks write it; -1: of any
    bool travels = true;          // its bytes say everything
    std::uint64_t number = 0;     // the same on all ranks; 0: bytes between them
    std::weak_ptr<void> owner{};  // of the memory, if it may go
    std::vector<Region> regions;
    std::vector<Region> objects;                // that have the regions, and no bytes for other ranks: they order alone
    bool is_removed = false, is_swept = false;  // by `reclaim`
  };

  // -- by the thread that gives tasks

  std::size_t size() const noexcept { return entries_.size(); }
  const Entry& operator[](std::uint32_t index) const noexcept { return entries_[index]; }
  Entry& operator[](std::uint32_t index) noexcept { return entries_[index]; }
  /// True if somebody holds it.
  bool is_named(std::uint32_t index) const {
    const std::lock_guard lock(mutex_);
    return entries_[index].number != 0 && std::ranges::find(released_, index) == released_.end();
  }
  bool has(const Access& access) const noexcept {
    return access.id != 0 && access.index < entries_.size() && entries_[access.index].id == access.id;
  }
  /// \returns its index
  std::uint32_t add(std::span<const Region> regions, std::string name, int home, std::span<const Region> objects = {});
  /// Forgets the data that was released, if nothing uses it and there is enough of it that it is worth looking.
  /// \param used  used(index) is whether a task may still use it
  template <typename Used>
  void reclaim(const Used& used) {
    const std::lock_guard lock(mutex_);
    if (released_.size() < worth_) return;
    const auto removed = std::ranges::partition(released_, used);
    remove(removed);
    released_.erase(removed.begin(), removed.end());
    worth_ = 2 * released_.size() + 32;
  }

  // -- by any thread

  void release(std::uint32_t index) noexcept {
    const std::lock_guard lock(mutex_);
    released_.push_back(index);
  }

 private:
  struct Placed {
    Region region;
    std::uint32_t index;
  };

  void remove(std::span<const std::uint32_t> indices) noexcept;
  /// Empties the entry of data that no other data knows.
  void clear(std::uint32_t index) noexcept;
  /// Calls `found(index)` for the owner of each region that overlaps.
  template <typename Found>
  void each_overlapping(const Region& region, const Found& found) const;
  template <typename Call>
  static void each_region(const Entry& entry, const Call& call) {
    for (const auto* regions : {&entry.regions, &entry.objects}) std::ranges::for_each(*regions, call);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  // By the logarithm of the extent, and the begin: those that overlap another one lie among a few of each size. A large
  // one lengthens no search for small ones.
  std::map<int, std::multimap<std::uintptr_t, Placed>> by_size_;

  mutable std::mutex mutex_;             // protects the two below
  std::vector<std::uint32_t> released_;  // by destructors
  std::size_t worth_ = 32;
};

}  // namespace taskgrain::rt::detail
