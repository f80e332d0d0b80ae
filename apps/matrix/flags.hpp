#pragma once

/// Flags of a program: `--size 4096`, `--size=4096`, `--validate`.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

class Flags {
 public:
  Flags(int argc, char** argv) : words_(argv + 1, argv + argc) {}

  /// Each takes one flag from the command line, and leaves `value` as it is if it is not there.
  /// \throws taskgrain::InvalidSpec
  template <typename T>
  void integer(std::string_view name, T& value, std::int64_t low, std::int64_t high) {
    if (const auto text = take(name)) value = static_cast<T>(to_integer(name, *text, low, high));
  }
  void real(std::string_view name, double& value, double low, double high);
  void choice(std::string_view name, std::string& value, std::initializer_list<const char*> allowed);
  void text(std::string_view name, std::string& value);
  void toggle(std::string_view name, bool& value);

  /// After all others. \throws taskgrain::InvalidSpec  if words are left
  void finish() const;

 private:
  static std::int64_t to_integer(std::string_view name, const std::string& text, std::int64_t low, std::int64_t high);
  std::optional<std::string> take(std::string_view name);

  std::vector<std::string> words_, known_;
};

}  // namespace apps
