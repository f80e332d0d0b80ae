#include "byte_count.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace taskgrain {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  text = text.substr(0, text.find_last_not_of(spaces) + 1);
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text;
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// The power of 2 that a unit stands for. `KB` is none: it means 1000 bytes to some and 1024 to others.
std::optional<int> power_of(std::string_view unit) noexcept {
  if (unit.empty() || unit == "B") return 0;
  const std::size_t place = std::string_view("KMGTkmgt").find(unit.front());
  if (place == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "iB")) return {};
  return 10 * static_cast<int>(place % 4 + 1);
}

/// `digits` times 10 to the power of `exponent`.
struct Decimal {
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
};

bool multiply(std::uint64_t& value, unsigned factor) noexcept {
  if (value > static_cast<std::uint64_t>(most) / factor) return false;
  value *= factor;
  return true;
}

std::optional<Decimal> decimal(std::string_view text) noexcept {
  Decimal found;
  std::size_t at = 0;
  bool point = false, some = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
    } else {
      if (!multiply(found.digits, 10)) return {};
      found.digits += static_cast<unsigned>(text[at] - '0');
      found.exponent -= point ? 1 : 0;
      some = true;
    }
  }
  if (!some) return {};
  if (at == text.size()) return found;
  if (text[at] != 'e' && text[at] != 'E') return {};
  text.remove_prefix(at + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int32_t exponent = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, exponent);
  if (error != std::errc() || stopped != end || exponent < 0) return {};
  found.exponent += exponent;
  return found;
}

}  // namespace

std::optional<std::int64_t> byte_count(std::string_view text) noexcept {
  text = trimmed(text);
  const std::size_t after = text.find_last_of("0123456789.") + 1;
  const auto power = power_of(trimmed(text.substr(after)));
  const auto number = decimal(text.substr(0, after));
  if (!power || !number) return {};

  // Exact, because a rounded number of bytes may be whole where the one that was written is not.
  auto [value, exponent] = *number;
  if (value == 0) return 0;
  for (; exponent > 0; --exponent)
    if (!multiply(value, 10)) return {};
  std::int64_t twos = *power + exponent;  // what is left of 10 = 2 * 5
  for (; exponent < 0; ++exponent) {
    if (value % 5 != 0) return {};
    value /= 5;
  }
  for (; twos < 0; ++twos) {
    if (value % 2 != 0) return {};
    value /= 2;
  }
  for (; twos > 0; --twos)
    if (!multiply(value, 2)) return {};
  if (value > static_cast<std::uint64_t>(most)) return {};
  return static_cast<std::int64_t>(value);
}

}  // namespace taskgrain
