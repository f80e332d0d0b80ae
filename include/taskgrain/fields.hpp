#pragma once

/// The table of fields: everything that describes a task graph and its kernel. Requests, the flags of drivers, the
/// checks of single fields and `taskgrain._core.fields()` come from it. A new field is a member of `GraphSpec` or
/// `KernelSpec`, which gives its default, and one entry here; checks that compare several fields stay in `Graph` and
/// `Kernel`.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "taskgrain/graph.hpp"

namespace taskgrain {

enum class FieldType : std::uint8_t {
  integer,
  number,
  bytes,  ///< an integer; text may be 64K or 64KiB (docs/reference/cli.md)
  flag,   ///< true or false
  text,
  choice,  ///< one of some names
};

/// An integer or bytes, a number, a flag, a text or choice.
using FieldValue = std::variant<std::int64_t, double, bool, std::string>;

struct Field {
  std::string_view name;
  /// Of integers and numbers; "B": the field is of type `bytes`.
  std::string_view unit = "";
  /// Range of integers, numbers and bytes, both ends allowed; infinity: no bound but the type's.
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  /// The names that a choice has; null for the other types.
  std::span<const std::string_view> (*choices)() = nullptr;
  /// The field's purpose, in one sentence.
  std::string_view help;

  // What follows is taken from the member.
  FieldType type{};
  bool of_kernel = false;
  FieldValue (*get)(const GraphSpec& spec) = nullptr;
  /// Sets without a check; `set_field` checks first.
  void (*put)(GraphSpec& spec, const FieldValue& value) = nullptr;
};

std::span<const Field> fields() noexcept;

std::string_view name(FieldType type) noexcept;

/// The value as a person would write it.
std::string text_of(const FieldValue& value);

/// What `field` allows, in words: "1 or more", "0 to 2", "true, false".
std::string allowed(const Field& field);

FieldValue default_of(const Field& field);

/// Sets a field after a check of its range or choice. `value` must hold the type of the field.
/// \param named  what an error calls the field, such as `--steps`; the name of the field if empty.
/// \throws InvalidSpec
void set_field(GraphSpec& spec, const Field& field, const FieldValue& value, const std::string& named = {});

/// Checks every field on its own. \throws InvalidSpec
void check_fields(const GraphSpec& spec);

}  // namespace taskgrain
