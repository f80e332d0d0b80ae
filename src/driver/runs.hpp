#pragma once

/// Running a request on a system: the one timing policy, the same for all.

#include <optional>
#include <vector>

#include "../core/request.hpp"
#include "taskgrain/driver.hpp"

namespace taskgrain {

struct RunResult {
  std::vector<double> seconds;
  std::vector<double> waited;  ///< seconds of all threads in each repeat; empty where nobody knows
  double prepare_seconds = 0;
  std::int64_t tasks = 0;
  Accounts accounts;  ///< of one repeat
  WorkUnit work_unit = WorkUnit::iteration;
  std::optional<Violation> violation;
  std::int64_t strikes = 0;  ///< of the fault that the request asked for
  int cores = 0;             ///< that the system got for this run
  std::vector<std::vector<int>> binding;
  std::int64_t peak_rss_bytes = 0;
};

/// \throws InvalidSpec, Unsupported, or what the system throws
RunResult run(System& system, const RunRequest& request);

nlohmann::json answer(const RunRequest& request, const RunResult& result);

}  // namespace taskgrain
