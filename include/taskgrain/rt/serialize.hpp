#pragma once

/// The way of arguments of active messages to another rank. Plain bytes and views travel by default; for other types
/// specialise `Serializer`, by hand or with a library (docs/rt/ranks.md shows cereal and zpp_bits).

#include "taskgrain/rt/detail/cxx20.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace taskgrain::rt {

/// Elements that lie one after another. A sender gives its own; the receiver finds a copy, which is there while its
/// function runs.
template <typename T>
class view : public std::span<T> {
  static_assert(std::is_trivially_copyable_v<T>, "the elements of a view travel as bytes");
  static_assert(alignof(T) <= 16, "the elements of a view are aligned to 16 bytes at most");

 public:
  using std::span<T>::span;
  view(T* data, std::size_t number) : std::span<T>(data, number) {}
  view(std::span<T> elements) : std::span<T>(elements) {}
};

namespace detail {
class SharedMemory;
}

/// Writes arguments: bytes in memory that grows.
class Writer {
 public:
  Writer() = default;
  /// \param memory  where large messages are written, so that their receivers read them in place; null: nowhere
  explicit Writer(detail::SharedMemory* memory) : memory_(memory) {}
  ~Writer() {
    if (data_ != own_) release();
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(const void* from, std::size_t bytes) {
    if (bytes > capacity_ - size_) [[unlikely]]
      grow(bytes);
    if (bytes > 0) std::memcpy(data_ + size_, from, bytes);
    size_ += bytes;
  }
  /// Goes on at the next multiple of `alignment`, a power of two up to 64, from the beginning of the message, which is
  /// aligned to 16.
  void align(std::size_t alignment) {
    static constexpr std::byte gap[64] = {};
    write(gap, -size_ & (alignment - 1));  // a division takes longer than the rest of a small message
  }
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  // -- for the runtime

  /// True if the bytes lie in the shared memory.
  bool is_shared() const noexcept { return is_shared_; }
  /// Whoever calls this releases them. \pre is_shared()
  std::span<const std::byte> give_away() noexcept {
    is_shared_ = false;
    return {std::exchange(data_, own_), std::exchange(size_, 0)};
  }

 private:
  void grow(std::size_t bytes);
  void release() noexcept;

  alignas(16) std::byte own_[496];
  std::byte* data_ = own_;  // or in the shared memory, or on the heap
  std::size_t size_ = 0, capacity_ = sizeof own_;
  detail::SharedMemory* memory_ = nullptr;
  bool is_shared_ = false;
};

/// Reads what a Writer has written, in the same order. Each throws UsageError for more than that.
class Reader {
 public:
  /// \param bytes  aligned to 16 bytes
  explicit Reader(std::span<const std::byte> bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  void read(void* to, std::size_t bytes) {
    const std::byte* const from = take(bytes);
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  /// The next bytes where they are.
  const std::byte* take(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]]
      too_few(bytes);
    return std::exchange(at_, at_ + bytes);
  }
  void align(std::size_t alignment) { take(-static_cast<std::size_t>(at_ - begin_) & (alignment - 1)); }

 private:
  [[noreturn]] void too_few(std::size_t wanted) const;

  const std::byte *begin_, *at_, *end_;
};

/// Writes a T into a message and reads it there. Specialise it for your own types:
///
///     template <> struct taskgrain::rt::Serializer<Mine> {
///       static void write(const Mine& value, Writer& to);
///       static Mine read(Reader& from);
///     };
template <typename T>
struct Serializer {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
                "specialise taskgrain::rt::Serializer for this type: its bytes say nothing on another rank");
  static constexpr bool as_bytes = true;  ///< no specialisation has been found
  static void write(const T& value, Writer& to) { to.write(&value, sizeof value); }
  static T read(Reader& from) {
    alignas(T) std::byte bytes[sizeof(T)];
    from.read(bytes, sizeof bytes);
    return *reinterpret_cast<T*>(bytes);
  }
};

template <typename T>
struct Serializer<view<T>> {
  /// Many elements lie at the beginning of a cache line: some processors copy to other places at a fifth of the speed
  /// (`rep movsb` of AMD's Zen 3 and 4).
  static constexpr std::size_t alignment(std::uint64_t number) noexcept {
    return number * sizeof(T) >= 1024 ? 64 : alignof(T);
  }
  static void write(const view<T>& value, Writer& to) {
    const std::uint64_t number = value.size();
    to.write(&number, sizeof number);
    to.align(alignment(number));
    to.write(value.data(), value.size_bytes());
  }
  static view<T> read(Reader& from) {
    std::uint64_t number = 0;
    from.read(&number, sizeof number);
    from.align(alignment(number));
    const std::byte* const bytes = from.take(number * sizeof(T));
    return {reinterpret_cast<T*>(const_cast<std::byte*>(bytes)), static_cast<std::size_t>(number)};
  }
};

/// Travels as a view does.
template <typename T>
struct Serializer<std::span<T>> {
  static void write(std::span<T> value, Writer& to) { Serializer<view<T>>::write(value, to); }
  static std::span<T> read(Reader& from) { return Serializer<view<T>>::read(from); }
};

template <typename T>
struct Serializer<std::vector<T>> {
  static constexpr bool at_once = !std::is_same_v<T, bool> && requires { Serializer<T>::as_bytes; };

  static void write(const std::vector<T>& value, Writer& to) {
    const std::uint64_t number = value.size();
    to.write(&number, sizeof number);
    if constexpr (at_once)
      to.write(value.data(), number * sizeof(T));
    else
      for (const T& one : value) Serializer<T>::write(one, to);
  }
  static std::vector<T> read(Reader& from) {
    std::uint64_t number = 0;
    from.read(&number, sizeof number);
    std::vector<T> value;
    if constexpr (at_once && std::is_default_constructible_v<T>) {
      value.resize(number);
      from.read(value.data(), number * sizeof(T));
    } else {
      value.reserve(number);
      while (number-- > 0) value.push_back(Serializer<T>::read(from));
    }
    return value;
  }
};

/// Travels as a view does.
template <>
struct Serializer<std::string_view> {
  static void write(std::string_view value, Writer& to) {
    Serializer<view<const char>>::write(view<const char>(value.data(), value.size()), to);
  }
  static std::string_view read(Reader& from) {
    const auto characters = Serializer<view<const char>>::read(from);
    return {characters.data(), characters.size()};
  }
};

template <>
struct Serializer<std::string> {
  static void write(const std::string& value, Writer& to) { Serializer<std::string_view>::write(value, to); }
  static std::string read(Reader& from) { return std::string(Serializer<std::string_view>::read(from)); }
};

template <typename... Parts>
  requires(!std::is_trivially_copyable_v<std::tuple<Parts...>>)
struct Serializer<std::tuple<Parts...>> {
  static void write(const std::tuple<Parts...>& value, Writer& to) {
    std::apply([&](const Parts&... parts) { (Serializer<Parts>::write(parts, to), ...); }, value);
  }
  static std::tuple<Parts...> read(Reader& from) { return std::tuple<Parts...>{Serializer<Parts>::read(from)...}; }
};

template <typename A, typename B>
  requires(!std::is_trivially_copyable_v<std::pair<A, B>>)
struct Serializer<std::pair<A, B>> {
  static void write(const std::pair<A, B>& value, Writer& to) {
    Serializer<A>::write(value.first, to);
    Serializer<B>::write(value.second, to);
  }
  static std::pair<A, B> read(Reader& from) {
    A first = Serializer<A>::read(from);
    return {std::move(first), Serializer<B>::read(from)};
  }
};

}  // namespace taskgrain::rt
