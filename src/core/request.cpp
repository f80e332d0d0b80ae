#include "request.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;
using Setters = std::map<std::string, std::function<void(const Json&)>, std::less<>>;

/// The integer nearest to a number written with a point or exponent, if it is one.
std::int64_t integral(const std::string& field, double value, const std::string& text) {
  if (!(std::abs(value) < 0x1p63) || value != std::floor(value)) throw InvalidSpec(field, text, "an integer");
  return static_cast<std::int64_t>(value);
}

std::int64_t integer(const std::string& field, const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    throw InvalidSpec(field, value.dump(), "an integer below 2^63");
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return integral(field, value.get<double>(), value.dump());
  throw InvalidSpec(field, value.dump(), "an integer");
}

double number(const std::string& field, const Json& value) {
  if (!value.is_number()) throw InvalidSpec(field, value.dump(), "a number");
  return value.get<double>();
}

std::string string(const std::string& field, const Json& value) {
  if (!value.is_string()) throw InvalidSpec(field, value.dump(), "a string");
  return value.get<std::string>();
}

std::size_t count(const std::string& field, const Json& value) {
  const std::int64_t bytes = integer(field, value);
  if (bytes < 0) throw InvalidSpec(field, value.dump(), "0 or more");
  return static_cast<std::size_t>(bytes);
}

void set_fields(const std::string& what, const Json& object, const Setters& setters) {
  if (!object.is_object()) throw InvalidSpec(what, object.dump(), "an object");
  for (const auto& [field, value] : object.items()) {
    const auto setter = setters.find(field);
    if (setter == setters.end()) {
      std::string names;
      for (const auto& [known, unused] : setters) names += (names.empty() ? "" : ", ") + known;
      throw InvalidSpec(what, field, names);
    }
    setter->second(value);
  }
}

/// A graph of a run says what it is; only a file may say it instead.
void check_complete(const Json& graph) {
  if (!graph.is_object() || graph.value("pattern", Json()) == "dag") return;
  for (const char* field : {"pattern", "steps", "width"})
    if (!graph.contains(field)) throw InvalidSpec(field, "", "a value: every graph has a pattern, steps and a width");
}

}  // namespace

std::int64_t integer(const std::string& field, const std::string& text) {
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end) return whole;
  double value = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, value); error == std::errc() && at == end)
    return integral(field, value, text);
  throw InvalidSpec(field, text, "an integer, such as 1000 or 1e6");
}

std::int64_t byte_count(const std::string& field, const std::string& text) {
  constexpr std::string_view suffixes = "KMG";
  const std::size_t suffix = text.empty() ? std::string_view::npos : suffixes.find(text.back());
  if (suffix == std::string_view::npos) return integer(field, text);
  const std::int64_t units = integer(field, text.substr(0, text.size() - 1));
  const std::int64_t unit = std::int64_t{1} << (10 * (suffix + 1));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (units > most / unit || units < -most / unit) throw InvalidSpec(field, text, "less than 2^63 bytes");
  return units * unit;
}

KernelSpec kernel_spec(const Json& kernel) {
  KernelSpec spec;
  set_fields("kernel", kernel,
             {{"name", [&](const Json& v) { spec.kind = kernel_from_name(string("kernel", v)); }},
              {"iterations", [&](const Json& v) { spec.iterations = integer("iterations", v); }},
              {"imbalance", [&](const Json& v) { spec.imbalance = number("imbalance", v); }},
              {"persistent",
               [&](const Json& v) {
                 if (!v.is_boolean()) throw InvalidSpec("persistent", v.dump(), "true, false");
                 spec.persistent = v.get<bool>();
               }},
              {"scratch_bytes", [&](const Json& v) { spec.scratch_bytes = count("scratch_bytes", v); }},
              {"samples", [&](const Json& v) { spec.samples = integer("samples", v); }}});
  return spec;
}

GraphSpec graph_spec(const Json& graph) {
  GraphSpec spec;
  set_fields("graph", graph,
             {{"pattern", [&](const Json& v) { spec.pattern = string("pattern", v); }},
              {"steps", [&](const Json& v) { spec.steps = integer("steps", v); }},
              {"width", [&](const Json& v) { spec.width = integer("width", v); }},
              {"radix", [&](const Json& v) { spec.radix = integer("radix", v); }},
              {"period", [&](const Json& v) { spec.period = integer("period", v); }},
              {"fraction", [&](const Json& v) { spec.fraction = number("fraction", v); }},
              {"seed", [&](const Json& v) { spec.seed = count("seed", v); }},
              {"dag", [&](const Json& v) { spec.dag = string("dag", v); }},
              {"output_bytes", [&](const Json& v) { spec.output_bytes = count("output_bytes", v); }},
              {"kernel", [&](const Json& v) { spec.kernel = kernel_spec(v); }}});
  return spec;
}

RunRequest run_request(const Json& request) {
  RunRequest run;
  set_fields("request", request,
             {{"op", [](const Json&) {}},
              {"id", [&](const Json& v) { run.id = integer("id", v); }},
              {"graphs",
               [&](const Json& v) {
                 if (!v.is_array()) throw InvalidSpec("graphs", v.dump(), "a list of graphs");
                 for (const Json& graph : v) {
                   run.graphs.push_back(graph_spec(graph));
                   check_complete(graph);
                 }
               }},
              {"repeats", [&](const Json& v) { run.repeats = integer("repeats", v); }},
              {"warmup", [&](const Json& v) { run.warmup = integer("warmup", v); }},
              {"validate", [&](const Json& v) { run.validation = validation_from_name(string("validate", v)); }},
              {"isa", [&](const Json& v) { run.isa = isa_from_name(string("isa", v)); }}});
  if (run.repeats < 1) throw InvalidSpec("repeats", std::to_string(run.repeats), "1 or more");
  if (run.warmup < 0) throw InvalidSpec("warmup", std::to_string(run.warmup), "0 or more");
  return run;
}

}  // namespace taskgrain
