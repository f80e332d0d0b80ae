#pragma once

/// SipHash-2-4 over bytes, written from the paper (Aumasson and Bernstein, INDOCRYPT 2012, section 2) and not from the
/// core's: what the random patterns and the imbalance are held to.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

namespace reference {

using Bytes = std::span<const std::uint8_t>;

inline std::uint64_t little_endian(Bytes bytes) {
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) word |= std::uint64_t{bytes[k]} << (8 * k);
  return word;
}

class SipState {
 public:
  SipState(std::uint64_t k0, std::uint64_t k1)
      : v_{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573} {}

  void compress(std::uint64_t word) {
    v_[3] ^= word;
    round(), round();
    v_[0] ^= word;
  }
  std::uint64_t finish() {
    v_[2] ^= 0xff;
    round(), round(), round(), round();
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  void half_round(int a, int b, int c, int d, int s, int t) {
    v_[a] += v_[b];
    v_[c] += v_[d];
    v_[b] = std::rotl(v_[b], s) ^ v_[a];
    v_[d] = std::rotl(v_[d], t) ^ v_[c];
    v_[a] = std::rotl(v_[a], 32);
  }
  void round() {
    half_round(0, 1, 2, 3, 13, 16);
    half_round(2, 1, 0, 3, 17, 21);
  }

  std::uint64_t v_[4];
};

inline std::uint64_t siphash(const std::array<std::uint8_t, 16>& key, Bytes message) {
  SipState state(little_endian(Bytes(key).first(8)), little_endian(Bytes(key).last(8)));
  const std::size_t whole = message.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.compress(little_endian(message.subspan(at, 8)));
  state.compress(little_endian(message.subspan(whole)) | static_cast<std::uint64_t>(message.size()) << 56);
  return state.finish();
}

/// Task Bench's u: the hash of the words' bytes under the key 1 … 15, 0, whose first half the seed changes; over 2^64.
inline double uniform(std::uint64_t seed, std::initializer_list<std::int64_t> words) {
  std::array<std::uint8_t, 16> key{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0};
  for (std::size_t k = 0; k < 8; ++k) key[k] ^= static_cast<std::uint8_t>(seed >> (8 * k));
  std::vector<std::uint8_t> bytes;
  for (const std::int64_t word : words)
    for (int k = 0; k < 8; ++k) bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(word) >> (8 * k)));
  return static_cast<double>(siphash(key, bytes)) / 18446744073709551616.0;
}

}  // namespace reference
