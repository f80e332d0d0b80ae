#include "taskgrain/rt/trace.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace taskgrain::rt {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

double microseconds(TraceLane::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

void Trace::write(const std::filesystem::path& file) const {
  std::ofstream out(file);
  out.precision(15);
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  const char* separator = "\n";
  for (std::size_t worker = 0; worker < lanes_.size(); ++worker) {
    out << separator << R"({"ph":"M","name":"thread_name","pid":0,"tid":)" << worker << R"(,"args":{"name":"worker )" << worker << "\"}}";
    separator = ",\n";
    for (const auto& span : lanes_[worker].spans_)
      out << separator << R"({"ph":"X","pid":0,"tid":)" << worker << ",\"name\":" << quoted(span.task)
          << ",\"ts\":" << microseconds(span.begin - begin_) << ",\"dur\":" << microseconds(span.end - span.begin) << '}';
  }
  out << "\n]}\n";
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write the trace " + file.string());
}

}  // namespace taskgrain::rt
