#include "options.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

/// An option whose text goes through `set`; what that throws becomes a parse error.
void option(CLI::App& app, const std::string& flag, const std::string& help,
            std::function<void(const std::string&)> set) {
  app.add_option_function<std::string>(
      flag,
      [set = std::move(set)](const std::string& text) {
        try {
          set(text);
        } catch (const InvalidSpec& invalid) {
          throw CLI::ValidationError(invalid.what());
        }
      },
      help);
}

/// What a field is for, what may be given, and the default.
std::string help_of(const Field& field) {
  const std::string usual = text_of(default_of(field));
  std::string help(field.help);
  if (field.choices != nullptr || std::isfinite(field.high)) help += " Allowed: " + allowed(field) + ".";
  if (field.type == FieldType::bytes) help += " 64K is 65536.";
  return field.type == FieldType::flag || usual.empty() ? help : help + " Default: " + usual + ".";
}

/// A flag for a field of `graph`: `--output-bytes` for `output_bytes`.
void add_field(CLI::App& app, const Field& field, GraphSpec& graph) {
  std::string flag = "--" + std::string(field.name);
  std::ranges::replace(flag, '_', '-');
  if (field.type == FieldType::flag) {
    app.add_flag_callback(flag, [&] { field.put(graph, true); }, help_of(field));
  } else {
    option(app, flag, help_of(field),
           [&, flag](const std::string& text) { set_field(graph, field, field_value(field, flag, text), flag); });
  }
}

}  // namespace

OptionParser::OptionParser(CLI::App& app) {
  options_.run.repeats = 5;
  options_.run.warmup = 1;

  const auto count = [&](const std::string& flag, const std::string& help, std::int64_t& target) {
    option(app, flag, help, [&target, flag](const std::string& text) { target = integer(flag, text); });
  };
  for (const Field& field : fields()) add_field(app, field, graph_);
  count("--graphs", "run this many copies of the graph at once (default 1)", graphs_);
  count("--repeats", "runs that are timed (default 5)", options_.run.repeats);
  count("--warmup", "runs before these (default 1)", options_.run.warmup);
  option(app, "--validate", "off, sample or full (default sample)",
         [this](const std::string& text) { options_.run.validation = validation_from_name(text); });
  option(app, "--isa", "instruction set of compute_bound: auto, avx512, avx2, neon, portable (default auto)",
         [this](const std::string& text) { options_.run.isa = isa_from_name(text); });
  app.add_option("--batch", options_.batch, "run the requests of this file, one JSON object a line")
      ->check(CLI::ExistingFile);
  app.add_flag("--json", options_.json, "print the answer as the harness gets it");
}

Options OptionParser::finish() {
  if (graphs_ < 1) throw InvalidSpec("--graphs", std::to_string(graphs_), "1 or more");
  if (options_.run.repeats < 1) throw InvalidSpec("--repeats", std::to_string(options_.run.repeats), "1 or more");
  if (options_.run.warmup < 0) throw InvalidSpec("--warmup", std::to_string(options_.run.warmup), "0 or more");
  options_.run.graphs.assign(static_cast<std::size_t>(graphs_), graph_);
  return options_;
}

}  // namespace taskgrain
