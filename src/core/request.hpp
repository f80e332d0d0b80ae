#pragma once

/// Requests and answers of the driver protocol (docs/reference/protocol.md), and the same from flags.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "taskgrain/execution.hpp"
#include "taskgrain/fields.hpp"

namespace taskgrain {

struct RunRequest {
  std::int64_t id = 0;
  std::vector<GraphSpec> graphs;
  std::int64_t repeats = 1;
  std::int64_t warmup = 0;
  Validation validation = Validation::sample;
  Isa isa = Isa::automatic;
  std::optional<Fault> fault;
};

/// \throws InvalidSpec naming the field
RunRequest run_request(const nlohmann::json& request);
/// A request for the same graphs in another process, which then has a part of the run.
nlohmann::json request_of(const Execution& run);
GraphSpec graph_spec(const nlohmann::json& graph);
KernelSpec kernel_spec(const nlohmann::json& kernel);

/// \throws InvalidSpec unless it is an integer, possibly written as 1e6
std::int64_t integer(const std::string& field, const std::string& text);

/// A value for `set_field`, of the type of `field`. \param named  what an error calls the field. \throws InvalidSpec
FieldValue field_value(const Field& field, const nlohmann::json& value);
FieldValue field_value(const Field& field, const std::string& named, const std::string& text);

}  // namespace taskgrain
