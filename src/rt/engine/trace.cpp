#include "taskgrain/rt/detail/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <locale>
#include <string_view>
#include <system_error>

namespace taskgrain::rt::detail {

namespace {

/// Bytes of the UTF-8 character that a text begins with; 0 if it begins with none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  const auto tail = [&](std::size_t k) { return (byte(k) & 0xc0U) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return tail(1) ? 2 : 0;
  if (first == 0xe0 && second < 0xa0) return 0;   // could be shorter
  if (first == 0xed && second >= 0xa0) return 0;  // half of a surrogate pair
  if (first < 0xf0) return tail(1) && tail(2) ? 3 : 0;
  if (first == 0xf0 && second < 0x90) return 0;   // could be shorter
  if (first == 0xf4 && second >= 0x90) return 0;  // beyond Unicode
  return tail(1) && tail(2) && tail(3) ? 4 : 0;
}

/// A JSON string. Bytes that are no UTF-8 are replaced, because keys may be any bytes.
std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t bytes = character(text);
    if (bytes == 0) {
      out += "\\ufffd";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out + '"';
}

double microseconds(TraceLane::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

void Trace::write(const std::string& file) const {
  std::ofstream out(file);
  out.imbue(std::locale::classic());  // a point in numbers, whatever the locale of the program
  out.precision(15);
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (std::size_t worker = 0; worker < lanes_.size(); ++worker) {
    out << separator << R"({"ph":"M","name":"thread_name","pid":0,"tid":)" << worker << R"(,"args":{"name":"worker )"
        << worker << "\"}}";
    separator = ",\n";
    for (const auto& span : lanes_[worker].spans_)
      out << separator << R"({"ph":"X","pid":0,"tid":)" << worker << ",\"name\":" << json_text(span.task)
          << ",\"ts\":" << microseconds(span.begin - begin_) << ",\"dur\":" << microseconds(span.end - span.begin)
          << '}';
  }
  out << "\n]}\n";
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write the trace " + file);
}

}  // namespace taskgrain::rt::detail
