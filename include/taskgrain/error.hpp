#pragma once

#include <stdexcept>
#include <string>

namespace taskgrain {

/// Bad input: names the field, the value found and what is allowed.
class InvalidSpec : public std::invalid_argument {
 public:
  InvalidSpec(const std::string& field, const std::string& value, const std::string& allowed)
      : std::invalid_argument(field + ": '" + value + "' is not allowed; allowed: " + allowed) {}
};

/// A request that is well formed but beyond what this system, build or machine can do.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace taskgrain
