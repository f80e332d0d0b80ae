#include "taskgrain/rt/serialize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/record_ring.hpp"
#include "taskgrain/rt/detail/messages.hpp"
#include "taskgrain/rt/error.hpp"

namespace mine {

/// A type of a user that has a pointer in it.
struct Tree {
  std::string name;
  std::vector<Tree> children;
  bool operator==(const Tree&) const = default;
};

/// One whose bytes might travel, but its Serializer counts its uses.
struct Counted {
  int value = 0;
  static inline int writes = 0;
  bool operator==(const Counted&) const = default;
};

}  // namespace mine

template <>
struct taskgrain::rt::Serializer<mine::Tree> {
  static void write(const mine::Tree& value, Writer& to) {
    Serializer<std::string>::write(value.name, to);
    Serializer<std::vector<mine::Tree>>::write(value.children, to);
  }
  static mine::Tree read(Reader& from) {
    std::string name = Serializer<std::string>::read(from);
    return {std::move(name), Serializer<std::vector<mine::Tree>>::read(from)};
  }
};

template <>
struct taskgrain::rt::Serializer<mine::Counted> {
  static void write(const mine::Counted& value, Writer& to) {
    ++mine::Counted::writes;
    Serializer<int>::write(value.value, to);
  }
  static mine::Counted read(Reader& from) { return {Serializer<int>::read(from)}; }
};

namespace taskgrain::rt {
namespace {

/// Writes all of them one after another and reads them back.
template <typename... Args>
std::tuple<Args...> there_and_back(const Args&... args) {
  Writer to;
  (Serializer<Args>::write(args, to), ...);
  // As a transport delivers them: aligned to 16 bytes, and at another place.
  struct alignas(16) Line {
    std::byte bytes[16];
  };
  static std::vector<Line> memory;
  memory.resize(to.bytes().size() / 16 + 1);
  std::memcpy(memory.data(), to.bytes().data(), to.bytes().size());
  Reader from({memory.data()->bytes, to.bytes().size()});
  return std::tuple<Args...>{Serializer<Args>::read(from)...};
}

template <typename T>
bool comes_back(const T& value) {
  return std::get<0>(there_and_back(value)) == value;
}

enum class Colour : std::uint8_t { red, green };

TEST(Serializer, PlainTypes) {
  EXPECT_TRUE(comes_back(42));
  EXPECT_TRUE(comes_back('x'));
  EXPECT_TRUE(comes_back(-0.5));
  EXPECT_TRUE(comes_back(Colour::green));
  EXPECT_TRUE((comes_back(std::array<std::int64_t, 3>{1, 2, 3})));
  EXPECT_TRUE(comes_back(true));
}

TEST(Serializer, PairsAndTuples) {
  EXPECT_TRUE((comes_back(std::pair(1, 2.5))));
  EXPECT_TRUE((comes_back(std::pair(std::string("a"), 2))));
  EXPECT_TRUE((comes_back(std::tuple(1, std::string("two"), std::vector<int>{3, 4}, 5.0))));
  EXPECT_TRUE(comes_back(std::tuple<>()));
}

TEST(Serializer, StringsAndVectors) {
  EXPECT_TRUE(comes_back(std::string()));
  EXPECT_TRUE(comes_back(std::string("with a \0 in it", 14)));
  EXPECT_TRUE(comes_back(std::string(100'000, 'x')));
  EXPECT_TRUE(comes_back(std::vector<int>()));
  EXPECT_TRUE(comes_back(std::vector<double>(1000, 0.25)));
  EXPECT_TRUE(comes_back(std::vector<bool>{true, false, true}));
  EXPECT_TRUE(comes_back(std::vector<std::string>{"a", "", "c"}));
  EXPECT_TRUE(comes_back(std::vector<std::vector<int>>{{1}, {}, {2, 3}}));
}

TEST(Serializer, ViewsAreThereWithoutACopy) {
  const std::vector<double> numbers{1, 2, 3};
  const auto [first, same, last] = there_and_back('c', view<const double>(numbers), std::string("after"));
  EXPECT_EQ(first, 'c');
  EXPECT_THAT(same, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(same.data()) % alignof(double), 0u);
  EXPECT_EQ(last, "after");
  EXPECT_TRUE(std::get<0>(there_and_back(view<int>())).empty());
}

TEST(Serializer, SpansAndStringViewsTravelAsViewsDo) {
  const std::vector<int> numbers{4, 5};
  const auto [same, text] = there_and_back(std::span<const int>(numbers), std::string_view("text"));
  EXPECT_THAT(same, testing::ElementsAre(4, 5));
  EXPECT_NE(same.data(), numbers.data());
  EXPECT_EQ(text, "text");
}

struct alignas(16) Wide {
  double a, b;
};

TEST(Serializer, ElementsAreAlignedWhateverComesBefore) {
  const std::vector<Wide> wide{{1, 2}, {3, 4}};
  for (std::size_t before = 0; before < 20; ++before) {
    const auto [text, same] = there_and_back(std::string(before, 'x'), view<const Wide>(wide));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(same.data()) % 16, 0u) << before;
    EXPECT_EQ(same[1].b, 4);
  }
}

TEST(Serializer, TypesOfUsers) {
  EXPECT_TRUE(comes_back(mine::Tree{"root", {{"left", {}}, {"right", {{"leaf", {}}}}}}));
}

TEST(Serializer, OfAUserIsAlsoThatOfElements) {
  mine::Counted::writes = 0;
  EXPECT_TRUE(comes_back(std::vector<mine::Counted>{{1}, {2}, {3}}));
  EXPECT_EQ(mine::Counted::writes, 3);
}

TEST(Reader, RefusesWhatIsNotThere) {
  Writer message;
  const std::int32_t number = 7;
  message.write(&number, sizeof number);
  Reader reader(message.bytes());
  std::int64_t larger = 0;
  EXPECT_THROW(reader.read(&larger, sizeof larger), UsageError);
  EXPECT_THROW(reader.take(5), UsageError);
  std::int32_t found = 0;
  reader.read(&found, sizeof found);
  EXPECT_EQ(found, number);
  EXPECT_THROW(reader.align(16), UsageError);
}

TEST(Writer, PutsATaskAndASmallOutputIntoOneCacheLine) {
  Writer message;
  detail::MessageKind{}.begin(message);
  Serializer<std::uint32_t>::write(0, message);
  Serializer<std::array<std::uint32_t, 2>>::write({}, message);
  std::array<std::byte, 16> output{};
  Serializer<view<std::byte>>::write(output, message);
  std::array<std::uint64_t, 1024> memory alignas(detail::apart){};
  detail::RecordRing ring(std::as_writable_bytes(std::span(memory)));
  ASSERT_TRUE(ring.push(0, message.bytes()));
  ring.take([](std::uint64_t, std::span<const std::byte>) {});
  EXPECT_EQ(*std::as_const(memory).data(), 1U) << "lines, as the receiver tells the sender";
}

TEST(Writer, GrowsAndKeepsWhatItHas) {
  Writer to;
  std::vector<std::byte> all;
  for (std::size_t size = 0; size < 2000; size += 7) {
    const std::vector<std::byte> piece(size, static_cast<std::byte>(size));
    to.write(piece.data(), piece.size());
    all.insert(all.end(), piece.begin(), piece.end());
  }
  ASSERT_EQ(to.bytes().size(), all.size());
  EXPECT_EQ(std::memcmp(to.bytes().data(), all.data(), all.size()), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to.bytes().data()) % 16, 0u);
}

}  // namespace
}  // namespace taskgrain::rt
