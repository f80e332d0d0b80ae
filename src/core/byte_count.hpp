#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace taskgrain {

/// Bytes as people write them: `4096`, `64k`, `1.5 MiB`; docs/reference/cli.md says what may be written. This is
/// the only reader: flags of drivers come here, and through Python those of `taskgrain` and the values of study files.
/// \return nothing unless it is a whole number of bytes, and with a unit or an exponent one below 2^53
std::optional<std::int64_t> byte_count(std::string_view text) noexcept;

}  // namespace taskgrain
