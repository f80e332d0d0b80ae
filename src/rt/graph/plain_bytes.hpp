#pragma once

/// Plain values one after another in bytes, for what ranks exchange.

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace taskgrain::rt::detail {

template <typename T>
void append(std::vector<std::byte>& to, const T& what) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&what);
  to.insert(to.end(), bytes, bytes + sizeof what);
}

/// Takes the first one from the bytes.
template <typename T>
T take(std::span<const std::byte>& from) {
  T what;
  std::memcpy(&what, from.data(), sizeof what);
  from = from.subspan(sizeof what);
  return what;
}

}  // namespace taskgrain::rt::detail
