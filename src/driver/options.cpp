#include "options.hpp"

#include <functional>

#include "taskgrain/error.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {
namespace {

/// An option whose text goes through `set`; what that throws becomes a parse error.
void option(CLI::App& app, const std::string& flag, const std::string& help, std::function<void(const std::string&)> set) {
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

std::string pattern_names() {
  std::string names;
  for (const Pattern& pattern : patterns()) names += (names.empty() ? "" : ", ") + std::string(pattern.name);
  return names;
}

std::string all_kernels() {
  std::string names;
  for (const auto name : kernel_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace

OptionParser::OptionParser(CLI::App& app) {
  graph_.steps = 1000;
  graph_.kernel.kind = KernelKind::compute_bound;
  options_.run.repeats = 5;
  options_.run.warmup = 1;

  const auto count = [&](const std::string& flag, const std::string& help, std::int64_t& target) {
    option(app, flag, help, [&target, flag](const std::string& text) { target = integer(flag, text); });
  };
  const auto bytes = [&](const std::string& flag, const std::string& help, std::size_t& target) {
    option(app, flag, help, [&target, flag](const std::string& text) {
      const std::int64_t value = byte_count(flag, text);
      if (value < 0) throw InvalidSpec(flag, text, "0 or more");
      target = static_cast<std::size_t>(value);
    });
  };
  app.add_option("--pattern", graph_.pattern, "dependence pattern: " + pattern_names());
  count("--steps", "height of the graph (default 1000)", graph_.steps);
  count("--width", "points per step (default 4)", graph_.width);
  count("--radix", "dependences per task of nearest, spread and random patterns (default 3)", graph_.radix);
  count("--period", "dependence sets of spread and random patterns (default: 3 where possible)", graph_.period);
  app.add_option("--fraction", graph_.fraction, "share of candidates that a random pattern keeps (default 0.25)");
  option(app, "--seed", "changes random patterns and imbalance (default 0)", [this](const std::string& text) {
    const std::int64_t seed = integer("--seed", text);
    if (seed < 0) throw InvalidSpec("--seed", text, "0 or more");
    graph_.seed = static_cast<std::uint64_t>(seed);
  });
  app.add_option("--dag", graph_.dag, "file of the dag pattern");
  bytes("--output-bytes", "bytes that a task hands on, at least 16 (default 16; 64K is 65536)", graph_.output_bytes);
  option(app, "--kernel", "what a task computes: " + all_kernels() + " (default compute_bound)",
         [this](const std::string& text) { graph_.kernel.kind = kernel_from_name(text); });
  count("--iterations", "how often the kernel's body runs in each task (default 0)", graph_.kernel.iterations);
  app.add_option("--imbalance", graph_.kernel.imbalance, "spread of load_imbalance, 0 to 2 (default 0)");
  app.add_flag("--persistent", graph_.kernel.persistent, "a point keeps its imbalance in every step");
  bytes("--scratch-bytes", "working set of memory, BLAS and io kernels (default: the kernel's)", graph_.kernel.scratch_bytes);
  count("--samples", "samples that the working set is cut into (default 16)", graph_.kernel.samples);
  count("--graphs", "run this many copies of the graph at once (default 1)", graphs_);
  count("--repeats", "runs that are timed (default 5)", options_.run.repeats);
  count("--warmup", "runs before these (default 1)", options_.run.warmup);
  option(app, "--validate", "off, sample or full (default sample)",
         [this](const std::string& text) { options_.run.validation = validation_from_name(text); });
  option(app, "--isa", "instruction set of compute_bound: auto, avx512, avx2, neon, portable (default auto)",
         [this](const std::string& text) { options_.run.isa = isa_from_name(text); });
  app.add_option("--batch", options_.batch, "run the requests of this file, one JSON object a line")->check(CLI::ExistingFile);
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
