#include "runs.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <optional>

#include "taskgrain/simulation.hpp"
#include "waiting.hpp"

namespace taskgrain {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    if (simulation != nullptr) return simulation->now() - simulated_start_;
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  double simulated_start_ = simulation != nullptr ? simulation->now() : 0;
};

}  // namespace

void System::share_failure(const std::exception_ptr& failure) const {
  if (failure) std::rethrow_exception(failure);
}

std::optional<Violation> System::gather(const Execution& run, Accounts& accounts) {
  share_failure(run.failure());
  accounts = run.accounts();
  return run.verify();
}

std::int64_t System::peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{1024} * usage.ru_maxrss;
}

RunResult run(System& system, const RunRequest& request) {
  std::optional<Execution> made;
  system.together([&] { made.emplace(request.graphs, request.validation, request.isa, request.fault); });
  Execution& execution = *made;
  RunResult result;
  result.tasks = execution.tasks();
  result.work_unit = execution.kernel(0).work_unit();
  const Stopwatch preparing;
  system.together([&] { system.prepare(execution); });
  result.prepare_seconds = preparing.seconds();
  result.cores = system.cores();
  for (std::int64_t repeat = -request.warmup; repeat < request.repeats; ++repeat) {
    execution.clear();
    system.barrier();
    Waiting waiting;
    system.barrier();
    const Stopwatch executing;
    system.execute(execution);
    system.barrier();
    const double seconds = executing.seconds();
    const double waited = waiting.seconds(result.cores, seconds, [&](double own) { return system.total(own); });
    if (repeat >= 0) result.seconds.push_back(seconds);
    if (repeat >= 0 && !std::isnan(waited)) result.waited.push_back(waited);
    system.settle(execution);
    if (auto violation = system.gather(execution, result.accounts); violation && !result.violation)
      result.violation = violation;
  }
  if (execution.disturbed()) result.strikes = execution.strikes();
  if (simulation == nullptr) result.binding = system.binding();
  result.peak_rss_bytes = system.peak_rss_bytes();
  return result;
}

nlohmann::json answer(const RunRequest& request, const RunResult& result) {
  if (const auto& violation = result.violation) {
    return {{"event", "error"},
            {"id", request.id},
            {"kind", "validation"},
            {"message", violation->text()},
            {"violation",
             {{"kind", name(violation->kind)},
              {"graph", violation->graph},
              {"step", violation->step},
              {"point", violation->point},
              {"input", violation->input},
              {"expected", violation->expected},
              {"got", violation->got}}}};
  }
  nlohmann::json event = {{"event", "result"},
                          {"id", request.id},
                          {"seconds", result.seconds},
                          {"prepare_seconds", std::vector<double>{result.prepare_seconds}},
                          {"tasks", result.tasks},
                          {"executed", result.accounts.executed},
                          {"dependencies", result.accounts.dependencies},
                          {"flops", result.accounts.flops},
                          {"bytes", result.accounts.bytes},
                          {"work", result.accounts.work},
                          {"work_unit", name(result.work_unit)},
                          {"cores", result.cores},
                          {"binding", result.binding},
                          {"peak_rss_bytes", result.peak_rss_bytes}};
  if (result.waited.size() == result.seconds.size()) event["waited"] = result.waited;
  if (request.fault) event["strikes"] = result.strikes;
  return event;
}

}  // namespace taskgrain
