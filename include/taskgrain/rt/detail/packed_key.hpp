#pragma once

/// A key in a payload: as it is where it fits, else in a box of its own.

#include <memory>
#include <type_traits>

#include "taskgrain/rt/detail/entry.hpp"

namespace taskgrain::rt::detail {

/// The form in which a key travels: itself, or a pointer to its box.
template <typename K>
using PackedKey = std::conditional_t<Payload::fits<K>, K, K*>;

/// \throws what copying the key throws, and std::bad_alloc
template <typename K>
PackedKey<K> pack_key(const K& key) {
  if constexpr (Payload::fits<K>)
    return key;
  else
    return new K(key);
}

/// The key of a task that stays where it is. \pre the payload has one
template <typename K>
decltype(auto) packed_key(const Payload& payload) {
  if constexpr (Payload::fits<K>)
    return payload.as<K>();
  else
    return static_cast<const K&>(*payload.as<K*>());
}

/// A key taken out of a payload: by value, or from the box that it travelled in.
template <typename K>
class UnpackedKey {
 public:
  explicit UnpackedKey(const Payload& payload) : key_(payload.as<PackedKey<K>>()) {}
  const K& operator*() const noexcept {
    if constexpr (Payload::fits<K>)
      return key_;
    else
      return *key_;
  }

 private:
  std::conditional_t<Payload::fits<K>, K, std::unique_ptr<K>> key_;
};

}  // namespace taskgrain::rt::detail
