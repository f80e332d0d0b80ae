#pragma once

/// Keys of tasks: how they are compared, hashed and shown.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace taskgrain::rt::detail {

template <typename T>
concept TupleLike = requires { std::tuple_size<T>::value; };

/// Classes with a hash of their own, which may leave something out, as their == does.
template <typename K>
concept Hashed = std::is_class_v<K> && requires(const K& key) { std::hash<K>{}(key); };

/// Keys that are equal if and only if their bytes are.
template <typename K>
concept Plain =
    std::is_trivially_copyable_v<K> && std::has_unique_object_representations_v<K> && sizeof(K) <= 64 && !Hashed<K>;

/// Pairs and tuples: equal if and only if their parts are, but their bytes may hold gaps.
template <typename K>
concept Parts = TupleLike<K> && !Plain<K> && !Hashed<K>;

/// True for a type that can be a key. The functions below leave out what is missing, so that the compiler complains of
/// this alone.
template <typename K>
constexpr bool is_key() {
  if constexpr (Plain<K>)
    return true;
  else if constexpr (Parts<K>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_key<std::tuple_element_t<I, K>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<K>>());
  else
    return requires(const K& key) {
      { std::hash<K>{}(key) } -> std::convertible_to<std::size_t>;
      { key == key } -> std::convertible_to<bool>;
    };
}

/// The best of some dozen odd numbers drawn by chance: with it the points of a step are spread well, whatever their
/// stride is (tests/cpp/rt/flow/key_test.cpp). The golden ratio is bad at powers of two.
inline constexpr std::uint64_t odd = 0xe263183773ef6509;

/// Adds a word to a hash. A product moves a change of a bit to higher bits only, so the bytes are reversed: the next
/// product carries it to all the others.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  return __builtin_bswap64((hash ^ word) * odd);
}

template <Plain K>
auto words_of(const K& key) noexcept {
  std::array<std::uint64_t, (sizeof(K) + 7) / 8> words{};
  std::memcpy(words.data(), &key, sizeof(K));
  return words;
}

template <typename K>
std::uint64_t mix_key(std::uint64_t hash, const K& key) noexcept {
  if constexpr (Plain<K>) {
    for (const std::uint64_t word : words_of(key)) hash = mix(hash, word);
  } else if constexpr (Parts<K>) {
    std::apply([&](const auto&... parts) { ((hash = mix_key(hash, parts)), ...); }, key);
  } else if constexpr (is_key<K>()) {
    hash = mix(hash, static_cast<std::uint64_t>(std::hash<K>{}(key)));
  }
  return hash;
}

/// Hash of a key. Use its high bits, which look as if drawn by chance; the low bits are weaker. Integers, arrays, pairs
/// and tuples of them and structures without gaps are hashed here, others by std::hash.
template <typename K>
std::uint64_t hash_key(const K& key) noexcept {
  return mix_key(0, key) * odd;
}

/// True if each part of a pair or tuple is compared bytewise.
template <typename K>
inline constexpr bool plain_parts = false;
template <template <typename...> typename Tuple, typename... P>
inline constexpr bool plain_parts<Tuple<P...>> = (Plain<P> && ...);

/// A key as one word: its bytes, or those of its parts in turn, if they fit, else a hash.
template <typename K>
std::uint64_t word_of(const K& key) noexcept {
  constexpr bool fits = sizeof(K) <= sizeof(std::uint64_t);
  if constexpr (fits && Plain<K>) {
    return words_of(key)[0];
  } else if constexpr (fits && Parts<K> && plain_parts<K>) {
    std::uint64_t word = 0;
    std::size_t bits = 0;
    std::apply([&](const auto&... parts) { ((word |= words_of(parts)[0] << bits, bits += 8 * sizeof parts), ...); },
               key);
    return word;
  } else {
    return mix_key(0, key);
  }
}

/// The worker of a key, if the user does not say: 0 … workers - 1. Without one more product the keys of a worker would
/// share the high bits of their hashes, and keys larger than a word would lie in one part of its table.
/// \pre 0 < workers < 2^32
template <typename K>
std::uint64_t worker_of_key(const K& key, std::uint64_t workers) noexcept {
  return ((hash_key(key) * odd) >> 32) * workers >> 32;
}

template <typename K>
bool same_key(const K& a, const K& b) noexcept {
  if constexpr (Plain<K>)
    return words_of(a) == words_of(b);
  else if constexpr (is_key<K>())
    return a == b;
  else
    return false;
}

// The runtime puts texts together: what std::string needs for it takes long to compile.
std::string joined(std::initializer_list<std::string_view> parts, std::string_view between = {});
std::string number_text(std::int64_t number);
std::string number_text(std::uint64_t number);
template <std::integral N>
std::string number_text(N number) {
  return number_text(static_cast<std::conditional_t<std::is_signed_v<N>, std::int64_t, std::uint64_t>>(number));
}
/// The text that `print` prints of a value.
std::string printed(const void* value, void (*print)(std::ostream& out, const void* value));

/// The key for people: what `<<` prints, tuples as (1, 2), and "?" for what cannot be shown.
template <typename K>
std::string key_text(const K& key) {
  if constexpr (TupleLike<K>) {
    return std::apply(
        [](const auto&... parts) { return joined({"(", joined({std::string_view(key_text(parts))...}, ", "), ")"}); },
        key);
  } else if constexpr (std::is_enum_v<K>) {
    return key_text(static_cast<std::underlying_type_t<K>>(key));
  } else if constexpr (std::integral<K>) {
    return number_text(key);
  } else if constexpr (requires(std::ostream& out) { out << key; }) {
    return printed(&key, [](std::ostream& out, const void* value) { out << *static_cast<const K*>(value); });
  } else {
    return "?";
  }
}

}  // namespace taskgrain::rt::detail
