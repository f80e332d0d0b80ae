#pragma once

/// What one process has executed of a run, as bytes that can travel to the process that adds up what all did.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "taskgrain/execution.hpp"

namespace taskgrain {

struct ProcessBooks {
  Accounts accounts;
  std::string failure;                             ///< what a kernel threw first; empty if none did
  std::optional<Violation> violation;              ///< of the earliest step
  std::vector<std::vector<std::uint32_t>> counts;  ///< by graph, as `Ledger::counts`; none with Validation::off
  std::int64_t peak_rss_bytes = 0;                 ///< of the process that has used most

  static ProcessBooks of(const Execution& run);

  std::vector<std::uint8_t> bytes() const;
  static ProcessBooks from(std::span<const std::uint8_t> bytes);

  /// Adds what another process executed. \throws InvalidSpec for the books of another request
  void add(const ProcessBooks& other);

  /// The first violation, if these are the books of all processes of the run.
  /// \throws std::runtime_error with what a kernel threw
  std::optional<Violation> verify(const Execution& run) const;
};

}  // namespace taskgrain
