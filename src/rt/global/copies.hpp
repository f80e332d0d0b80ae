#pragma once

/// The copies that a rank has of elements of other hosts.
///
/// A copy is listed while it is as its elements' homes are: from when it is asked for, or checked in after a write,
/// until the next fence or the next write of one of its elements by this rank. It lives while it is listed or used.
///   bytes() ≤ most, the sum of all that live
/// A copy is made with all the memory that it needs until it ends, so that the end of a checkout does not fail.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

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

struct GlobalCopy;
using ListedCopies = std::multimap<std::pair<std::uint64_t, std::size_t>, GlobalCopy*>;  // by array and first element

/// Another host that has elements of a copy, and one of its ranks.
struct GlobalHome {
  int host, rank;
};

/// Elements [first, first + count) of an array.
struct GlobalCopy {
  GlobalCopy(const GlobalStorage& of, std::size_t from, std::size_t number, std::vector<GlobalHome> on)
      : storage(&of), first(from), count(number), homes(std::move(on)), elements(element_bytes(bytes())),
        unheard(parts()), put(1, this) {}

  const GlobalStorage* const storage;
  const std::size_t first, count;
  const std::vector<GlobalHome> homes;
  const ElementBytes elements;
  std::atomic<int> missing{0};    ///< parts that have not come; at 0 the elements may be read
  std::atomic<bool> lost{false};  ///< not all parts were asked for
  std::atomic<int> unheard;       ///< parts that have not been stored at their homes
  // Under the lock of the memory:
  int uses = 1;                    ///< checkouts, and transfers under way
  std::uint64_t put_number = 0;    ///< among all that go home
  std::list<GlobalCopy*> put;      ///< this, while it does not go home
  ListedCopies::node_type node{};  ///< empty while it is listed
  std::list<GlobalCopy>::iterator place{};

  /// The number of parts: those of the other hosts, and that of this one, which may be empty.
  int parts() const noexcept { return static_cast<int>(homes.size()) + 1; }
  bool listed() const noexcept { return node.empty(); }
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
  GlobalCopy& add(const GlobalStorage& storage, std::size_t first, std::size_t count, std::vector<GlobalHome> homes);
  void list(GlobalCopy& copy) noexcept;
  void unlist(GlobalCopy& copy) noexcept;
  /// Takes those with any of these elements off the list.
  void unlist(const GlobalStorage& storage, std::size_t first, std::size_t count) noexcept;
  void unlist_all() noexcept;
  /// A copy that is used; null if there is none.
  const GlobalCopy* used() const noexcept;
  /// Ends one use of a copy.
  void release(GlobalCopy& copy) noexcept {
    if (--copy.uses == 0 && !copy.listed()) erase(copy);
  }

 private:
  ListedCopies::iterator unlist(ListedCopies::iterator at) noexcept;
  void erase(GlobalCopy& copy) noexcept;

  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::list<GlobalCopy> copies_;  // the last used first
  ListedCopies listed_;
};

}  // namespace taskgrain::rt::detail
