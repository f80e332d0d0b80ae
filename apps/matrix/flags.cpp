#include "flags.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "taskgrain/error.hpp"

namespace apps {

namespace {

using taskgrain::InvalidSpec;

template <typename T>
std::optional<T> parse(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
std::string between(T low, T high) {
  std::ostringstream text;
  text << low << " to " << high;
  return text.str();
}

}  // namespace

std::optional<std::string> Flags::take(std::string_view name) {
  const std::string flag = "--" + std::string(name);
  known_.push_back(flag);
  std::optional<std::string> value;
  for (auto word = words_.begin(); word != words_.end();) {
    if (*word == flag) {
      word = words_.erase(word);
      if (word == words_.end()) throw InvalidSpec(std::string(name), "", "a value after " + flag);
      value = *word;
      word = words_.erase(word);
    } else if (word->starts_with(flag + "=")) {
      value = word->substr(flag.size() + 1);
      word = words_.erase(word);
    } else {
      ++word;
    }
  }
  return value;
}

std::int64_t Flags::to_integer(std::string_view name, const std::string& text, std::int64_t low, std::int64_t high) {
  const auto value = parse<std::int64_t>(text);
  if (!value || *value < low || *value > high) throw InvalidSpec(std::string(name), text, between(low, high));
  return *value;
}

void Flags::real(std::string_view name, double& value, double low, double high) {
  const auto text = take(name);
  if (!text) return;
  const auto given = parse<double>(*text);
  if (!given || !(*given >= low && *given <= high)) throw InvalidSpec(std::string(name), *text, between(low, high));
  value = *given;
}

void Flags::choice(std::string_view name, std::string& value, std::initializer_list<const char*> allowed) {
  const auto text = take(name);
  if (!text) return;
  if (std::ranges::find(allowed, *text) == allowed.end()) {
    std::string list;
    for (const char* one : allowed) list += (list.empty() ? "" : ", ") + std::string(one);
    throw InvalidSpec(std::string(name), *text, list);
  }
  value = *text;
}

void Flags::text(std::string_view name, std::string& value) {
  if (auto text = take(name)) value = *text;
}

void Flags::toggle(std::string_view name, bool& value) {
  known_.push_back("--" + std::string(name));
  value = std::erase(words_, known_.back()) > 0 || value;
}

void Flags::finish() const {
  if (words_.empty()) return;
  std::string list;
  for (const std::string& one : known_) list += (list.empty() ? "" : ", ") + one;
  throw InvalidSpec("command line", words_.front(), list);
}

}  // namespace apps
