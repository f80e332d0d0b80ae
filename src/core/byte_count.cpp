#include "byte_count.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace taskgrain {
namespace {

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  text = text.substr(0, text.find_last_not_of(spaces) + 1);
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return text;
}

/// The power of 2 that a unit stands for. `KB` is none: it means 1000 bytes to some and 1024 to others.
std::optional<int> power_of(std::string_view unit) noexcept {
  if (unit.empty() || unit == "B") return 0;
  const std::size_t place = std::string_view("KMGTkmgt").find(unit.front());
  if (place == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "iB")) return {};
  return 10 * static_cast<int>(place % 4 + 1);
}

/// Nothing unless it is digits only.
std::optional<std::int64_t> plain_digits(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  std::int64_t number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || text.front() == '-') return {};
  return number;
}

}  // namespace

std::optional<std::int64_t> byte_count(std::string_view text) noexcept {
  constexpr double most = 0x1p53;  // a double has each whole number below it
  text = trimmed(text);
  if (const auto number = plain_digits(text)) return number;
  double number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto power = power_of(trimmed(text.substr(static_cast<std::size_t>(stopped - text.data()))));
  if (error != std::errc() || !power) return {};
  number = std::ldexp(number, *power);
  if (std::signbit(number) || !(number < most) || number != std::floor(number)) return {};
  return static_cast<std::int64_t>(number);
}

}  // namespace taskgrain
