#pragma once

/// SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012) over 64-bit words, and the uniform numbers made of it.
///
/// The hash, its key (the bytes 1 … 15, 0) and the scaling are those of Task Bench, so that random patterns and
/// imbalances are the same, task for task.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace taskgrain {

template <std::size_t N>
constexpr std::uint64_t siphash(const std::array<std::uint64_t, 2>& key,
                                const std::array<std::int64_t, N>& words) noexcept {
  std::uint64_t v0 = 0x736f6d6570736575 ^ key[0];
  std::uint64_t v1 = 0x646f72616e646f6d ^ key[1];
  std::uint64_t v2 = 0x6c7967656e657261 ^ key[0];
  std::uint64_t v3 = 0x7465646279746573 ^ key[1];
  const auto rounds = [&](int count) {
    for (int round = 0; round < count; ++round) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto absorb = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  for (const std::int64_t word : words) absorb(static_cast<std::uint64_t>(word));
  absorb(std::uint64_t{8 * N} << 56);  // the length in bytes, in the last word's top byte
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

/// Uniform in [0, 1], a function of the seed and the words.
template <std::size_t N>
constexpr double uniform(std::uint64_t seed, const std::array<std::int64_t, N>& words) noexcept {
  return static_cast<double>(siphash({0x0807060504030201 ^ seed, 0x000f0e0d0c0b0a09}, words)) * 0x1.p-64;
}

}  // namespace taskgrain
