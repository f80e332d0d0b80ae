#pragma once

/// How fast a core can do FMAs at all: a loop of assembly with more independent chains than any latency needs, no
/// memory access and nothing for a compiler to improve. What `compute_bound` is held against.

#include <cstdint>
#include <optional>
#include <string_view>

/// FLOP of `iterations` rounds on this core; they take as long as the units are busy. Nothing where there is no such
/// loop for the instruction set.
std::optional<double> fma_peak_flops(std::string_view isa, std::int64_t iterations);
