#pragma once

/// The lines of the driver protocol, whatever the operations are.

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

#include "taskgrain/driver.hpp"

namespace taskgrain {

inline constexpr std::string_view answer_prefix = "@taskgrain ";
inline constexpr int protocol_version = 1;

/// Prints one answer and flushes it.
void print_answer(const nlohmann::json& answer);

/// Calls `handle` on the request of a line; turns what it throws into an error answer.
/// \returns the answer, null where there is none
nlohmann::json answer_line(const std::string& line, const std::function<nlohmann::json(const nlohmann::json&)>& handle);

/// How a driver was built: `compiler`, `flags`, `commit` and `isa` of the ready event.
nlohmann::json build_facts(Build build);
/// The same of the driver library itself.
nlohmann::json build_facts();

}  // namespace taskgrain
