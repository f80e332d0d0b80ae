/// Texts of keys that need no template (key.hpp).

#include "taskgrain/rt/detail/key.hpp"

#include <sstream>
#include <string>
#include <string_view>

namespace taskgrain::rt::detail {

std::string joined(std::initializer_list<std::string_view> parts, std::string_view between) {
  std::string text;
  for (const std::string_view& part : parts) (&part == parts.begin() ? text : text += between) += part;
  return text;
}

std::string number_text(std::int64_t number) { return std::to_string(number); }
std::string number_text(std::uint64_t number) { return std::to_string(number); }

std::string printed(const void* value, void (*print)(std::ostream& out, const void* value)) {
  std::ostringstream out;
  print(out, value);
  return out.str();
}

}  // namespace taskgrain::rt::detail
