#include "comm/record_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "rt/stress.hpp"

namespace taskgrain::rt::detail {
namespace {

/// Memory for a ring, and its two ends.
struct Pair {
  explicit Pair(std::size_t lines)
      : memory(apart + lines * RecordRing::line), sender({memory.data(), memory.size()}),
        receiver({memory.data(), memory.size()}) {}

  std::vector<std::byte, ApartAllocator<std::byte>> memory;
  RecordRing sender, receiver;
};

std::span<const std::byte> bytes_of(std::span<const std::uint8_t> of) { return std::as_bytes(of); }

/// `size` bytes that follow from a number.
std::vector<std::uint8_t> record(std::uint64_t number, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t k = 0; k < size; ++k) bytes[k] = static_cast<std::uint8_t>(mixed(number) >> (k % 8 * 8));
  return bytes;
}

TEST(RecordRing, HasNothingAtTheBeginning) {
  Pair pair(16);
  EXPECT_TRUE(pair.receiver.empty());
  EXPECT_FALSE(pair.receiver.take([](std::uint64_t, std::span<const std::byte>) { FAIL(); }));
}

TEST(RecordRing, DeliversTypesAndBothPiecesAligned) {
  Pair pair(64);
  const auto a = record(1, 5), b = record(2, 40);
  ASSERT_TRUE(pair.sender.push(7, bytes_of(a), bytes_of(b)));
  EXPECT_FALSE(pair.receiver.empty());
  int calls = 0;
  EXPECT_TRUE(pair.receiver.take([&](std::uint64_t type, std::span<const std::byte> bytes) {
    ++calls;
    EXPECT_EQ(type, 7u);
    ASSERT_EQ(bytes.size(), 45u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 16, 0u);
    EXPECT_EQ(std::memcmp(bytes.data(), a.data(), a.size()), 0);
    EXPECT_EQ(std::memcmp(bytes.data() + a.size(), b.data(), b.size()), 0);
  }));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(pair.receiver.empty());
}

TEST(RecordRing, RefusesWhatFindsNoRoomAndTakesItLater) {
  Pair pair(16);
  int sent = 0;
  while (pair.sender.push(static_cast<std::uint64_t>(sent), {})) ++sent;
  EXPECT_EQ(sent, 15);  // the word at line `sent` must be free
  EXPECT_FALSE(pair.sender.push(0, {}));
  int taken = 0;
  pair.receiver.take(
      [&](std::uint64_t type, std::span<const std::byte>) { EXPECT_EQ(type, static_cast<std::uint64_t>(taken++)); });
  EXPECT_EQ(taken, sent);
  EXPECT_TRUE(pair.sender.push(0, {}));
}

TEST(RecordRing, TakesRecordsOfAnySizeAtAnyPlace) {
  for (const std::size_t lines : {16u, 32u, 128u}) {
    Pair pair(lines);
    for (std::size_t first = 0; first < lines; ++first)
      for (std::size_t size = 0; size <= pair.sender.most_bytes(); size += 31) {
        const auto sent = record(size, size);
        ASSERT_TRUE(pair.sender.push(size, bytes_of(sent)));
        bool came = false;
        pair.receiver.take([&](std::uint64_t, std::span<const std::byte> bytes) {
          came = bytes.size() == size && (size == 0 || std::memcmp(bytes.data(), sent.data(), size) == 0);
        });
        ASSERT_TRUE(came) << "size " << size << " of " << lines << " lines";
      }
  }
}

/// A sender may end at any moment: all but the last thing it writes is nothing to the receiver.
TEST(RecordRing, HasNothingOfARecordThatIsHalfWritten) {
  for (std::size_t places = 0; places < 40; ++places) {
    Pair pair(16);
    for (std::size_t k = 0; k < places; ++k) {
      ASSERT_TRUE(pair.sender.push(k, bytes_of(record(k, 60))));
      pair.receiver.take([](std::uint64_t, std::span<const std::byte>) {});
    }
    const auto before = pair.memory;
    ASSERT_TRUE(pair.sender.push(1, bytes_of(record(9, 100))));
    // The one word that was 0 and is not: without it, the rest is as if the sender had ended before it.
    const auto first_word = [&](std::size_t line) {
      std::uint64_t word = 0;
      std::memcpy(&word, pair.memory.data() + apart + line * RecordRing::line, sizeof word);
      return word;
    };
    const std::size_t at = 2 * places % 16;
    ASSERT_NE(first_word(at), 0u) << places;
    std::memcpy(pair.memory.data() + apart + at * RecordRing::line, before.data() + apart + at * RecordRing::line, 8);
    EXPECT_TRUE(pair.receiver.empty());
    EXPECT_FALSE(pair.receiver.take([](std::uint64_t, std::span<const std::byte>) { FAIL(); }));
  }
}

TEST(RecordRing, KeepsOrderAndBytesBetweenTwoThreads) {
  for (const std::size_t lines : {16u, 64u, 1024u}) {
    Pair pair(lines);
    const std::int64_t number = rounds(200'000) / 3;
    std::thread sends([&] {
      Dice dice(lines);
      Backoff backoff;
      std::vector<std::uint8_t> bytes;
      for (std::int64_t k = 0; k < number; ++k) {
        const std::size_t size = dice.below(8) == 0 ? dice.below(pair.sender.most_bytes() + 1) : dice.below(100);
        bytes = record(static_cast<std::uint64_t>(k), size);
        for (; !pair.sender.push(static_cast<std::uint64_t>(k), bytes_of(bytes)); backoff.wait()) {
        }
        if (dice.below(64) == 0) dice.tarry(2000);
      }
    });
    Dice dice(lines + 1);
    Backoff backoff;
    std::int64_t next = 0;
    bool well = true;
    while (next < number) {
      if (pair.receiver.empty()) {
        backoff.wait();
        continue;
      }
      pair.receiver.take([&](std::uint64_t type, std::span<const std::byte> bytes) {
        const auto expected = record(type, bytes.size());
        well = well && type == static_cast<std::uint64_t>(next++) &&
               (bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
      });
      if (dice.below(64) == 0) dice.tarry(2000);
    }
    sends.join();
    EXPECT_TRUE(well);
    EXPECT_TRUE(pair.receiver.empty());
  }
}

TEST(RecordRing, GivesOthersTheirTurnThoughItsSenderNeverStops) {
  Pair pair(16);
  ASSERT_TRUE(pair.sender.push(0, {}));
  int taken = 0;
  pair.receiver.take([&](std::uint64_t, std::span<const std::byte>) {
    ++taken;
    ASSERT_LT(taken, 1000);
    pair.sender.push(0, {});
  });
  EXPECT_LE(taken, 16);
}

}  // namespace
}  // namespace taskgrain::rt::detail
