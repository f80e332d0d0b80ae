#include "arena.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <system_error>

namespace taskgrain::rt::detail {

namespace {
constexpr std::size_t least_reserved = std::size_t{1} << 20;
}

std::byte* Arena::allocate(std::size_t bytes) {
  const auto short_of = [this, wanted = bytes] {
    return std::system_error(ENOMEM, std::system_category(),
                             "no " + std::to_string(wanted) + " bytes in one piece are left of the " +
                                 std::to_string(memory_.size()) + " of shared memory that this rank has");
  };
  if (bytes > memory_.size()) throw short_of();
  bytes = std::max<std::size_t>(1, (bytes + apart - 1) / apart) * apart;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(free_, [&](const auto& one) { return one.second >= bytes; });
  if (found == free_.end()) throw short_of();
  const auto [offset, size] = *found;
  if (offset + bytes > reserved_) {
    // More than is asked for, because the kernel takes long to be asked; or no more, where it has no more.
    const std::size_t enough = offset + bytes, more = std::min(std::max(enough, 2 * reserved_), memory_.size());
    try {
      segment_.reserve(reserved_, std::max(more, std::min(least_reserved, memory_.size())) - reserved_);
      reserved_ = std::max(more, std::min(least_reserved, memory_.size()));
    } catch (const std::system_error&) {
      segment_.reserve(reserved_, enough - reserved_);
      reserved_ = enough;
    }
  }
  used_.emplace(offset, bytes);
  free_.erase(found);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  return memory_.data() + offset;
}

void Arena::release(const std::byte* piece) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(static_cast<std::size_t>(piece - memory_.data()));
  if (found == used_.end()) return;
  auto node = used_.extract(found);
  const auto at = free_.insert(std::move(node)).position;  // moves the node: no memory is needed
  const auto join = [&](auto first, auto second) {
    if (first->first + first->second != second->first) return false;
    first->second += second->second;
    free_.erase(second);
    return true;
  };
  if (const auto next = std::next(at); next != free_.end()) join(at, next);
  if (at != free_.begin()) join(std::prev(at), at);
}

}  // namespace taskgrain::rt::detail
