#pragma once

/// The copies that a rank has of elements of other hosts.
///
/// A copy is listed while it is as its elements' homes are: from when it is asked for, or checked in after a write,
/// until the next fence or the next write of one of its elements by this rank. It lives while it is listed or used.
///   bytes() ≤ most, the sum of all that live

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "taskgrain/rt/detail/global_memory.hpp"
#include "taskgrain/rt/detail/pause.hpp"

namespace taskgrain::rt::detail {

struct FreeBytes {
  void operator()(std::byte* bytes) const noexcept { ::operator delete(bytes, std::align_val_t(apart)); }
};
/// Memory for elements of any type.
using ElementBytes = std::unique_ptr<std::byte, FreeBytes>;
inline ElementBytes element_bytes(std::size_t number) {
  return ElementBytes(static_cast<std::byte*>(::operator new(number, std::align_val_t(apart))));
}

/// Elements [first, first + count) of an array.
struct GlobalCopy {
  GlobalCopy(const GlobalStorage& of, std::size_t from, std::size_t number)
      : storage(&of), first(from), count(number) {}

  const GlobalStorage* const storage;
  const std::size_t first, count;
  ElementBytes elements{};
  std::atomic<int> missing{0};  ///< parts that have not come; at 0 the elements may be read
  std::atomic<int> unheard{0};  ///< parts that have not been stored at their homes
  // Under the lock of the memory:
  int uses = 0;  ///< checkouts, and transfers under way
  bool listed = false;
  std::list<GlobalCopy>::iterator place{};

  std::size_t bytes() const noexcept { return count * storage->element_bytes; }
  std::byte* at(std::size_t index) const noexcept { return elements.get() + (index - first) * storage->element_bytes; }
  bool overlaps(const GlobalStorage& of, std::size_t from, std::size_t number) const noexcept {
    return storage == &of && first < from + number && from < first + count;
  }
  bool covers(std::size_t from, std::size_t number) const noexcept {
    return first <= from && from + number <= first + count;
  }
};

/// Used under the lock of the memory.
class GlobalCopies {
 public:
  explicit GlobalCopies(std::size_t most) : most_(most) {}

  std::size_t most() const noexcept { return most_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// A listed copy with these elements, which this makes the last to be dropped; null if there is none.
  GlobalCopy* find(const GlobalStorage& storage, std::size_t first, std::size_t count);
  /// Drops copies that nobody uses, the longest unused first, until so many bytes find room. \returns whether they do
  bool make_room(std::size_t bytes);
  /// A new copy, used once, not listed. \pre there is room
  GlobalCopy& add(const GlobalStorage& storage, std::size_t first, std::size_t count);
  void list(GlobalCopy& copy);
  /// Takes those with any of these elements off the list.
  void unlist(const GlobalStorage& storage, std::size_t first, std::size_t count);
  void unlist_all();
  /// One that is used; null if there is none.
  const GlobalCopy* used() const noexcept;
  /// One use less.
  void release(GlobalCopy& copy) {
    if (--copy.uses == 0 && !copy.listed) erase(copy);
  }

 private:
  using Listed = std::multimap<std::pair<std::uint32_t, std::size_t>, GlobalCopy*>;  // by array and first element

  void unlist(GlobalCopy& copy);
  Listed::iterator unlist(Listed::iterator at);
  void erase(GlobalCopy& copy);

  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::map<std::uint32_t, std::size_t> longest_;  // by array: the most elements of a listed copy since the last fence
  std::list<GlobalCopy> copies_;                  // the last used first
  Listed listed_;
};

}  // namespace taskgrain::rt::detail
