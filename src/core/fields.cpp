#include "taskgrain/fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/kernel_entry.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {
namespace {

template <auto member>
struct Member;
template <typename Type_, typename Owner, Type_ Owner::* member>
struct Member<member> {
  using Type = Type_;
  static constexpr bool of_kernel = std::same_as<Owner, KernelSpec>;

  static auto& of(auto& spec) {
    if constexpr (of_kernel) {
      return spec.kernel.*member;
    } else {
      return spec.*member;
    }
  }

  static FieldValue get(const GraphSpec& spec) {
    const Type& value = of(spec);
    if constexpr (std::unsigned_integral<Type> && !std::same_as<Type, bool>) {
      // Requests have no larger integers; a C++ program may have a larger seed.
      return static_cast<std::int64_t>(std::min<Type>(value, std::numeric_limits<std::int64_t>::max()));
    } else {
      return value;
    }
  }

  static void put(GraphSpec& spec, const FieldValue& value) {
    if constexpr (std::integral<Type> && !std::same_as<Type, bool>) {
      of(spec) = static_cast<Type>(std::get<std::int64_t>(value));
    } else {
      of(spec) = std::get<Type>(value);
    }
  }
};

template <typename Type>
constexpr FieldType type_of(const Field& field) {
  if (field.choices != nullptr) return FieldType::choice;
  if (std::same_as<Type, bool>) return FieldType::flag;
  if (std::same_as<Type, std::string>) return FieldType::text;
  if (std::floating_point<Type>) return FieldType::number;
  return field.unit == "B" ? FieldType::bytes : FieldType::integer;
}

/// The entry of a member: what `field` says of it, and what the member says itself.
template <auto member>
constexpr Field of(Field field) {
  field.type = type_of<typename Member<member>::Type>(field);
  field.of_kernel = Member<member>::of_kernel;
  field.get = Member<member>::get;
  field.put = Member<member>::put;
  return field;
}

std::span<const std::string_view> pattern_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Pattern& pattern : patterns()) all.push_back(pattern.name);
    return all;
  }();
  return names;
}

std::span<const std::string_view> kernel_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const KernelEntry& kernel : kernels()) all.push_back(kernel.name);
    return all;
  }();
  return names;
}

constexpr double most_bytes = 0x1p40;

constexpr Field table[] = {
    of<&GraphSpec::pattern>({.name = "pattern",
                             .choices = pattern_names,
                             .help = "Dependence pattern: the tasks of the step before that a task depends on."}),
    of<&GraphSpec::steps>({.name = "steps", .low = 1, .help = "Time steps of the graph."}),
    of<&GraphSpec::width>({.name = "width", .unit = "points", .low = 1, .help = "Points of a step."}),
    of<&GraphSpec::radix>(
        {.name = "radix",
         .help =
             "Dependences per task, its own point among them, for nearest, spread and the random patterns; children "
             "of a call, 2 or more, for fork_tree, and on average for random_fork_tree."}),
    of<&GraphSpec::period>({.name = "period",
                            .help = "Number of dependence sets (steps until the dependences repeat), for spread and "
                                    "random, random_nearest, random_spread; 0: the pattern's default."}),
    of<&GraphSpec::fraction>(
        {.name = "fraction",
         .high = 1,
         .help = "Share of the possible dependences that random, random_nearest, random_spread keep."}),
    of<&GraphSpec::seed>(
        {.name = "seed",
         .help = "Seed of the random patterns and of the load imbalance; 0 gives the same graphs as Task Bench."}),
    of<&GraphSpec::dag>(
        {.name = "dag", .help = "File with the graph, for the pattern dag. The file also sets steps and width."}),
    of<&GraphSpec::dag_hash>(
        {.name = "dag_hash",
         .high = 0x1p48,
         .help = "Hash of the content of the dag's file. What reads another content refuses it; 0: any content."}),
    of<&GraphSpec::output_bytes>({.name = "output_bytes",
                                  .unit = "B",
                                  .low = 16,
                                  .high = most_bytes,
                                  .help = "Size of a task's output, which each successor reads."}),
    of<&KernelSpec::name>({.name = "kernel", .choices = kernel_names, .help = "What a task computes."}),
    of<&KernelSpec::iterations>({.name = "iterations", .help = "How often the kernel's body runs in a task."}),
    of<&KernelSpec::imbalance>({.name = "imbalance",
                                .high = 2,
                                .help = "Spread of the durations of load_imbalance, as a share of their mean."}),
    of<&KernelSpec::persistent>({.name = "persistent", .help = "A point keeps its imbalance in every step."}),
    of<&KernelSpec::scratch_bytes>({.name = "scratch_bytes",
                                    .unit = "B",
                                    .high = most_bytes,
                                    .help = "Working set of the kernel, per worker; 0: the kernel's default."}),
    of<&KernelSpec::samples>(
        {.name = "samples",
         .low = 1,
         .help = "Number of parts of the working set, for memory and io kernels. An iteration uses one part."}),
};

std::string shown(double bound) {
  int exponent = 0;
  if (bound >= 0x1p20 && std::frexp(bound, &exponent) == 0.5) return "2^" + std::to_string(exponent - 1);
  return text_of(bound);
}

bool allows(const Field& field, const FieldValue& value) {
  const auto in_range = [&](double number) { return field.low <= number && number <= field.high; };
  switch (field.type) {
    case FieldType::integer:
    case FieldType::bytes:
      return in_range(static_cast<double>(std::get<std::int64_t>(value)));
    case FieldType::number:
      return in_range(std::get<double>(value));
    case FieldType::choice:
      return std::ranges::find(field.choices(), std::get<std::string>(value)) != field.choices().end();
    default:
      return true;
  }
}

void check(const Field& field, const FieldValue& value, const std::string& named) {
  if (!allows(field, value)) throw InvalidSpec(named, text_of(value), allowed(field));
}

}  // namespace

std::span<const Field> fields() noexcept { return table; }

std::string_view name(FieldType type) noexcept {
  constexpr std::array<std::string_view, 6> types{"integer", "number", "bytes", "flag", "text", "choice"};
  return types[static_cast<std::size_t>(type)];
}

std::string text_of(const FieldValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), std::get<double>(value)).ptr};
}

std::string allowed(const Field& field) {
  if (field.type == FieldType::flag) return "true, false";
  if (field.type == FieldType::text) return "a text";
  if (field.type != FieldType::choice)
    return shown(field.low) + (std::isinf(field.high) ? " or more" : " to " + shown(field.high));
  std::string names;
  for (const auto name : field.choices()) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

FieldValue default_of(const Field& field) { return field.get(GraphSpec{}); }

void set_field(GraphSpec& spec, const Field& field, const FieldValue& value, const std::string& named) {
  check(field, value, named.empty() ? std::string(field.name) : named);
  field.put(spec, value);
}

void check_fields(const GraphSpec& spec) {
  for (const Field& field : table) check(field, field.get(spec), std::string(field.name));
}

}  // namespace taskgrain
