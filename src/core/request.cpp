#include "request.hpp"

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "byte_count.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/pattern.hpp"

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

double number(const std::string& field, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) throw InvalidSpec(field, text, "a number");
  return value;
}

std::string string(const std::string& field, const Json& value) {
  if (!value.is_string()) throw InvalidSpec(field, value.dump(), "a string");
  return value.get<std::string>();
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

/// What sets each field of a graph, or each of its kernel.
Setters field_setters(GraphSpec& spec, bool of_kernel) {
  Setters setters;
  for (const Field& field : fields())
    if (field.of_kernel == of_kernel)
      setters[std::string(field.name)] = [&](const Json& value) { set_field(spec, field, field_value(field, value)); };
  return setters;
}

/// A graph must give pattern, steps and width, unless a file gives them.
void check_complete(const Json& graph, const GraphSpec& spec) {
  if (pattern_from_name(spec.pattern).from_file) return;
  for (const char* field : {"pattern", "steps", "width"})
    if (!graph.contains(field)) throw InvalidSpec(field, "", "a value: every graph has a pattern, steps and a width");
}

Fault fault(const Json& object) {
  Fault found;
  set_fields("fault", object,
             {{"kind", [&](const Json& v) { found.kind = string("fault.kind", v); }},
              {"graph", [&](const Json& v) { found.graph = integer("fault.graph", v); }},
              {"step", [&](const Json& v) { found.step = integer("fault.step", v); }},
              {"point", [&](const Json& v) { found.point = integer("fault.point", v); }},
              {"times", [&](const Json& v) { found.times = integer("fault.times", v); }},
              {"file", [&](const Json& v) { found.file = string("fault.file", v); }}});
  for (const char* field : {"kind", "step", "point", "file"})
    if (!object.contains(field)) throw InvalidSpec(std::string("fault.") + field, "", "a value");
  return found;
}

}  // namespace

std::int64_t integer(const std::string& field, const std::string& text) {
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end)
    return whole;
  double value = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, value); error == std::errc() && at == end)
    return integral(field, value, text);
  throw InvalidSpec(field, text, "an integer, such as 1000 or 1e6");
}

FieldValue field_value(const Field& field, const Json& value) {
  const std::string named(field.name);
  switch (field.type) {
    case FieldType::integer:
    case FieldType::bytes:
      return integer(named, value);
    case FieldType::number:
      return number(named, value);
    case FieldType::flag:
      if (!value.is_boolean()) throw InvalidSpec(named, value.dump(), allowed(field));
      return value.get<bool>();
    default:
      return string(named, value);
  }
}

FieldValue field_value(const Field& field, const std::string& named, const std::string& text) {
  switch (field.type) {
    case FieldType::integer:
      return integer(named, text);
    case FieldType::bytes:
      if (const auto bytes = byte_count(text)) return *bytes;
      throw InvalidSpec(named, text,
                        allowed(field) + " bytes, such as 4096, 64K, 64KiB, 1M (multiples of 1024; KB is not allowed)");
    case FieldType::number:
      return number(named, text);
    case FieldType::flag:
      if (text != "true" && text != "false") throw InvalidSpec(named, text, allowed(field));
      return text == "true";
    default:
      return text;
  }
}

KernelSpec kernel_spec(const Json& kernel) {
  GraphSpec spec;
  Setters setters = field_setters(spec, true);
  // The kernel itself is the `name` of its object.
  auto own = setters.extract("kernel");
  own.key() = "name";
  setters.insert(std::move(own));
  set_fields("kernel", kernel, setters);
  return spec.kernel;
}

GraphSpec graph_spec(const Json& graph) {
  GraphSpec spec;
  Setters setters = field_setters(spec, false);
  setters["kernel"] = [&](const Json& value) { spec.kernel = kernel_spec(value); };
  set_fields("graph", graph, setters);
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
                   check_complete(graph, run.graphs.back());
                 }
               }},
              {"repeats", [&](const Json& v) { run.repeats = integer("repeats", v); }},
              {"warmup", [&](const Json& v) { run.warmup = integer("warmup", v); }},
              {"validate", [&](const Json& v) { run.validation = validation_from_name(string("validate", v)); }},
              {"isa", [&](const Json& v) { run.isa = isa_from_name(string("isa", v)); }},
              {"fault", [&](const Json& v) { run.fault = fault(v); }}});
  if (run.repeats < 1) throw InvalidSpec("repeats", std::to_string(run.repeats), "1 or more");
  if (run.warmup < 0) throw InvalidSpec("warmup", std::to_string(run.warmup), "0 or more");
  if (run.fault && run.repeats != 1)
    throw InvalidSpec("repeats", std::to_string(run.repeats), "1 in a run with a fault");
  if (run.fault && run.warmup != 0) throw InvalidSpec("warmup", std::to_string(run.warmup), "0 in a run with a fault");
  return run;
}

Json request_of(const Execution& run) {
  Json graphs = Json::array();
  for (const Graph& graph : run.graphs()) {
    Json& as_json = graphs.emplace_back(Json::object());
    Json kernel = Json::object();
    for (const Field& field : fields()) {
      const bool of_kernel = field.of_kernel && field.name != "kernel";
      Json& value = field.name == "kernel" ? kernel["name"] : (of_kernel ? kernel : as_json)[field.name];
      std::visit([&](const auto& held) { value = held; }, field.get(graph.spec()));
    }
    as_json["kernel"] = kernel;
  }
  Json request{{"op", "run"}, {"graphs", graphs}, {"validate", name(run.validation())}, {"isa", name(run.isa())}};
  if (const auto& fault = run.fault())
    request["fault"] = {{"kind", fault->kind},   {"graph", fault->graph}, {"step", fault->step},
                        {"point", fault->point}, {"times", fault->times}, {"file", fault->file}};
  return request;
}

}  // namespace taskgrain
